"""Spark's state as a bucket's log has it: a head, entries and marks."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

T = TypeVar("T")


def _struct(*fields: tuple[str, Any]) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields])


# StructType and not a string, which would be parsed by the driver that a worker does not have.
HEAD = _struct(
    ("identity", StringType()),
    ("version", LongType()),
    ("token", StringType()),
    ("oldest", LongType()),
    ("rows", LongType()),
    ("emitted", LongType()),
    ("timer", LongType()),
    ("horizon", LongType()),
    ("checksum", StringType()),
)
_VERSION = _struct(("version", LongType()))
ENTRY = _struct(("data", BinaryType()))
MARK = _struct(
    ("newest", LongType()),
    ("token", StringType()),
    ("judged", LongType()),
    ("rows", IntegerType()),
)
_ABOUT = _struct(("about", StringType()))


class SparkStore:
    """The states of whichever bucket Spark is at; a `log.Store`.

    `seconds` counts how long Spark took, which is a matter of messages between two processes.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self.seconds = 0.0
        self._handle = handle
        self._head = handle.getValueState("head", HEAD)
        self._entries = handle.getMapState("entries", _VERSION, ENTRY)
        self._marks = handle.getMapState("marks", _VERSION, MARK)
        self._about = handle.getValueState("about", _ABOUT)

    def _timed(self, call: Callable[..., T], *arguments: Any) -> T:
        start = perf_counter()
        try:
            return call(*arguments)
        finally:
            self.seconds += perf_counter() - start

    def read_head(self) -> tuple[Any, ...] | None:
        """Return what `write_head` was given last."""
        found = self._timed(self._head.get)
        return None if found is None else tuple(found)

    def write_head(self, head: tuple[Any, ...]) -> None:
        """Keep a head."""
        self._timed(self._head.update, head)

    def read_entry(self, version: int) -> bytes | None:
        """Return the bytes of an entry."""
        found = self._timed(self._entries.getValue, (version,))
        return None if found is None else bytes(found[0])

    def write_entry(self, version: int, data: bytes) -> None:
        """Keep the bytes of an entry."""
        self._timed(self._entries.updateValue, (version,), (data,))

    def read_mark(self, version: int) -> tuple[Any, ...] | None:
        """Return what `write_mark` was given for this version."""
        found = self._timed(self._marks.getValue, (version,))
        return None if found is None else tuple(found)

    def write_mark(self, version: int, mark: tuple[Any, ...]) -> None:
        """Keep a mark."""
        self._timed(self._marks.updateValue, (version,), mark)

    def drop(self, version: int) -> None:
        """Forget an entry and its mark."""
        self._timed(self._entries.removeKey, (version,))
        self._timed(self._marks.removeKey, (version,))

    def move_timer(self, before: int | None, after: int | None) -> None:
        """Delete a timer of this bucket and register another, in milliseconds."""
        if before is not None:
            self._timed(self._handle.deleteTimer, before)
        if after is not None:
            self._timed(self._handle.registerTimer, after)

    def read_about(self) -> str | None:
        """Return what the query computes, as text."""
        found = self._about.get()
        return None if found is None else str(found[0])

    def write_about(self, about: str) -> None:
        """Keep what the query computes."""
        self._about.update((about,))
