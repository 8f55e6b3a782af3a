"""The log of a bucket: the complete state of a stream for that bucket.

Layout. A head; entries `oldest..version` with the accepted rows, at most about 1 MB each before
compression; and for each entry a mark with its newest time, a random token, the watermark that its
rows were judged by, and its number of rows. This module does not depend on Spark: the states come
in as a `Store`.

The rows of one call may be cut into several entries, whose tokens share a prefix. A compaction
writes the bytes of the engine's snapshot, cut into entries.

Invariants. (I1) Every version from `oldest` to the head's has an entry and a mark. (I2) Two
attempts at one version never have the same token, so equal tokens at a version mean equal entries
up to it. (I3) `rows` of the head is the sum of the marks' rows. (I4) The rows of an appended entry
are newer than the watermark of its mark. Those of a snapshot need not be; no engine catches up from
before a compaction, since the older entries are gone. Rows of a history are all at or before it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from hashlib import blake2b
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from slidefold.errors import StateError
from slidefold.live.snapshot import Snapshot
from slidefold.state import pack, unpack

# A message of 1 MB takes 20 ms to read and 5 ms to write; above that the state API gets slower per
# byte.
ENTRY_BYTES = 1 << 20
# Compressed, a row of three integers takes 7 bytes instead of 24 (`state_bytes_per_row` in the
# stream figure); compression costs less time than reading and writing the other 17.
_CODEC, _SMALL = "zstd", 1024
_KIND = "a bucket's log"
_NEVER = 2**63 - 1


@dataclass(frozen=True)
class Head:
    """The current state of a log."""

    identity: str  # digest of what the query computes
    version: int = 0
    token: str = ""  # of the newest entry
    oldest: int = 1
    rows: int = 0
    emitted: int | None = None  # results up to here are out; None before the first watermark
    timer: int | None = None  # in milliseconds
    horizon: int | None = None  # entries up to here are dropped; older rows elsewhere are skipped


@dataclass(frozen=True)
class Mark:
    """The facts about an entry that are known without reading it."""

    newest: int
    token: str
    judged: int | None
    rows: int


@dataclass(frozen=True)
class Logged:
    """The rows of one call, and the engine's watermark after it."""

    rows: Any
    judged: int | None
    snapshot: Snapshot | None  # everything that the engine held; None if the rows are new
    history: bool = False  # rows from before the stream, which have no results of their own


class Store(Protocol):
    """The persistent states of one bucket."""

    def read_head(self) -> tuple[Any, ...] | None:
        """Return the last head that was written."""

    def write_head(self, head: tuple[Any, ...]) -> None:
        """Write a head."""

    def read_entry(self, version: int) -> bytes | None:
        """Return the bytes of an entry."""

    def write_entry(self, version: int, data: bytes) -> None:
        """Write the bytes of an entry."""

    def read_mark(self, version: int) -> tuple[Any, ...] | None:
        """Return the mark of an entry."""

    def write_mark(self, version: int, mark: tuple[Any, ...]) -> None:
        """Write the mark of an entry."""

    def drop(self, version: int) -> None:
        """Delete an entry and its mark."""


class DictStore:
    """The states of one bucket in memory."""

    def __init__(self) -> None:
        self.head: tuple[Any, ...] | None = None
        self.entries: dict[int, bytes] = {}
        self.marks: dict[int, tuple[Any, ...]] = {}

    def read_head(self) -> tuple[Any, ...] | None:
        """Return the last head that was written."""
        return self.head

    def write_head(self, head: tuple[Any, ...]) -> None:
        """Write a head."""
        self.head = head

    def read_entry(self, version: int) -> bytes | None:
        """Return the bytes of an entry."""
        return self.entries.get(version)

    def write_entry(self, version: int, data: bytes) -> None:
        """Write the bytes of an entry."""
        self.entries[version] = data

    def read_mark(self, version: int) -> tuple[Any, ...] | None:
        """Return the mark of an entry."""
        return self.marks.get(version)

    def write_mark(self, version: int, mark: tuple[Any, ...]) -> None:
        """Write the mark of an entry."""
        self.marks[version] = mark

    def drop(self, version: int) -> None:
        """Delete an entry and its mark."""
        del self.entries[version], self.marks[version]


