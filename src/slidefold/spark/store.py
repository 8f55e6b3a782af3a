"""The head, entries and marks of a bucket's log in Spark's state."""

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


# StructType, not a string: only the driver can parse a string, and a worker has no driver.
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
    """The states of the bucket that Spark currently processes; a `log.Store`.

    `seconds` is the time spent in state calls, which are messages between two processes.
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
        """Return the last head that was written."""
        head = self._timed(self._head.get)
        return None if head is None else tuple(head)

    def write_head(self, head: tuple[Any, ...]) -> None:
        """Write a head."""
        self._timed(self._head.update, head)

    def read_entry(self, version: int) -> bytes | None:
        """Return the bytes of an entry."""
        entry = self._timed(self._entries.getValue, (version,))
        return None if entry is None else bytes(entry[0])

    def write_entry(self, version: int, data: bytes) -> None:
        """Write the bytes of an entry."""
        self._timed(self._entries.updateValue, (version,), (data,))

    def read_mark(self, version: int) -> tuple[Any, ...] | None:
        """Return the mark of an entry."""
        mark = self._timed(self._marks.getValue, (version,))
        return None if mark is None else tuple(mark)

    def write_mark(self, version: int, mark: tuple[Any, ...]) -> None:
        """Write the mark of an entry."""
        self._timed(self._marks.updateValue, (version,), mark)

    def drop(self, version: int) -> None:
        """Delete an entry and its mark."""
        self._timed(self._entries.removeKey, (version,))
        self._timed(self._marks.removeKey, (version,))

    def move_timer(self, before: int | None, after: int | None) -> None:
        """Delete a timer of this bucket and register another, in milliseconds."""
        if before is not None:
            self._timed(self._handle.deleteTimer, before)
        if after is not None:
            self._timed(self._handle.registerTimer, after)

    def read_about(self) -> str | None:
        """Return the description of the query."""
        about = self._about.get()
        return None if about is None else str(about[0])

    def write_about(self, about: str) -> None:
        """Write the description of the query."""
        self._about.update((about,))
