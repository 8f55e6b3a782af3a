"""An operator over a window: one column of a rolling definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn

from slidefold import _native
from slidefold.definition.expressions.face import Combined, Compared, Expression, node_of
from slidefold.definition.expressions.nodes import LITERALS, Call, Node, Result
from slidefold.definition.windows import WindowKind, window_of, window_suffix
from slidefold.definition.windows.closed import UNSAID
from slidefold.errors import DefinitionError, OperatorError, PairError, nearest

if TYPE_CHECKING:
    from slidefold.definition.operators.base import Operator

# The names of the algorithms that process single events with insert, evict and query.
EVENT_ALGORITHMS = tuple(name for name, _, _ in _native.algorithms())


def require_algorithm(algorithm: str | None) -> None:
    """Raise if there is no algorithm of this name; the error suggests the nearest one."""
    if algorithm is not None and algorithm not in EVENT_ALGORITHMS:
        hint = nearest(algorithm, EVENT_ALGORITHMS)
        hint = hint or f"; choose one of {', '.join(EVENT_ALGORITHMS)}"
        raise PairError(f"there is no algorithm named {algorithm!r}{hint}")


@dataclass(frozen=True, repr=False)
class Over(Combined):
    """An operator over a window. Create one with the operator's `over` method.

    It can be combined with others and with columns of the row: `sf.max("x").over("1h") -
    sf.min("x").over("1h")`. `==` and `!=` compare two of them as values; to compare their results,
    use `(a - b) == 0`.
    """

    operator: Operator
    window: WindowKind
    min_count: int | None = None
    algorithm: str | None = None

    def __eq__(self, other: object) -> Any:
        """Compare two windows as values; anything else gives an expression of the result."""
        if isinstance(other, Over):
            return Compared(self._parts() == other._parts())
        if isinstance(other, (Combined, *LITERALS)):
            return Expression(Call("equal", (self.result(), node_of(other))))
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        """Do the same for what differs."""
        if isinstance(other, Over):
            return Compared(self._parts() != other._parts())
        if isinstance(other, (Combined, *LITERALS)):
            return Expression(Call("not_equal", (self.result(), node_of(other))))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return self.operator, self.window, self.min_count, self.algorithm

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns: first those of the operator, then those of the window."""
        read = (name for _, leaf in self.operator.leaves() for name in leaf.inputs)
        return tuple(dict.fromkeys((*read, *self.window.columns)))

    def require_bounded(self) -> None:
        """Raise if the window holds all rows so far and the state grows with them."""
        if not self.window.forever:
            return
        for _, leaf in self.operator.leaves():
            if leaf.record.grows:
                raise DefinitionError(
                    f"{leaf.name} keeps all values of its window, which a lifetime window never "
                    "drops: use a time window"
                )

    def over(self, *_: object, **__: object) -> NoReturn:
        """Raise: there is a window already."""
        raise self._misplaced("over")

    def where(self, *_: object, **__: object) -> NoReturn:
        """Raise: a condition stands before the window."""
        raise self._misplaced("where")

    def per(self, *_: object, **__: object) -> NoReturn:
        """Raise: a category stands before the window."""
        raise self._misplaced("per")

    def _misplaced(self, method: str) -> OperatorError:
        if self.operator.record.own_window or method == "over":
            return OperatorError(f"{self!r} has a window already, so it takes no .{method}")
        return OperatorError(f"{self!r} has a window already: use .{method} before .over")

    def result(self) -> Node:
        """Return the result as a part of an expression."""
        return Result(self)

    def settle(self, closed: str) -> Over:
        """Set `closed` of the window, unless the user has set it."""
        if self.operator.record.own_window:
            return self
        return replace(self, window=self.window.settle(closed))

    def __repr__(self) -> str:
        return self.text(None if self.window.settled else UNSAID)

    def text(self, default: str | None) -> str:
        """Return the column as source code, without `closed` if it equals the default."""
        if self.operator.record.own_window:
            return repr(self.operator)
        length, ends = self.window.argument(default)
        optional = {"min_count": self.min_count, "algorithm": self.algorithm}
        more = {name: value for name, value in optional.items() if value is not None}
        options = [f", {name}={value!r}" for name, value in {**ends, **more}.items()]
        return f"{self.operator}.over({length}{''.join(options)})"


def over(
    operator: Operator,
    window: object,
    closed: str | None,
    min_count: int | None,
    algorithm: str | None,
) -> Over:
    """Check the arguments of an operator's `over`, and return the column."""
    _require_columns(operator)
    if min_count is not None:
        try:
            whole = index(min_count)
        except TypeError:
            whole = 0
        if isinstance(min_count, bool) or whole < 1:
            raise DefinitionError(f"min_count must be an integer >= 1, got {min_count!r}")
        if whole >= 2**63:
            raise DefinitionError("min_count must be an integer < 2**63, got a larger one")
        min_count = whole
    if algorithm is not None and not isinstance(algorithm, str):
        raise DefinitionError(f"algorithm must be a name such as 'daba_lite', got {algorithm!r}")
    if min_count is not None and operator.record.column == "per":
        raise DefinitionError("min_count does not work with per(): filter the map instead")
    return Over(operator, window_of(window, closed), min_count, algorithm)


def _require_columns(operator: Operator) -> None:
    """Raise if an operator has no column, also inside a struct; only `count` needs none."""
    for _, leaf in operator.leaves():
        if not leaf.columns and not leaf.record.rows:
            raise DefinitionError(f"{leaf.name} needs a column, such as {leaf.name}('x')")


def over_each(
    operator: Operator,
    windows: Sequence[object],
    closed: str | None,
    min_count: int | None,
    algorithm: str | None,
) -> tuple[Over, ...]:
    """Return one column per window; `rolling` adds the lengths of the windows to their names."""
    if not windows:
        raise DefinitionError(
            "expected a list of at least one window, such as ['1h', '24h'], got an empty list"
        )
    columns = tuple(over(operator, window, closed, min_count, algorithm) for window in windows)
    for column in columns:
        window_suffix(column.window)
    return columns
