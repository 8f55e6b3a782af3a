"""The times of a window's rows: how long ago its rows were, and the longest gap between them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from slidefold.definition.expressions.face import Expression
from slidefold.definition.expressions.nodes import Call, Column, Literal, Node, Result
from slidefold.definition.operators import extremes
from slidefold.definition.operators.base import Input, Operator, columns_of, dtype_of
from slidefold.definition.operators.record import Record, recorded
from slidefold.definition.operators.travel import as_gap
from slidefold.definition.windows.durations import nanoseconds
from slidefold.errors import DefinitionError

if TYPE_CHECKING:
    from slidefold.definition.operators.over_window import Over
    from slidefold.definition.rolling import Rolling


def window_end(over: Over, definition: Rolling) -> Node:
    """Return where a window ends: at the row's own time, or at the end that `every=` sets.

    With a delay it ends earlier, and a window ahead ends later.
    """
    end: Node = Column(definition.on if definition.slide is None else "window_end")
    window: Any = over.window
    if window.ahead:
        return Call("add", (end, Literal(_length(window.range, over))))
    return Call("subtract", (end, Literal(_length(window.delay, over)))) if window.delay else end


def _length(given: Any, over: Over) -> Any:
    """Return a length as a constant of an expression, in which durations are in microseconds."""
    if not isinstance(given, str):
        return given
    whole, finer = divmod(nanoseconds(given), 1000)
    if finer:
        raise DefinitionError(f"{over!r} needs lengths in whole microseconds, got {given!r}")
    return timedelta(microseconds=whole)


def newest_time(over: Over, definition: Rolling, pick: Any = extremes.max) -> Node:
    """Return the newest time of the rows that an operator folds."""
    time: Node = Column(definition.on)
    for column in over.operator.columns:
        node = column if isinstance(column, Node) else Column(column)
        if node != Column(definition.on) and not isinstance(node, Literal):
            time = Call("only", (time, Call("not", (Call("is_null", (node,)),))))
    # A condition of its own, not only a filter of nulls: the time itself is never null.
    given = definition.on if isinstance(time, Column) else Expression(time)
    operator = replace(pick(given), condition=over.operator.condition)
    return Result(replace(over, operator=operator))


def _since_last(over: Over, definition: Rolling) -> Node:
    return Call("subtract", (window_end(over, definition), newest_time(over, definition)))


def _since_first(over: Over, definition: Rolling) -> Node:
    oldest = newest_time(over, definition, extremes.min)
    return Call("subtract", (window_end(over, definition), oldest))


def _longest_gap(over: Over, definition: Rolling) -> Node | None:
    if over.operator.columns:
        return None
    return Result(replace(over, operator=replace(over.operator, columns=(definition.on,))))


@recorded(Record(expands=_since_last, rows=True, events=False), built_in=False)
def since_last(column: Input | None = None) -> Operator:
    """Return the time from the last row of a window to the end of the window, as a duration.

    With a column, only rows count that have a value there. With `closed="left"` it is the time
    since the row before: `sf.since_last().over("30d", closed="left")`. If times are numbers, so is
    the result. Computed from `max` of the times.

    >>> import pyarrow as pa, slidefold as sf
    >>> table = pa.table({"t": [1, 2, 9]})
    >>> since = sf.since_last().over(sf.time(100, closed="left"))
    >>> sf.rolling(on="t", since=since).run(table)["since"].to_pylist()
    [None, 1, 7]
    """
    return Operator("since_last", columns_of(column) if column is not None else ())


@recorded(Record(expands=_since_first, rows=True, events=False), built_in=False)
def since_first(column: Input | None = None) -> Operator:
    """Return the time from the first row of a window to the end of the window, as a duration.

    With a column, only rows count that have a value there. If times are numbers, so is the result.
    Computed from `min` of the times.

    >>> import pyarrow as pa, slidefold as sf
    >>> table = pa.table({"t": [1, 2, 9]})
    >>> sf.rolling(on="t", age=sf.since_first().over(sf.time(8))).run(table)["age"].to_pylist()
    [0, 1, 7]
    """
    return Operator("since_first", columns_of(column) if column is not None else ())


@recorded(
    Record(
        types=("int64",),
        travel=as_gap,
        column="gap",
        rows=True,
        expands=_longest_gap,
        peers_matter=False,
    )
)
def longest_gap(column: Input | None = None, *, dtype: str = "int64") -> Operator:
    """Return the longest time between two neighbouring rows of a window, as a duration.

    It is null if the window has fewer than two rows. In `sf.rolling` it reads the time column by
    default; if times are numbers, so is the result. Not commutative. State: 32 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.longest_gap(), sf.rows(3))
    >>> [w.push(x) for x in (1, 2, 9, 10)]
    [None, 1, 7, 7]
    """
    checked = dtype_of(dtype, "longest_gap")
    return Operator("longest_gap", columns_of(column) if column is not None else (), checked)
