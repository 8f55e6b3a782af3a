"""The log of a bucket: all that a stream remembers of it.

Layout. A head, entries `oldest..version` with the rows that were accepted, at most about 1 MB each
before they are compressed, and beside each entry a mark: its newest time, a random token, the
watermark its rows were judged by, and their number. Nothing in here knows Spark: the states come in
as a `Store`.

The rows of one call may be cut into several entries; their tokens begin alike. What is compacted is
a snapshot: the bytes of an Arrow stream, cut into entries, with the engine's last results in its
metadata.

Invariants. (I1) Every version from `oldest` to the head's has its entry and its mark. (I2) Two
attempts at one version never have the same token, so that who knows the token of a version knows
all entries up to it. (I3) `rows` of the head is the sum of the marks' rows. (I4) The rows of an
entry that was appended are newer than the watermark of its mark; those of one that was compacted
need not be, and nobody catches up from before a compaction, since its older entries are gone.
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
from slidefold.state import pack, unpack

# A message of 1 MB takes 20 ms to read and 5 ms to write; beyond that the state API gets slower a
# byte.
ENTRY_BYTES = 1 << 20
# Rows of three integers take 7 bytes then and not 24 (`state_bytes_per_row` in the stream figure),
# which costs less than to read and write the rest.
_CODEC, _SMALL = "zstd", 1024
_KIND = "a bucket's log"
_NEVER = 2**63 - 1


@dataclass(frozen=True)
class Head:
    """Where a log stands."""

    identity: str  # digest of what the query computes
    version: int = 0
    token: str = ""  # of the newest entry
    oldest: int = 1
    rows: int = 0
    emitted: int | None = None  # results up to here are out; None before the first watermark
    timer: int | None = None  # in milliseconds
    horizon: int | None = (
        None  # entries left up to here, rows of others that are older do not count
    )


@dataclass(frozen=True)
class Mark:
    """What is known of an entry without reading it."""

    newest: int
    token: str
    judged: int | None
    rows: int


@dataclass(frozen=True)
class Logged:
    """The rows of one call, and the watermark at which it left the engine."""

    rows: Any
    judged: int | None
    snapshot: bool  # all that the engine held then, and not only what was new


class Store(Protocol):
    """The states of one bucket, as the engine of the stream keeps them."""

    def read_head(self) -> tuple[Any, ...] | None:
        """Return what `write_head` was given last."""

    def write_head(self, head: tuple[Any, ...]) -> None:
        """Keep a head."""

    def read_entry(self, version: int) -> bytes | None:
        """Return the bytes of an entry."""

    def write_entry(self, version: int, data: bytes) -> None:
        """Keep the bytes of an entry."""

    def read_mark(self, version: int) -> tuple[Any, ...] | None:
        """Return what `write_mark` was given for this version."""

    def write_mark(self, version: int, mark: tuple[Any, ...]) -> None:
        """Keep a mark."""

    def drop(self, version: int) -> None:
        """Forget an entry and its mark."""


class DictStore:
    """The states of one bucket in memory."""

    def __init__(self) -> None:
        self.head: tuple[Any, ...] | None = None
        self.entries: dict[int, bytes] = {}
        self.marks: dict[int, tuple[Any, ...]] = {}

    def read_head(self) -> tuple[Any, ...] | None:
        """Return what `write_head` was given last."""
        return self.head

    def write_head(self, head: tuple[Any, ...]) -> None:
        """Keep a head."""
        self.head = head

    def read_entry(self, version: int) -> bytes | None:
        """Return the bytes of an entry."""
        return self.entries.get(version)

    def write_entry(self, version: int, data: bytes) -> None:
        """Keep the bytes of an entry."""
        self.entries[version] = data

    def read_mark(self, version: int) -> tuple[Any, ...] | None:
        """Return what `write_mark` was given for this version."""
        return self.marks.get(version)

    def write_mark(self, version: int, mark: tuple[Any, ...]) -> None:
        """Keep a mark."""
        self.marks[version] = mark

    def drop(self, version: int) -> None:
        """Forget an entry and its mark."""
        del self.entries[version], self.marks[version]


class Log:
    """The log of one bucket during one call; `save` writes the head if it has changed."""

    def __init__(
        self, store: Store, schema: Any, identity: str, entry_bytes: int = ENTRY_BYTES
    ) -> None:
        self.store, self.schema, self.entry_bytes = store, schema, entry_bytes
        found = store.read_head()
        self.fresh = found is None
        self.head = Head(identity) if found is None else _head(found)
        self._saved = None if found is None else self.head
        # Marks that were read or written in this call, or that an engine in the worker remembers.
        self.known: dict[int, Mark] = {}

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return self.head.version - self.head.oldest + 1

    def mark(self, version: int) -> Mark | None:
        """Return the mark of an entry, None if there is no such entry."""
        if not self.head.oldest <= version <= self.head.version:
            return None
        if version not in self.known:
            found = self.store.read_mark(version)
            if found is None:
                raise StateError(f"the log of a bucket has no mark of its entry {version}")
            self.known[version] = Mark(*found)
        return self.known[version]

    def first(self) -> dict[int, Mark]:
        """Return the mark of the oldest entry by its version, if it was looked at in this call."""
        oldest = self.head.oldest
        return {oldest: self.known[oldest]} if oldest in self.known else {}

    def append(self, rows: Any, on: str, judged: int | None) -> int:
        """Add accepted rows as new entries; returns the bytes written."""
        written, batch = 0, secrets.token_hex(8)
        for i, piece in enumerate(self._pieces(rows)):
            newest = pc.max(piece[on].cast(pa.int64())).as_py()
            payload = piece.combine_chunks().to_batches()[0].serialize()
            mark = Mark(newest, f"{batch}-{i}", judged, piece.num_rows)
            written += self._write(mark, payload.to_pybytes())
        return written

    def _write(self, mark: Mark, payload: bytes, part: list[int] | None = None) -> int:
        """Add an entry, which may be a part of a snapshot."""
        version = self.head.version + 1
        header = {"kind": _KIND, "version": version, "token": mark.token, "part": part}
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
        """Say that the rows up to this time are of the past: what comes up to it is late."""
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
        """Yield what was logged from `first` on, one call after the other."""
        tables: list[Any] = []
        parts: list[bytes] = []
        for version in range(first, self.head.version + 1):
            mark = self.mark(version)
            data = self.store.read_entry(version)
            if mark is None or data is None:
                raise StateError(f"the log of a bucket has lost its entry {version}")
            header, payload = unpack(data, _KIND)
            if (header.get("version"), header.get("token")) != (version, mark.token):
                raise StateError(f"the entry {version} of a bucket's log is not what was written")
            payload = _unpressed(payload, header.get("size"))
            part = header.get("part")
            if part is not None:
                parts.append(payload)
                if len(parts) == part[1]:
                    yield Logged(_table(b"".join(parts)), mark.judged, True)
                continue
            batch = pa.ipc.read_record_batch(pa.py_buffer(payload), self.schema)
            if batch.num_rows != mark.rows:
                raise StateError(f"the entry {version} of a bucket's log has lost rows")
            tables.append(pa.Table.from_batches([batch]))
            following = self.mark(version + 1)
            if following is None or _batch(following) != _batch(mark):
                yield Logged(pa.concat_tables(tables), mark.judged, False)
                tables = []

    def evict(self, horizon: int | None) -> int:
        """Drop the oldest entries as long as nothing in them is newer than the horizon."""
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

    def compact(self, kept: Any, judged: int | None) -> int:
        """Write the rows that are still needed as a snapshot, and drop all entries before it."""
        before, written, batch = self.head.version, 0, secrets.token_hex(8)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, kept.schema) as writer:
            writer.write_table(kept.combine_chunks())
        data = sink.getvalue().to_pybytes()
        count = -(-len(data) // self.entry_bytes)
        for i in range(count):
            # It leaves with the next one, so that no time is too late for it.
            mark = Mark(_NEVER, f"{batch}-{i}", judged, kept.num_rows if i == 0 else 0)
            piece = data[i * self.entry_bytes : (i + 1) * self.entry_bytes]
            written += self._write(mark, piece, [i, count])
        while self.head.oldest <= before:
            gone = self.mark(self.head.oldest)
            assert gone is not None
            self._drop_oldest(gone.rows)
        return written

    def _drop_oldest(self, rows: int) -> None:
        self.store.drop(self.head.oldest)
        self.head = replace(self.head, oldest=self.head.oldest + 1, rows=self.head.rows - rows)

    def save(self) -> None:
        """Write the head, if anything in it is new."""
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
        found: bytes = pa.decompress(payload, size, _CODEC, asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise StateError(f"an entry of a bucket's log cannot be read: {error}") from None
    return found


def _batch(mark: Mark) -> str:
    return mark.token.partition("-")[0]


def _table(data: bytes) -> Any:
    try:
        with pa.ipc.open_stream(data) as reader:
            return reader.read_all()
    except (pa.ArrowException, OSError) as error:
        raise StateError(f"the snapshot in a bucket's log cannot be read: {error}") from None


def _head(found: tuple[Any, ...]) -> Head:
    *fields, checksum = found
    if _checksum(tuple(fields)) != checksum:
        raise StateError("the head of a bucket's log is damaged: its checksum is wrong")
    return Head(*fields)


def _checksum(fields: tuple[Any, ...]) -> str:
    return blake2b(json.dumps(fields).encode(), digest_size=8).hexdigest()
