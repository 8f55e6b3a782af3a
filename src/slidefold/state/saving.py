"""Copy, save and pickle objects whose contents are held by native code.

nanobind classes allow only one base class, so classes assign these functions one by one instead of
inheriting them: `copy = saving.copy`, and so on.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeVar

from slidefold.definition.operators import Operator
from slidefold.state.envelope import Header, pack
from slidefold.state.restore import restore_pickled


class Saved(Protocol):
    """An object that can be copied and saved."""

    @classmethod
    def _kind(cls) -> str:
        """Return the kind of state that the bytes must hold."""

    @classmethod
    def _made(cls, header: Header, operator: Operator, room: int) -> Self:
        """Create an empty object from the header; the payload has `room` bytes."""

    def _twin(self) -> Self:
        """Return an empty object like this one."""

    def _header(self) -> Header:
        """Describe everything except the contents."""

    def _save(self) -> bytes:
        """Return the contents."""

    def _load(self, payload: bytes, /) -> None:
        """Fill an empty object, or raise an error."""

    def _copy_from(self, other: Any, /) -> None:
        """Copy the contents of another object."""

    def to_bytes(self) -> bytes:
        """Return the whole state."""


S = TypeVar("S", bound=Saved)


def copy(self: S) -> S:
    """Return an independent copy, in O(n)."""
    twin = self._twin()
    twin.__dict__.update(self.__dict__)
    twin._copy_from(self)
    return twin


def deepcopy(self: S, memo: dict[int, Any]) -> S:
    """Return an independent copy."""
    return copy(self)


def to_bytes(self: Saved) -> bytes:
    """Return the whole state; equal states are equal bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.sum(), sf.time(10))
    >>> w.push(0, 1.0), w.push(5, 2.0)
    (1.0, 3.0)
    >>> sf.Window.from_bytes(w.to_bytes()).push(12, 4.0)
    6.0
    """
    return pack({"kind": self._kind(), **self._header()}, self._save())


def reduce(self: Saved) -> tuple[Any, ...]:
    """Pickle the saved state."""
    return restore_pickled, (type(self), self.to_bytes())
