"""Pack rows into packets and back: Arrow bytes in a binary column, many rows per state call.

A packet is one Arrow record batch without its schema, which both ends know. Times are instants in
UTC, so the time zone of the session has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.errors import StateError
from slidefold.spark.labels import label
from slidefold.spark.types import conform

# Rows are packed this many at a time: a packet of a few hundred rows costs as much as a small one.
_ROWS = 1 << 16
# An output packet has at most about this many bytes: Spark keeps a row in contiguous memory.
_OUT_BYTES = 4 << 20

PACKET = "packet"
LABEL = "bucket"
NEWEST = "newest"
PACKED = pa.schema([(LABEL, pa.int32()), (PACKET, pa.binary())])


def encode(table: Any) -> bytes:
    """Encode a table as the bytes of one record batch."""
    batches = table.combine_chunks().to_batches()
    batch = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
    return batch.serialize().to_pybytes()  # type: ignore[no-any-return]


def decode(data: bytes, schema: Any) -> Any:
    """Decode the bytes of a record batch."""
    try:
        return pa.ipc.read_record_batch(pa.py_buffer(data), schema)
    except (pa.ArrowInvalid, OSError) as error:
        raise StateError(f"a packet of the stream is damaged: {error}") from None


def pieces(table: Any) -> Iterator[Any]:
    """Cut a table into packets of a limited size."""
    count = table.num_rows
    parts = max(1, min(count, -(-table.nbytes // _OUT_BYTES)))
    for i in range(parts):
        start, end = i * count // parts, (i + 1) * count // parts
        yield table.slice(start, end - start)


@dataclass(frozen=True)
class Pack:
    """The first stage: packs rows, whose first column is the bucket number, into packets."""

    schema: Any
    buckets: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Pack the rows of one partition."""
        labels = np.array([label(bucket) for bucket in range(self.buckets)], np.int32)
        waiting: list[Any] = []
        rows = 0
        seen = False
        for batch in batches:
            if batch.num_rows == 0:
                continue
            if not seen:
                # Bucket 0 takes part in every batch: its state has the number of buckets, so it
                # detects a changed number before any row goes to a wrong bucket.
                yield _packets(labels[:1], [None])
                seen = True
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= _ROWS:
                yield self._pack(waiting, labels)
                waiting, rows = [], 0
        if waiting:
            yield self._pack(waiting, labels)

    def _pack(self, batches: list[Any], labels: Any) -> Any:
        table = pa.Table.from_batches(batches).combine_chunks()
        bucket = table.column(0).to_numpy()
        rows = conform(table.remove_column(0), self.schema)
        order = np.argsort(bucket, kind="stable")
        ordered = rows.take(pa.array(order)).combine_chunks()
        bucket = bucket[order]
        starts = np.concatenate(([0], np.flatnonzero(np.diff(bucket)) + 1))
        counts = np.diff(np.append(starts, len(bucket)))
        packets = [
            encode(ordered.slice(start, count))
            for start, count in zip(starts.tolist(), counts.tolist(), strict=True)
        ]
        return _packets(labels[bucket[starts]], packets)


def _packets(labels: Any, packets: Sequence[bytes | None]) -> Any:
    arrays = [pa.array(labels, pa.int32()), pa.array(packets, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=PACKED)


@dataclass(frozen=True)
class Unpack:
    """The last stage: unpacks packets into rows."""

    schema: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Unpack the rows of one partition."""
        for batch in batches:
            for packet in batch.column(0):
                if packet.is_valid:
                    yield decode(packet.as_buffer(), self.schema)
