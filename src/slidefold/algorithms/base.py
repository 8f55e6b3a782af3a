"""Base class of the in-order algorithms."""

from __future__ import annotations

from operator import index
from typing import Any, ClassVar, Self

from slidefold import _native
from slidefold.definition.operators import Operator, require_events
from slidefold.state import Operators, operator_header, require_options, restore, saving

# The limit for structures that allocate their full size at once: 32 GiB with the smallest states.
MOST_SLOTS = 2**31


def whole(number: object) -> int | None:
    """Return a number as an integer, or None if it is not an integer."""
    if isinstance(number, bool):
        return None
    try:
        return index(number)  # type: ignore[arg-type]
    except TypeError:
        return None


class Algorithm(_native.Aggregator):
    """Base class of the in-order algorithms. Use a subclass."""

    name: ClassVar[str]
    _options_types: ClassVar[dict[str, type]] = {"checked": bool, "counted": bool}

    def __init__(self, operator: Operator, *, checked: bool = False, counted: bool = False) -> None:
        self._setup(operator, {"checked": checked, "counted": counted})

    def _setup(self, operator: Operator, options: dict[str, Any]) -> None:
        require_events(operator)
        self.operator = operator
        self._options = options
        super().__init__(self.name, operator, options)

    copy = __copy__ = saving.copy
    __deepcopy__ = saving.deepcopy
    to_bytes = saving.to_bytes
    __reduce__ = saving.reduce

    @classmethod
    def from_bytes(
        cls, data: bytes, operator: Operator | None = None, *, operators: Operators = ()
    ) -> Self:
        """Restore an algorithm from its saved state; it continues where the saved one stopped.

        Bytes never import anything. A user operator must be in a module that is already imported,
        or be passed as `operator` or in the list `operators`. Raises `StateError` if the bytes are
        not the state of this class.
        """
        return restore(cls, data, operator, operators)

    def _twin(self) -> Self:
        twin = type(self).__new__(type(self))
        _native.Aggregator.__init__(twin, self.name, self.operator, self._options)
        return twin

    def _header(self) -> dict[str, Any]:
        return {"operator": operator_header(self.operator), "options": self._options}

    @classmethod
    def _kind(cls) -> str:
        return getattr(cls, "name", cls.__name__)

    @classmethod
    def _made(cls, header: dict[str, Any], operator: Operator, room: int) -> Self:
        options = require_options(header, cls._options_types)
        cls._require(options, room)
        restored = cls.__new__(cls)
        restored._setup(operator, options)
        return restored

    @classmethod
    def _require(cls, options: dict[str, Any], room: int) -> None:
        """Check saved options against a payload of `room` bytes."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.operator}, {len(self)} values>"
