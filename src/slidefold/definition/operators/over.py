"""An operator over a window: one column of a rolling definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import TYPE_CHECKING

from slidefold import _native
from slidefold.definition.windows import WindowKind, window_of, window_suffix
from slidefold.errors import DefinitionError, PairError, nearest

if TYPE_CHECKING:
    from slidefold.definition.operators.base import Operator

# Names of the algorithms that take single events with insert, evict and query.
EVENT_ALGORITHMS = tuple(name for name, _, _ in _native.algorithms())


def require_algorithm(algorithm: str | None) -> None:
    """Refuse a name that no algorithm has, naming the nearest."""
    if algorithm is not None and algorithm not in EVENT_ALGORITHMS:
        hint = nearest(algorithm, EVENT_ALGORITHMS)
        hint = hint or f"; choose one of {', '.join(EVENT_ALGORITHMS)}"
        raise PairError(f"there is no algorithm named {algorithm!r} for this window{hint}")


@dataclass(frozen=True, repr=False)
class Over:
    """What to fold, over which window. Made by `over` of an operator."""

    operator: Operator
    window: WindowKind
    min_count: int | None = None
    algorithm: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are used, those of the operator first."""
        return tuple(dict.fromkeys((*self.operator.columns, *self.window.columns)))

    def settle(self, closed: str) -> Over:
        """Say which ends are closed where nothing has been said."""
        return replace(self, window=self.window.settle(closed))

    def __repr__(self) -> str:
        return self.text(None if self.window.settled else "right")

    def text(self, default: str | None) -> str:
        """Return the column as it is typed where `closed` has this default."""
        length, ends = self.window.argument(default)
        said = {"min_count": self.min_count, "algorithm": self.algorithm}
        more = {name: value for name, value in said.items() if value is not None}
        options = [f", {name}={value!r}" for name, value in {**ends, **more}.items()]
        return f"{self.operator}.over({length}{''.join(options)})"


def over(
    operator: Operator,
    window: object,
    closed: str | None,
    min_count: int | None,
    algorithm: str | None,
) -> Over:
    """Check what `over` of an operator was given."""
    _require_columns(operator)
    if min_count is not None:
        try:
            whole = index(min_count)
        except TypeError:
            whole = 0
        if isinstance(min_count, bool) or whole < 1:
            raise DefinitionError(f"min_count is an integer >= 1, got {min_count!r}")
        if whole >= 2**63:
            raise DefinitionError("min_count is an integer below 2**63, got a larger one")
        min_count = whole
    if algorithm is not None and not isinstance(algorithm, str):
        raise DefinitionError(f"algorithm is a name such as 'daba_lite', got {algorithm!r}")
    return Over(operator, window_of(window, closed), min_count, algorithm)


def _require_columns(operator: Operator) -> None:
    """Refuse operators without a column, also inside a struct; only rows count without one."""
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
    """Make a column over each of several windows; `rolling` names them by their lengths."""
    if not windows:
        raise DefinitionError("expected a list of at least one window, such as ['1h', '24h']")
    found = tuple(over(operator, each, closed, min_count, algorithm) for each in windows)
    for each in found:
        window_suffix(each.window)
    return found
