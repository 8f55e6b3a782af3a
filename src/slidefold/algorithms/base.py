"""What all in-order algorithms share."""

from __future__ import annotations

from operator import index
from typing import Any, ClassVar, Self

from slidefold import _native
from slidefold.errors import OperatorError
from slidefold.operators import Operator


def whole(number: object) -> int | None:
    """Return a number as an integer, and None if it is not one."""
    if isinstance(number, bool):
        return None
    try:
        return index(number)  # type: ignore[arg-type]
    except TypeError:
        return None


class Algorithm(_native.Aggregator):
    """What all in-order algorithms share. Use a subclass."""

    name: ClassVar[str]

    def __init__(self, operator: Operator, *, checked: bool = False, counted: bool = False) -> None:
        self._setup(operator, {"checked": checked, "counted": counted})

    def _setup(self, operator: Operator, options: dict[str, Any]) -> None:
        if not isinstance(operator, Operator):
            raise OperatorError(f"an operator is due, such as slidefold.max(), got {operator!r}")
        self.operator = operator
        self._options = options
        super().__init__(self.name, operator, options)

    def copy(self) -> Self:
        """Return an independent copy, in O(n)."""
        twin = type(self).__new__(type(self))
        _native.Aggregator.__init__(twin, self.name, self.operator, self._options)
        twin.__dict__.update(self.__dict__)
        twin._copy_from(self)
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.operator}, {len(self)} values>"