class Log:
    """The log of one bucket during one call; `save` writes a changed head."""

    def __init__(
        self, store: Store, schema: Any, identity: str, entry_bytes: int = ENTRY_BYTES
    ) -> None:
        self.store, self.schema, self.entry_bytes = store, schema, entry_bytes
        stored = store.read_head()
        self.fresh = stored is None
        self.head = Head(identity) if stored is None else head_of(stored)
        self._saved = None if stored is None else self.head
        # Marks that were read or written in this call, or that came with a cached engine.
        self.known: dict[int, Mark] = {}

    @property
    def entries(self) -> int:
        """The number of entries."""
        return self.head.version - self.head.oldest + 1

    def mark(self, version: int) -> Mark | None:
        """Return the mark of an entry; None if there is no such entry."""
        if not self.head.oldest <= version <= self.head.version:
            return None
        if version not in self.known:
            stored = self.store.read_mark(version)
            if stored is None:
                raise StateError(f"entry {version} of a bucket's log has no mark")
            self.known[version] = Mark(*stored)
        return self.known[version]

    def first(self) -> dict[int, Mark]:
        """Return the mark of the oldest entry by its version, if this call has read it."""
        oldest = self.head.oldest
        return {oldest: self.known[oldest]} if oldest in self.known else {}

    def append(self, rows: Any, on: str, judged: int | None) -> int:
        """Add accepted rows as new entries, and return the bytes written."""
        written, batch = 0, secrets.token_hex(8)
        for i, piece in enumerate(self._pieces(rows)):
            newest = pc.max(piece[on].cast(pa.int64())).as_py()
            payload = piece.combine_chunks().to_batches()[0].serialize()
            mark = Mark(newest, f"{batch}-{i}", judged, piece.num_rows)
            written += self._write(mark, payload.to_pybytes())
        return written

    def _write(self, mark: Mark, payload: bytes, part: dict[str, Any] | None = None) -> int:
        """Add an entry, which may be a part of a snapshot."""
        version = self.head.version + 1
        header = {"kind": _KIND, "version": version, "token": mark.token, **(part or {})}
        if len(payload) >= _SMALL:
            header["size"] = len(payload)
            payload = pa.compress(payload, _CODEC, asbytes=True)
        data = pack(header, payload)
        self.store.write_entry(version, data)
        self.store.write_mark(version, (mark.newest, mark.token, mark.judged, mark.rows))
        self.known[version] = mark
        rows = self.head.rows + mark.rows
        self.head = replace(self.head, version=version, token=mark.token, rows=rows)
        return len(data)

    def remember(self, newest: int) -> None:
        """Treat rows up to this time as history: new rows up to it are late."""
        self.head = replace(self.head, emitted=newest)

    def _pieces(self, rows: Any) -> Iterator[Any]:
        count = rows.num_rows
        if count == 0:
            return
        pieces = min(count, -(-rows.nbytes // self.entry_bytes)) or 1
        for i in range(pieces):
            start, end = i * count // pieces, (i + 1) * count // pieces
            yield rows.slice(start, end - start)

    def read(self, first: int) -> Iterator[Logged]:
        """Yield the logged rows from version `first` on, one call after another."""
        tables: list[Any] = []
        parts: list[bytes] = []
        for version in range(first, self.head.version + 1):
            mark = self.mark(version)
            data = self.store.read_entry(version)
            if mark is None or data is None:
                raise StateError(f"entry {version} of a bucket's log is missing")
            header, payload = unpack(data, _KIND)
            if (header.get("version"), header.get("token")) != (version, mark.token):
                raise StateError(f"entry {version} of a bucket's log is not the one written")
            payload = _unpressed(payload, header.get("size"))
            part = header.get("part")
            if part is not None:
                parts.append(payload)
                if len(parts) == part[1]:
                    snapshot = Snapshot.from_bytes(header.get("sizes"), b"".join(parts))
                    yield Logged(snapshot.rows, mark.judged, snapshot)
                continue
            batch = pa.ipc.read_record_batch(pa.py_buffer(payload), self.schema)
            if batch.num_rows != mark.rows:
                raise StateError(
                    f"entry {version} of a bucket's log must have {mark.rows} rows, got "
                    f"{batch.num_rows}"
                )
            tables.append(pa.Table.from_batches([batch]))
            following = self.mark(version + 1)
            if following is None or _batch(following) != _batch(mark):
                history = mark.judged is not None and mark.newest <= mark.judged
                yield Logged(pa.concat_tables(tables), mark.judged, None, history)
                tables = []

    def evict(self, horizon: int | None) -> int:
        """Drop the oldest entries while all their rows are at or before the horizon."""
        dropped = 0
        while horizon is not None and self.entries:
            mark = self.mark(self.head.oldest)
            assert mark is not None
            if mark.newest > horizon:
                break
            self._drop_oldest(mark.rows)
            dropped += 1
        if dropped:
            self.head = replace(self.head, horizon=horizon)
        return dropped

    def compact(self, snapshot: Snapshot, judged: int | None) -> int:
        """Write a snapshot, and drop all entries before it."""
        before, written, batch = self.head.version, 0, secrets.token_hex(8)
        sizes, data = snapshot.to_bytes()
        rows = snapshot.rows.num_rows
        count = -(-len(data) // self.entry_bytes)
        for i in range(count):
            # No horizon evicts a snapshot: the next snapshot replaces it.
            mark = Mark(_NEVER, f"{batch}-{i}", judged, rows if i == 0 else 0)
            piece = data[i * self.entry_bytes : (i + 1) * self.entry_bytes]
            written += self._write(mark, piece, {"part": [i, count], "sizes": sizes})
        while self.head.oldest <= before:
            gone = self.mark(self.head.oldest)
            assert gone is not None
            self._drop_oldest(gone.rows)
        return written

    def _drop_oldest(self, rows: int) -> None:
        self.store.drop(self.head.oldest)
        self.head = replace(self.head, oldest=self.head.oldest + 1, rows=self.head.rows - rows)

    def save(self) -> None:
        """Write the head if it has changed."""
        if self.head == self._saved:
            return
        head = self.head
        fields = astuple(head)
        self.store.write_head((*fields, _checksum(fields)))
        self._saved = head


def _unpressed(payload: bytes, size: int | None) -> bytes:
    if size is None:
        return payload
    try:
        data: bytes = pa.decompress(payload, size, _CODEC, asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise StateError(f"an entry of a bucket's log cannot be read: {error}") from None
    return data


def _batch(mark: Mark) -> str:
    return mark.token.partition("-")[0]


def head_of(stored: tuple[Any, ...]) -> Head:
    """Return a head as it was stored; raise if it is damaged."""
    *fields, checksum = stored
    if _checksum(tuple(fields)) != checksum:
        raise StateError("the head of a bucket's log is damaged: its checksum is wrong")
    return Head(*fields)


def _checksum(fields: tuple[Any, ...]) -> str:
    return blake2b(json.dumps(fields).encode(), digest_size=8).hexdigest()
