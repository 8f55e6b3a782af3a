"""An operator over a window: one column of a rolling definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import index
from typing import TYPE_CHECKING

from slidefold.errors import DefinitionError
from slidefold.windows import Rows, Time, WindowKind, window_of

if TYPE_CHECKING:
    from slidefold.operators.base import Operator


@dataclass(frozen=True)
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
        window = self.window
        if isinstance(window, Rows | Time) and not window.settled:
            window = replace(window, closed=closed, settled=True)
        return replace(self, window=window)

    def __str__(self) -> str:
        said = [str(self.window)]
        if self.min_count is not None:
            said.append(f"min_count={self.min_count}")
        if self.algorithm is not None:
            said.append(f"algorithm={self.algorithm!r}")
        return f"{self.operator.name}({', '.join(self.operator.columns)}) over {', '.join(said)}"


def over(
    operator: Operator,
    window: object,
    closed: str | None,
    min_count: int | None,
    algorithm: str | None,
) -> Over:
    """Check what `over` of an operator was given."""
    if not operator.columns and operator.name != "count":
        raise DefinitionError(f"{operator.name} needs a column, such as {operator.name}('x')")
    if min_count is not None:
        try:
            whole = index(min_count)
        except TypeError:
            whole = 0
        if isinstance(min_count, bool) or whole < 1:
            raise DefinitionError(f"min_count is an integer >= 1, got {min_count!r}")
        min_count = whole
    if algorithm is not None and not isinstance(algorithm, str):
        raise DefinitionError(f"algorithm is a name such as 'daba_lite', got {algorithm!r}")
    return Over(operator, window_of(window, closed), min_count, algorithm)
