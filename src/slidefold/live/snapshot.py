"""Everything that an engine holds, as tables and as bytes: rows, last results, and states by key.

Rows lie in an Arrow stream, the last results of "revise" and "change" in a second one, and what
keys keep of rows that have gone (the states of lifetime windows and slices) in a third one: a row
per key, with the bytes that the operators write. The sizes of the streams are in the header of the
envelope. In format 1 the other two were in the metadata of the rows, where 2 GB is the limit.

States of rows that are held are not saved, but made again when they are needed. Rows must be saved
in any case, because they leave windows one by one, so states would only add bytes. The gain would
be small: 10^6 rows of 100 keys take 24 bytes each and 0.14 s to load (`emit="arrival"`), and the
first batch afterwards takes 3 ms longer for a sum, 20 ms for six features and 120 ms for a median.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slidefold.errors import StateError
from slidefold.state import field

_END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream of Arrow
_NAMES = ("rows", "last", "past")
_CALLED = dict(zip(_NAMES, ("rows", "last results", "states by key"), strict=True))
_EARLIER = {"last": b"slidefold.side", "past": b"slidefold.past"}  # in the metadata of format 1


@dataclass(frozen=True)
class Snapshot:
    """The tables that an engine is rebuilt from."""

    rows: Any
    last: Any = None  # the last results, if they cannot be computed from the rows
    past: Any = None  # what keys keep of rows that have gone

    def to_bytes(self) -> tuple[dict[str, int], bytes]:
        """Return the size of each stream, and the streams.

        >>> sizes, data = Snapshot(pa.table({"t": [1]})).to_bytes()
        >>> Snapshot.from_bytes(sizes, data).rows["t"].to_pylist(), sizes["last"], sizes["past"]
        ([1], 0, 0)
        """
        streams = [_written(getattr(self, name)) for name in _NAMES]
        return dict(zip(_NAMES, map(len, streams), strict=True)), b"".join(streams)

    @classmethod
    def from_bytes(cls, sizes: Any, data: bytes) -> Snapshot:
        """Return what `to_bytes` wrote; without sizes, what format 1 wrote.

        Raise StateError for anything else.
        """
        if sizes is None:
            rows = _read("rows", data)
            saved = rows.schema.metadata or {}
            kept = {name: _read(name, saved.get(key, b"")) for name, key in _EARLIER.items()}
            return cls(rows, **kept)
        tables, start = {}, 0
        for name in _NAMES:
            size = sizes.get(name) if isinstance(sizes, dict) else None
            if type(size) is not int or not 0 <= size <= len(data) - start:
                raise StateError(f"the header of the bytes has no valid size of {_CALLED[name]}")
            tables[name] = _read(name, data[start : start + size])
            start += size
        if start != len(data) or tables["rows"] is None:
            raise StateError("the rows in the bytes do not end where the bytes end")
        return cls(**tables)


def _written(table: Any) -> bytes:
    if table is None:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _read(name: str, data: bytes) -> Any:
    if not data and name != "rows":
        return None
    try:
        stream = pa.BufferReader(data)
        with pa.ipc.open_stream(stream) as reader:
            table = reader.read_all()
            whole = stream.tell() == stream.size() and data.endswith(_END)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError):
        raise StateError(f"the {_CALLED[name]} in the bytes cannot be read") from None
    if not whole:
        raise StateError(f"the {_CALLED[name]} in the bytes do not end where their bytes end")
    return table


def write_snapshot(schema: Any, snapshot: Snapshot) -> tuple[dict[str, int], bytes]:
    """Return the sizes of a schema and a snapshot, and both as bytes."""
    head = schema.serialize().to_pybytes()
    sizes, data = snapshot.to_bytes()
    return {"schema": len(head), **sizes}, head + data


def read_snapshot(header: dict[str, Any], payload: bytes) -> tuple[Any, Snapshot] | None:
    """Return the schema and the snapshot that `write_snapshot` wrote; None without rows."""
    # In format 1 only the size of the schema was written.
    sizes = header.get("sizes")
    size = header.get("schema") if sizes is None else field(header, "sizes", dict).get("schema")
    if size is None and sizes is None:
        if payload:
            raise StateError("the bytes hold rows without a schema")
        return None
    if type(size) is not int or not 0 <= size <= len(payload):
        raise StateError("the header of the bytes has no valid schema")
    try:
        saved = pa.ipc.read_schema(pa.py_buffer(payload[:size]))
        schema = pa.schema(list(saved), saved.metadata)  # in the byte order of this machine
    except (pa.ArrowException, OSError, ValueError, TypeError):
        raise StateError("the schema in the bytes cannot be read") from None
    return schema, Snapshot.from_bytes(sizes, payload[size:])


def require_last(last: Any, like: Any, rows: int | None = None) -> Any:
    """Return last results; raise StateError unless they have these columns and so many rows."""
    same = last.column_names == like.column_names and all(
        field.type == expected.type or has_null(expected.type)
        for field, expected in zip(last.schema, like.schema, strict=True)
    )
    if not same or rows not in (None, len(last)):
        raise StateError("the last results in the bytes do not match this definition")
    return last


def has_null(kind: Any) -> bool:
    """Tell whether a type or a part of it is unknown, as for objects before the first one.

    >>> has_null(pa.struct({"n": pa.int64(), "x": pa.null()})), has_null(pa.list_(pa.int64()))
    (True, False)
    """
    if pa.types.is_null(kind):
        return True
    return any(has_null(kind.field(at).type) for at in range(kind.num_fields))
