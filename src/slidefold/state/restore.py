"""From bytes to an object: made anew from the header, then filled from the payload."""

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
    """What can be made from its saved state."""

    @classmethod
    def _kind(cls) -> str:
        """The name of what the bytes must hold."""

    @classmethod
    def _made(cls, header: Header, operator: Operator, room: int) -> Self:
        """Make an empty object from the header; the payload has `room` bytes."""

    def _load(self, payload: bytes, /) -> None:
        """Fill an empty object, or raise."""


R = TypeVar("R", bound=Restorable)


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn all that goes wrong while bytes are read into a StateError of one readable sentence."""
    try:
        yield
    except StateError as error:
        plain = readable(error)
        if plain == str(error):
            raise
        raise StateError(plain) from None
    except Exception as error:  # a constructor, an invariant, or a user's operator objects
        reason = readable(next(iter(str(error).splitlines()), ""), 100).rstrip(". ")
        kind = readable(type(error).__name__, 50)
        said = f"{kind}: {reason}" if reason else kind
        raise StateError(f"the bytes do not make a {what} ({said})") from error


def restore(
    cls: type[R],
    data: bytes,
    operator: Operator | None,
    operators: Operators = (),
    *,
    pickled: bool = False,
) -> R:
    """Make an object of this class from its saved state; all that can be wrong is a StateError."""
    if operator is not None and not isinstance(operator, Operator):
        raise OperatorError(f"expected an operator, such as slidefold.max(), got {operator!r}")
    known = Known(operators, pickled=pickled)
    header, payload = unpack(data, cls._kind())
    with refusing(cls.__name__):
        found = operator_from(field(header, "operator", dict), operator, known)
        made = cls._made(header, found, len(payload))
        made._load(payload)
    return made


def restore_pickled(cls: type[R], data: bytes) -> R:
    """Unpickle: as `restore`, and like pickle's own classes also from modules to be imported."""
    return restore(cls, data, None, pickled=True)


def require_options(header: Header, types: Mapping[str, type]) -> dict[str, Any]:
    """Return the options of a header, which must be exactly these."""
    options = field(header, "options", dict)
    if {name: type(value) for name, value in options.items()} != dict(types):
        raise StateError("the bytes were written with options that are not known here")
    return options


def require_room(slots: int, room: int) -> None:
    """Refuse slots that the payload cannot fill, before memory is asked for: each takes a byte."""
    if slots > room:
        raise StateError("the header of the bytes asks for more than the bytes hold")
