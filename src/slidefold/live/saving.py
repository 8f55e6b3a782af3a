"""The state of a live run as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from slidefold.definition.rolling import Rolling
from slidefold.errors import StateError
from slidefold.live.engine import Engine
from slidefold.live.lateness import NEWEST, OLDEST
from slidefold.live.saved_definition import definition_header, same_definition
from slidefold.live.snapshot import read_snapshot, write_snapshot
from slidefold.live.status import Status
from slidefold.live.turn import in_turn
from slidefold.state import (
    Known,
    Operators,
    field,
    length_from,
    length_header,
    pack,
    refusing,
    unpack,
)


class Saved(Status):
    """The part of `Live` that saves and restores it."""

    id: tuple[str, ...]
    _late_mode: str

    if TYPE_CHECKING:

        def __init__(self, definition: Rolling, **options: Any) -> None: ...
        def _lateness(self, engine: Engine) -> int: ...

    @in_turn
    def to_bytes(self) -> bytes:
        """Return the state as bytes for `from_bytes`."""
        header: dict[str, Any] = {
            "kind": type(self).__name__,
            **definition_header(self.definition),
            "lateness": length_header(self.lateness),
            "emit": self.emit,
            "on_late": self._late_mode,
            "id": list(self.id),
            "late": self._late,
            "finished": self._finished,
            "last": self._last,
            "watermark": None,
            "sizes": None,
        }
        payload = b""
        if self._engine is not None:
            engine = self._engine
            header["watermark"] = engine.watermark
            header["sizes"], payload = write_snapshot(engine.schema, engine.snapshot())
        return pack(header, payload)

    @classmethod
    def from_bytes(
        cls, data: bytes, definition: Rolling | None = None, *, operators: Operators = ()
    ) -> Self:
        """Restore a live run from its saved state; it returns Arrow tables until it is fed again.

        If `definition` is given, it must match the saved one. Bytes never import anything: without
        `definition`, a user operator must be in a module that is already imported, or in the list
        `operators`.
        """
        known = Known(operators)
        header, payload = unpack(data, cls.__name__)
        with refusing(cls.__name__):
            definition = same_definition(header, definition, known)
            restored = cls(
                definition,
                lateness=length_from(header.get("lateness")),
                emit=field(header, "emit", str),
                late=field(header, "on_late", str),
                id=field(header, "id", list),
            )
            restored._late = _within(field(header, "late", int), 0)
            restored._finished, restored._last = _finished(header)
            watermark = header.get("watermark")
            if watermark is not None:
                watermark = _within(field(header, "watermark", int), OLDEST)
            saved = read_snapshot(header, payload)
            if saved is not None:
                schema, snapshot = saved
                restored._engine = Engine.rebuild(
                    definition, schema, restored.emit, restored.id, snapshot, watermark
                )
                restored._lateness(restored._engine)
            elif watermark is not None:
                raise StateError("the bytes hold a watermark without a schema")
        return restored


def _finished(header: dict[str, Any]) -> tuple[bool, int | None]:
    """Read from a header whether a run is finished, and its last time."""
    if "finished" not in header:  # in older states, finish() set the watermark to the maximum
        return header.get("watermark") == NEWEST, None
    last = header.get("last")
    if last is not None and not OLDEST <= field(header, "last", int) <= NEWEST:
        raise StateError("the header of the bytes has no valid last")
    return field(header, "finished", bool), last


def _within(number: int, least: int) -> int:
    """Return a number from a header; raise StateError unless it fits in 64 bits."""
    if not least <= number <= NEWEST:
        raise StateError("a number in the header of the bytes is too small or too large")
    return number
