"""Earlier rows of the same key: the value n rows ago, and how it has changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidefold.definition.expressions.face import Expression
from slidefold.definition.expressions.nodes import Call, Column, Literal, Node, Result
from slidefold.definition.operators.base import Input, Operator, columns_of, whole_of
from slidefold.definition.operators.over_window import Over
from slidefold.definition.operators.positional import nth
from slidefold.definition.operators.record import Record, recorded
from slidefold.definition.windows import RowsBefore
from slidefold.errors import DefinitionError

if TYPE_CHECKING:
    from slidefold.definition.rolling import Rolling


def _before(over: Over, definition: Rolling) -> tuple[Node, Node]:
    """Return the row's own value, and the value n rows before."""
    operator = over.operator
    if definition.slide is not None:
        raise DefinitionError(f"{operator!r} needs a row, and with every= there is none")
    (column,) = operator.columns
    n: Any = dict(operator.params)["n"]
    own = column if isinstance(column, Node) else Column(column)
    earlier = nth(
        Expression(own) if isinstance(column, Node) else column,
        n=n,
        nulls="keep",
    )
    return own, Result(Over(earlier, over.window))


def _lag(over: Over, definition: Rolling) -> Node:
    return _before(over, definition)[1]


def _change(over: Over, definition: Rolling) -> Node:
    return Call("subtract", _before(over, definition))


def _ratio_change(over: Over, definition: Rolling) -> Node:
    return Call("subtract", (Call("divide", _before(over, definition)), Literal(1.0)))


@recorded(Record(expands=_lag, own_window=True, events=False), built_in=False)
def lag(column: Input | None = None, n: int = 1) -> Over:
    """Return the value n rows before, also if it is null; null if there is no such row.

    It takes no `over`. Rows of equal time are in the order that `order=` sets. Computed from `nth`.

    >>> import pyarrow as pa, slidefold as sf
    >>> table = pa.table({"t": [1, 2, 3], "x": [5.0, 9.0, 7.0]})
    >>> sf.rolling(on="t", before=sf.lag("x")).run(table)["before"].to_pylist()
    [None, 5.0, 9.0]
    """
    return _over("lag", column, n)


@recorded(Record(expands=_change, own_window=True, events=False), built_in=False)
def change(column: Input | None = None, n: int = 1) -> Over:
    """Return the difference to the value n rows before: numbers, times or durations.

    It takes no `over`. Computed from `nth`.

    >>> import pyarrow as pa, slidefold as sf
    >>> table = pa.table({"t": [1, 2, 3], "x": [5.0, 9.0, 7.0]})
    >>> sf.rolling(on="t", step=sf.change("x")).run(table)["step"].to_pylist()
    [None, 4.0, -2.0]
    """
    return _over("change", column, n)


@recorded(Record(expands=_ratio_change, own_window=True, events=False), built_in=False)
def ratio_change(column: Input | None = None, n: int = 1) -> Over:
    """Return the relative change since the value n rows before: 0.1 for 10% more.

    It takes no `over`. Computed from `nth`.

    >>> import pyarrow as pa, slidefold as sf
    >>> table = pa.table({"t": [1, 2, 3], "x": [5.0, 10.0, 5.0]})
    >>> sf.rolling(on="t", growth=sf.ratio_change("x")).run(table)["growth"].to_pylist()
    [None, 1.0, -0.5]
    """
    return _over("ratio_change", column, n)


def _over(name: str, column: Any, n: int) -> Over:
    n = whole_of(n, 1, name, "n")
    operator = Operator(name, columns_of(column), params=(("n", n),))
    if not operator.columns:
        raise DefinitionError(f"{name} needs a column, such as {name}('x')")
    return Over(operator, RowsBefore(n, "left"))
