"""Spark's state as a bucket's log has it: a head, entries and marks."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)


def _struct(*fields: tuple[str, Any]) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields])


# StructType and not a string, which would be parsed by the driver that a worker does not have.
_HEAD = _struct(
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
_ENTRY = _struct(("data", BinaryType()))
_MARK = _struct(
    ("newest", LongType()),
    ("token", StringType()),
    ("judged", LongType()),
    ("rows", IntegerType()),
)
_ABOUT = _struct(("about", StringType()))


class SparkStore:
    """The states of whichever bucket Spark is at; a `log.Store`."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", _HEAD)
        self._entries = handle.getMapState("entries", _VERSION, _ENTRY)
        self._marks = handle.getMapState("marks", _VERSION, _MARK)
        self._about = handle.getValueState("about", _ABOUT)

    def read_head(self) -> tuple[Any, ...] | None:
        """Return what `write_head` was given last."""
        found = self._head.get()
        return None if found is None else tuple(found)

    def write_head(self, head: tuple[Any, ...]) -> None:
        """Keep a head."""
        self._head.update(head)

    def read_entry(self, version: int) -> bytes | None:
        """Return the bytes of an entry."""
        found = self._entries.getValue((version,))
        return None if found is None else bytes(found[0])

    def write_entry(self, version: int, data: bytes) -> None:
        """Keep the bytes of an entry."""
        self._entries.updateValue((version,), (data,))

    def read_mark(self, version: int) -> tuple[Any, ...] | None:
        """Return what `write_mark` was given for this version."""
        found = self._marks.getValue((version,))
        return None if found is None else tuple(found)

    def write_mark(self, version: int, mark: tuple[Any, ...]) -> None:
        """Keep a mark."""
        self._marks.updateValue((version,), mark)

    def drop(self, version: int) -> None:
        """Forget an entry and its mark."""
        self._entries.removeKey((version,))
        self._marks.removeKey((version,))

    def read_about(self) -> str | None:
        """Return what the query computes, as text."""
        found = self._about.get()
        return None if found is None else str(found[0])

    def write_about(self, about: str) -> None:
        """Keep what the query computes."""
        self._about.update((about,))
