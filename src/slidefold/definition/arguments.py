"""`sf.rolling`: checks its arguments and returns the definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slidefold.definition.expressions import Expression
from slidefold.definition.expressions.nodes import require_short
from slidefold.definition.formula import Formula
from slidefold.definition.operators import Operator, Over
from slidefold.definition.rolling import ARGUMENTS, Rolling
from slidefold.definition.windows import (
    Given,
    Rows,
    Time,
    window_suffix,
)
from slidefold.definition.windows.closed import CLOSED
from slidefold.errors import ColumnError, DefinitionError, WindowError, nearest


def rolling(
    *,
    on: str,
    by: str | Sequence[str] = (),
    every: Given | Rows | Time | None = None,
    offset: Given | Time | None = None,
    zone: str | None = None,
    fill: bool = False,
    order: str | Sequence[str] = (),
    closed: str | None = None,
    columns: Mapping[str, Over | Expression | Formula | Sequence[Over]] | None = None,
    **more: Over | Expression | Sequence[Over],
) -> Rolling:
    """Define columns over sliding windows: `name=operator.over(window)`.

    A list of windows gives one column per window. A column may also be an expression of windows and
    of the row's own columns, such as `sf.col("amount") / sf.mean("amount").over("30d")`. Rows of
    equal time see each other.

    Args:
        on: the time column.
        by: the key column, or a list of them; null is a valid key.
        every: when results come. Without it, one result per input row. A duration gives one result
            at each multiple of it since 1970 UTC, and windows then default to `closed="left"`. A
            number counts rows. `sf.time(10)` is for times that are numbers. `"window"` gives one
            result per closed session or punctuated window.
        offset: a duration that moves the steps of `every`.
        zone: a time zone such as "Europe/Berlin". With `every` in whole days, days begin at local
            midnight, and ranges in whole days count local days, also when clocks change.
        fill: whether `every` also gives results between the first and the last of a key for steps
            whose largest window holds no row.
        order: columns that sort rows of equal time, if their order matters; the other columns used
            come after them. `"input"` keeps the input order.
        closed: the default of the time and rows windows.
        columns: result columns whose names are not identifiers, or are arguments of this function.
        more: result columns by name.

    >>> import pyarrow as pa, slidefold as sf
    >>> sf.rolling(on="t", by="k", total=sf.sum("x").over(["1h", "24h"]))
    sf.rolling(
        on='t', by='k',
        total_1h=sf.sum('x').over('1h'),
        total_24h=sf.sum('x').over('24h'),
    )
    """
    given: dict[str, object] = {
        "on": on,
        "by": by,
        "every": every,
        "offset": offset,
        "zone": zone,
        "fill": fill,
        "order": order,
        "closed": closed,
    }
    for name, value in (*given.items(), ("columns", columns)):
        if isinstance(value, Operator | Over | Expression) or _is_list(value):
            raise DefinitionError(
                f"{name}= is an argument of rolling: to name a column {name!r}, use "
                f"columns={{{name!r}: ...}}"
            )
    if columns is not None and not isinstance(columns, Mapping):
        raise DefinitionError(f"columns must be a dict of columns by name, got {columns!r}")
    named: dict[str, Any] = {}
    for argument, value in (*(columns or {}).items(), *more.items()):
        for name, over in _expanded(argument, value):
            if name in named:
                raise ColumnError(f"two result columns are named {name!r}: rename one of them")
            named[name] = over
    if not named:
        raise DefinitionError("rolling needs at least one column, such as n=sf.count().over('1h')")
    for name, over in named.items():
        if not isinstance(name, str) or not name:
            raise DefinitionError(f"a column name must be a non-empty string, got {name!r}")
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise DefinitionError(f"a column name must be valid Unicode, got {name!r}")
        if isinstance(over, Operator):
            raise DefinitionError(f"the column {name!r} has no window: add one such as .over('1h')")
        if isinstance(over, Expression):
            require_short(over.node)
            named[name] = Formula(over.node)
        elif not isinstance(over, Over | Formula):
            raise DefinitionError(
                f"the column {name!r} must be an operator over a window, such as "
                f"sf.sum('x').over('1h'), got {over!r}{nearest(name, ARGUMENTS)}"
            )
    if not isinstance(on, str):
        raise DefinitionError(f"on must be the name of the time column, got {on!r}")
    keys = _names("by", by)
    ordering: str | tuple[str, ...] = "input" if order == "input" else _names("order", order)
    if closed is not None and closed not in CLOSED:
        raise WindowError(f"closed must be one of {', '.join(CLOSED)}, got {closed!r}")
    return Rolling(on, keys, tuple(named.items()), every, offset, ordering, closed, zone, fill)


def _is_list(value: object) -> bool:
    """Tell whether this is what `over` returns for a list of windows."""
    return isinstance(value, tuple | list) and any(isinstance(item, Over) for item in value)


def _expanded(name: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the columns of one argument: one per window if it has a list of windows."""
    if not _is_list(value) or not isinstance(name, str):
        yield name, value
        return
    for over in value:
        if not isinstance(over, Over):
            raise DefinitionError(
                f"the column {name!r} must be an operator over a list of windows, such as "
                f"sf.sum('x').over(['1h', '24h']), got a list with {over!r}"
            )
        yield f"{name}_{window_suffix(over.window)}", over


def _names(what: str, given: object) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, (tuple, list)) or not all(isinstance(name, str) for name in names):
        raise DefinitionError(f"{what} must be a column name or a list of them, got {given!r}")
    if len(set(names)) < len(names):
        raise ColumnError(f"{what} names a column twice: {', '.join(names)}")
    return tuple(names)
