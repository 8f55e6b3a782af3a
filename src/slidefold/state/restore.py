"""Restore an object from bytes: create it from the header, then fill it from the payload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, Self, TypeVar

from slidefold.definition.operators import Operator
from slidefold.errors import OperatorError, StateError
from slidefold.state.envelope import Header, field, readable, unpack
from slidefold.state.identity import operator_from
from slidefold.state.known import Known, Operators


class Restorable(Protocol):
    """An object that can be restored from its saved state."""

    @classmethod
    def _kind(cls) -> str:
        """Return the kind of state that the bytes must hold."""

    @classmethod
    def _made(cls, header: Header, operator: Operator, room: int) -> Self:
        """Create an empty object from the header; the payload has `room` bytes."""

    def _load(self, payload: bytes, /) -> None:
        """Fill an empty object, or raise an error."""


R = TypeVar("R", bound=Restorable)


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Convert every error while bytes are read into a StateError with one readable sentence."""
    try:
        yield
    except StateError as error:
        plain = readable(error)
        if plain == str(error):
            raise
        raise StateError(plain) from None
    except Exception as error:  # from a constructor, an invariant, or a user's operator
        reason = readable(next(iter(str(error).splitlines()), ""), 100).rstrip(". ")
        kind = readable(type(error).__name__, 50)
        cause = f"{kind}: {reason}" if reason else kind
        raise StateError(f"the bytes are not a valid {what} ({cause})") from error


def restore(
    cls: type[R],
    data: bytes,
    operator: Operator | None,
    operators: Operators = (),
    *,
    pickled: bool = False,
) -> R:
    """Restore an object of this class from its saved state; raise StateError for invalid bytes."""
    if operator is not None and not isinstance(operator, Operator):
        raise OperatorError(f"expected an operator, such as slidefold.max(), got {operator!r}")
    known = Known(operators, pickled=pickled)
    header, payload = unpack(data, cls._kind())
    with refusing(cls.__name__):
        operator = operator_from(field(header, "operator", dict), operator, known)
        restored = cls._made(header, operator, len(payload))
        restored._load(payload)
    return restored


def restore_pickled(cls: type[R], data: bytes) -> R:
    """Restore a pickled object: like `restore`, but import modules as pickle does."""
    return restore(cls, data, None, pickled=True)


def require_options(header: Header, types: Mapping[str, type]) -> dict[str, Any]:
    """Return the options of a header; raise StateError unless they have these names and types."""
    options = field(header, "options", dict)
    if {name: type(value) for name, value in options.items()} != dict(types):
        raise StateError("the bytes were saved with options that this version does not know")
    return options


def require_room(slots: int, room: int) -> None:
    """Reject more slots than payload bytes, because a slot takes at least a byte.

    This is checked before memory is allocated.
    """
    if slots > room:
        raise StateError("the header of the bytes declares more values than the bytes hold")
