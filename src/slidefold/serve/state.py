"""What the records of a log make: the engine, the known ids, and how far files were read.

The same records give the same state, whether they are folded as they come, again after a crash, or
by the process that writes a snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.rolling import Rolling
from slidefold.errors import DefinitionError, SlidefoldError, StateError
from slidefold.live import Live
from slidefold.serve.log import Log, write_whole
from slidefold.serve.rows import arrow_bytes, in_schema

_READ = b"read"  # in the metadata of a record: the file, its rows so far, and its size
_FEW = 50_000  # of the latest ids, which are kept in any case


@dataclass
class Settings:
    """How a pipeline is served."""

    features: Rolling
    schema: Any  # of the events
    lateness: Any
    id: str | None = None  # a column that names each event once
    about: dict[str, Any] = field(default_factory=dict)
    file: Path | None = None  # the pipeline file; with it another process writes the snapshots
    late: Path | None = None  # a file for late events
    record: Path | None = None  # a folder for answers and the events behind them

    def check(self) -> None:
        """Raise if this cannot be served."""
        if self.features.slide is not None:
            raise DefinitionError("a service answers questions about keys: leave every= out")
        if self.id is None:
            return
        if self.id not in self.schema.names:
            raise DefinitionError(f"the events have no column {self.id!r}, which id names")
        kind = self.schema.field(self.id).type
        if not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
            raise DefinitionError(f"the ids in {self.id!r} must be integers or strings, got {kind}")


@dataclass(frozen=True)
class Reading:
    """How far a file was read when a record was written.

    Of a text file `rows` are those that were read behind the first `size` bytes. Of other files
    they are all that were read, and `size` is that of the file, -1 until all were.
    """

    file: str
    rows: int
    size: int


class State:
    """The engine of a service and what else its log decides."""

    def __init__(self, settings: Settings) -> None:
        """Start with nothing."""
        settings.check()
        self.settings = settings
        self.live: Live = settings.features.live(
            lateness=settings.lateness, emit="arrival", schema=settings.schema
        )
        self.position = 0  # the number of the last record that is folded
        self.seen: dict[Any, int] = {}  # ids of events that may come again, with their times
        self.files: dict[str, tuple[int, int]] = {}  # rows and bytes of files that were read

    # ---- records

    def record(self, table: Any, reading: Reading | None = None) -> bytes:
        """Return events as a record of the log."""
        if reading is not None:
            told = json.dumps([reading.file, reading.rows, reading.size]).encode()
            table = table.replace_schema_metadata({_READ: told})
        return arrow_bytes(table)

    def fold(self, number: int, table: Any, reading: Reading | None = None) -> Any:
        """Fold the events of a record; return the places of those that were late.

        If this raises, none was folded, and the record counts as folded all the same: it would
        raise again.
        """
        self.position = number
        if reading is not None:
            self.files[reading.file] = reading.rows, reading.size
        late = self.live.accept(table)
        self._remember(table)
        return late

    def replay(self, records: Iterator[tuple[int, bytes]]) -> Iterator[tuple[Any, Any]]:
        """Fold records again; yield the events of each and which were late, None if it fails."""
        schema = self.settings.schema
        for number, data in records:
            with pa.ipc.open_stream(data) as reader:
                table = reader.read_all()
            told = (table.schema.metadata or {}).get(_READ)
            reading = None if told is None else Reading(*json.loads(told))
            try:
                table = in_schema(table, schema, frozenset(schema.names))
            except SlidefoldError as error:
                raise StateError(
                    f"the log has events with other columns than the pipeline: {error.sentence}; "
                    "use another folder for the state"
                ) from None
            try:
                late = self.fold(number, table, reading)
            except SlidefoldError:
                yield table, None
            else:
                yield table, late

    # ---- events that come again

    def without_known(self, table: Any, fresh: set[Any]) -> Any:
        """Return the events whose ids were not seen and are not `fresh`, and add theirs to it."""
        name = self.settings.id
        if name is None:
            return table
        keep = []
        for value in table[name].to_pylist():
            keep.append(value is None or (value not in self.seen and value not in fresh))
            fresh.add(value)
        return table if all(keep) else table.filter(pa.array(keep, pa.bool_()))

    def _remember(self, table: Any) -> None:
        """Remember the latest ids, and older ones until their events would be late."""
        name, on = self.settings.id, self.settings.features.on
        if name is None or len(table) == 0:
            return
        times = steps(table[on]).to_pylist()
        ids = table[name].to_pylist()
        self.seen.update((one, t) for one, t in zip(ids, times, strict=True) if one is not None)
        mark = self.live.low
        if mark is not None and len(self.seen) > 2 * _FEW:
            old = len(self.seen) - _FEW
            self.seen = {
                one: t for i, (one, t) in enumerate(self.seen.items()) if i >= old or t > mark
            }

    # ---- snapshots

    def save(self, folder: Path) -> Path:
        """Write a snapshot, as a whole or not at all."""
        head = {
            "position": self.position,
            "seen": list(self.seen.items()),
            "files": [[name, *read] for name, read in self.files.items()],
        }
        encoded = json.dumps(head).encode()
        path = folder / f"snapshot-{self.position:020d}.state"
        write_whole(path, len(encoded).to_bytes(8, "little") + encoded + self.live.to_bytes())
        return path

    def load(self, content: bytes) -> None:
        """Continue from a snapshot; if this raises, nothing has changed."""
        size = int.from_bytes(content[:8], "little")
        try:
            head = json.loads(content[8 : 8 + size])
            position = int(head["position"])
            seen = {one: int(t) for one, t in head["seen"]}
            files = {name: (int(rows), int(end)) for name, rows, end in head.get("files", [])}
        except (ValueError, KeyError, TypeError):
            raise StateError("the snapshot cannot be read") from None
        live = Live.from_bytes(content[8 + size :], self.settings.features)
        if live.lateness != self.live.lateness:
            raise StateError(
                f"the state has the watermark {live.lateness}, but the pipeline has "
                f"{self.live.lateness}"
            )
        self.live = live
        self.position, self.seen, self.files = position, seen, files

    def load_newest(self, folder: Path, log: Log) -> str:
        """Continue from the newest snapshot that can be read; without one, from the start.

        Return why newer ones could not be read.
        """
        reasons = []
        for path in reversed(snapshots(folder)):
            try:
                self.load(path.read_bytes())
                break
            except StateError as error:
                reasons.append(f"{path.name}: {error}")
        else:
            if reasons and log.first != 1:
                raise StateError("; ".join(reasons))
        return "; ".join(reasons)


def snapshots(folder: Path) -> list[Path]:
    """Return the snapshots in a folder, oldest first."""
    return sorted(folder.glob("snapshot-*.state"))


def position_of(snapshot: Path) -> int:
    """Return the number of the last record in a snapshot."""
    return int(snapshot.stem.partition("-")[2])


def forget_old(folder: Path, log: Log) -> None:
    """Keep the two newest snapshots, and the records that the older of them needs."""
    for path in snapshots(folder)[:-2]:
        path.unlink()
    kept = snapshots(folder)
    if kept:
        log.drop(position_of(kept[0]))


def steps(times: Any) -> Any:
    """Return times as integers in the unit of their column."""
    kind = times.type
    if pa.types.is_date32(kind):
        times = times.cast(pa.int32())
    return times.cast(pa.int64())


def time_of(time: Any, kind: Any) -> Any:
    """Return the newest time of a run as a value of its column's type."""
    if time is None:
        return pa.scalar(None, kind)
    number = int(time.astype(np.int64)) if isinstance(time, np.datetime64) else int(time)
    width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    return pa.scalar(number, width).cast(kind)
