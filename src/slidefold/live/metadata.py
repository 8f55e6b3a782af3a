"""The state of an engine besides its rows, saved in their metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slidefold.errors import StateError

_PREFIX = b"slidefold."


@dataclass(frozen=True)
class Side:
    """The last results, with the number of rows and the watermark when they were saved."""

    table: Any
    rows: int
    watermark: int | None


def write_side(side: Side, metadata: dict[bytes, bytes] | None) -> dict[bytes, bytes]:
    """Return metadata that contains the last results."""
    watermark = "" if side.watermark is None else str(side.watermark)
    return {
        **(metadata or {}),
        _PREFIX + b"side": _written(side.table),
        _PREFIX + b"rows": str(side.rows).encode(),
        _PREFIX + b"watermark": watermark.encode(),
    }


def read_side(metadata: dict[bytes, bytes] | None) -> Side | None:
    """Return the last results in the metadata, or None if there are none."""
    if metadata is None or _PREFIX + b"side" not in metadata:
        return None
    complaint = "the last results in the saved rows cannot be read"
    table = _read(metadata[_PREFIX + b"side"], complaint)
    try:
        rows, watermark = metadata[_PREFIX + b"rows"], metadata[_PREFIX + b"watermark"]
        return Side(table, int(rows), int(watermark) if watermark else None)
    except (KeyError, ValueError):
        raise StateError(complaint) from None


def write_past(past: Any, metadata: dict[bytes, bytes] | None) -> dict[bytes, bytes]:
    """Return metadata that contains what keys keep of rows that have gone."""
    return {**(metadata or {}), _PREFIX + b"past": _written(past)}


def read_past(metadata: dict[bytes, bytes] | None) -> Any:
    """Return what keys keep of rows that have gone, or None if the metadata has nothing."""
    if metadata is None or _PREFIX + b"past" not in metadata:
        return None
    return _read(metadata[_PREFIX + b"past"], "the states in the saved rows cannot be read")


def _written(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _read(data: bytes, complaint: str) -> Any:
    try:
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        raise StateError(complaint) from None
    return table


def require_side(side: Any, like: Any, rows: int | None = None) -> Any:
    """Return last results; raise StateError unless they have these columns and so many rows."""
    same = side.column_names == like.column_names and all(
        field.type == expected.type or has_null(expected.type)
        for field, expected in zip(side.schema, like.schema, strict=True)
    )
    if not same or rows not in (None, len(side)):
        raise StateError("the last results in the saved rows do not match this definition")
    return side


def has_null(kind: Any) -> bool:
    """Tell whether a type or a part of it is unknown, as for objects before the first one.

    >>> has_null(pa.struct({"n": pa.int64(), "x": pa.null()})), has_null(pa.list_(pa.int64()))
    (True, False)
    """
    if pa.types.is_null(kind):
        return True
    return any(has_null(kind.field(at).type) for at in range(kind.num_fields))
