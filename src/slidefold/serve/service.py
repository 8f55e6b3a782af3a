"""The features of one pipeline: events are logged, then folded; questions are answered at once.

One thread writes. It takes the events that wait, appends them to the log with one sync of the disk,
folds them, and then acknowledges them. Questions are answered by whoever asks, between two batches
of the writer. A snapshot bounds what has to be folded again after a crash.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from slidefold.definition.rolling import Rolling
from slidefold.errors import DataError, DefinitionError, SlidefoldError, StateError
from slidefold.live import Live
from slidefold.serve.log import Log, write_whole
from slidefold.serve.rows import arrow_bytes, table_of

MOST_WAITING = 200_000  # rows that may wait for the writer
PART = 2_000  # rows that are folded before questions get their turn
SNAPSHOT_BYTES = 128 << 20  # of the log, since the last snapshot
_KEPT = 20  # of the latest late and broken rows


class BusyServiceError(SlidefoldError, RuntimeError):
    """Too many events wait already: try again later."""


class DiskError(SlidefoldError, OSError):
    """Events could not be written to the log, so they were not taken."""


@dataclass
class _Waiting:
    """Events that wait for the writer."""

    table: Any
    done: Future[dict[str, Any]] = field(default_factory=Future)


@dataclass
class Settings:
    """How a pipeline is served."""

    features: Rolling
    schema: Any  # of the events
    lateness: Any
    id: str | None = None  # a column that names each event once
    about: dict[str, Any] = field(default_factory=dict)


class Service:
    """Take events, keep them safe, and answer questions about them."""

    def __init__(self, settings: Settings, state: Path | None = None) -> None:
        """Open the state in a folder and read what is there; without one, nothing is kept."""
        self.settings = settings
        features = settings.features
        if features.slide is not None:
            raise DefinitionError("a service answers questions about keys: leave every= out")
        self.schema = settings.schema
        walked = (name for window in features.windows for name in window.walks)
        self.asked = frozenset((*features.by, *walked, *features.row_columns)) - {features.on}
        self.live: Live = self._fresh()
        self.counts: Counter[str] = Counter()
        self.latest: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self.position = 0  # the number of the last event batch that is folded
        self._seen: dict[Any, int] = {}  # ids of events that may come again, with their times
        self._waiting: deque[_Waiting] = deque()
        self._rows_waiting = 0
        self._lock = threading.Lock()  # for the queue
        self._turn = threading.Lock()  # for the engine: the writer, or somebody who asks
        self._wake = threading.Condition(self._lock)
        self._closing = False
        self.listeners: list[Callable[[], None]] = []
        self.log: Log | None = None
        self._snapshot_at = 0
        if state is not None:
            state.mkdir(parents=True, exist_ok=True)
            self.folder = state
            self._recover(state)
        self._writer = threading.Thread(target=self._write, name="slidefold-writer", daemon=True)
        self._writer.start()

    def _fresh(self) -> Live:
        settings = self.settings
        return settings.features.live(
            lateness=settings.lateness, emit="arrival", late="side", schema=self.schema
        )

    # ---- events

    def submit(self, rows: Any) -> Future[dict[str, Any]]:
        """Take events, as JSON objects or as a table; the future ends when they are safe.

        Raise at once if they do not fit the schema, or if too many events wait. More than 2,000
        events are taken in parts: if one part fails, those before it have been taken.
        """
        table = table_of(rows, self.schema, frozenset(self.schema.names))
        on = self.settings.features.on
        if table[on].null_count:
            row = table[on].is_null().to_pylist().index(True)
            raise DataError(f"the field {on!r} is null").at(row)
        parts = [_Waiting(table.slice(at, PART)) for at in range(0, max(len(table), 1), PART)]
        with self._lock:
            if self._closing:
                raise BusyServiceError("the service is stopping")
            if self._rows_waiting + len(table) > MOST_WAITING and self._waiting:
                raise BusyServiceError(f"{self._rows_waiting:,} events wait already")
            self._waiting.extend(parts)
            self._rows_waiting += len(table)
            self._wake.notify()
        return parts[0].done if len(parts) == 1 else _together([part.done for part in parts])

    def _write(self) -> None:
        while True:
            with self._lock:
                while not self._waiting and not self._closing:
                    self._wake.wait()
                if not self._waiting:
                    return
                batch = list(self._waiting)
                self._waiting.clear()
                self._rows_waiting = 0
            self._take(batch)
            for listener in list(self.listeners):
                listener()

    def _take(self, batch: list[_Waiting]) -> None:
        """Log events, fold them, and acknowledge them."""
        fresh = [(each, self._without_known(each.table)) for each in batch]
        if self.log is not None:
            records = [arrow_bytes(table) for _, table in fresh]
            try:
                last = self.log.append(records)
            except OSError as error:
                self.counts["refused"] += sum(len(each.table) for each in batch)
                failed = DiskError(f"the events could not be written: {error.strerror}")
                for each in batch:
                    each.done.set_exception(failed)
                return
            first = last - len(records) + 1
        else:
            first = self.position + 1
        for offset, (each, table) in enumerate(fresh):
            try:
                late = self._fold(table)
                self._remember(table)
            except SlidefoldError as error:
                self.counts["broken"] += len(table)
                self.latest.appendleft(
                    {"reason": str(error), "rows": table.slice(0, 3).to_pylist()}
                )
                each.done.set_exception(error)
                continue
            finally:
                self.position = first + offset
            known = len(each.table) - len(table)
            self.counts["events"] += len(table)
            self.counts["known"] += known
            self.counts["late"] += late
            each.done.set_result(
                {
                    "accepted": len(table) - late,
                    "late": late,
                    "known": known,
                    "position": self.position,
                }
            )
        if self.log is not None and self.log.nbytes - self._snapshot_at > SNAPSHOT_BYTES:
            self.snapshot()

    def _fold(self, table: Any) -> int:
        """Fold events; return how many were late. If this raises, none was folded."""
        with self._turn:
            found = self.live.feed(table)
        return self._note_late(found)

    def _note_late(self, found: Any) -> int:
        flags = found["late"]
        count = int(pc.sum(flags).as_py() or 0)
        if count:
            rows = found.filter(flags).select(self.schema.names).slice(0, 5).to_pylist()
            self.latest.appendleft({"reason": "late", "rows": rows})
        return count

    # ---- events that come again

    def _without_known(self, table: Any) -> Any:
        """Return the events whose ids have not been seen."""
        if self.settings.id is None:
            return table
        keep, fresh = [], set()
        for value in table[self.settings.id].to_pylist():
            new = value is None or (value not in self._seen and value not in fresh)
            fresh.add(value)
            keep.append(new)
        return table if all(keep) else table.filter(pa.array(keep, pa.bool_()))

    def _remember(self, table: Any) -> None:
        """Remember ids until their events would be late."""
        if self.settings.id is None or len(table) == 0:
            return
        times = table[self.settings.features.on].cast(pa.int64()).to_pylist()
        self._seen.update(zip(table[self.settings.id].to_pylist(), times, strict=True))
        engine = self.live._engine
        mark = None if engine is None else engine.watermark
        if mark is not None and len(self._seen) > 1024:
            self._seen = {name: t for name, t in self._seen.items() if t > mark}

    # ---- questions

    def ask(self, rows: Any, *, include: bool = False) -> Any:
        """Answer questions: one object gives one object, a list a list, a table a table."""
        with self._turn:
            self.counts["asks"] += 1 if isinstance(rows, dict) else len(rows)
            return self.live.ask(rows, include=include)

    # ---- what is kept

    def snapshot(self) -> None:
        """Write the state, so that older events need not be folded again."""
        assert self.log is not None
        with self._turn:
            data, position, seen = self.live.to_bytes(), self.position, dict(self._seen)
        head = json.dumps({"position": position, "seen": [[k, t] for k, t in seen.items()]})
        encoded = head.encode()
        write_whole(
            self.folder / f"snapshot-{position:020d}.state",
            len(encoded).to_bytes(8, "little") + encoded + data,
        )
        for path in sorted(self.folder.glob("snapshot-*.state"))[:-2]:
            path.unlink()
        kept = sorted(self.folder.glob("snapshot-*.state"))
        self.log.drop(int(kept[0].stem.partition("-")[2]))
        self._snapshot_at = self.log.nbytes
        self.counts["snapshots"] += 1

    def _recover(self, folder: Path) -> None:
        """Load the latest snapshot that can be read, and fold the events behind it again."""
        self.log = Log(folder)
        snapshots = sorted(folder.glob("snapshot-*.state"), reverse=True)
        reasons = []
        for path in snapshots:
            try:
                self._load(path.read_bytes())
                break
            except StateError as error:
                reasons.append(f"{path.name}: {error}")
        else:
            if reasons and not any(first == 1 for first, _ in self.log._files()):
                raise StateError("; ".join(reasons))
        for number, data in self.log.recover(self.position):
            with pa.ipc.open_stream(data) as reader:
                table = table_of(reader.read_all(), self.schema, frozenset(self.schema.names))
            try:
                self.counts["late"] += self._fold(table)
                self._remember(table)
                self.counts["events"] += len(table)
            except SlidefoldError:
                self.counts["broken"] += len(table)  # it failed before the crash as well
            self.position = number

    def _load(self, content: bytes) -> None:
        size = int.from_bytes(content[:8], "little")
        try:
            head = json.loads(content[8 : 8 + size])
            position, seen = int(head["position"]), {k: int(t) for k, t in head["seen"]}
        except (ValueError, KeyError, TypeError):
            raise StateError("the snapshot cannot be read") from None
        self.live = Live.from_bytes(content[8 + size :], self.settings.features)
        self.position, self._seen = position, seen

    # ---- what is going on

    def status(self) -> dict[str, Any]:
        """Return what the service holds and has done."""
        with self._turn:
            live = self.live
            engine = live._engine
            watermark = live.watermark
            held = 0 if engine is None else engine.rows
            keys = 0 if engine is None or engine.native is None else engine.native.core.keys
            newest = None if engine is None else engine.newest
            nbytes = live.nbytes
        return {
            "position": self.position,
            "rows": held,
            "keys": keys,
            "bytes": nbytes,
            "watermark": None if watermark is None else str(watermark),
            "newest": newest,
            "waiting": self._rows_waiting,
            "log_bytes": 0 if self.log is None else self.log.nbytes,
            **{name: self.counts[name] for name in _COUNTED},
        }

    def close(self) -> None:
        """Take no more events, finish those that wait, and write a snapshot."""
        with self._lock:
            self._closing = True
            self._wake.notify()
        self._writer.join()
        if self.log is not None:
            if self.position > 0:
                self.snapshot()
            self.log.close()


def _together(parts: list[Future[dict[str, Any]]]) -> Future[dict[str, Any]]:
    """Return a future of the sums of several; it fails with the first that fails."""
    whole: Future[dict[str, Any]] = Future()
    left = [len(parts)]

    def done(_: Any) -> None:
        left[0] -= 1
        if left[0]:
            return
        failed = next((part.exception() for part in parts if part.exception()), None)
        if failed is not None:
            whole.set_exception(failed)
            return
        found = [part.result() for part in parts]
        sums = {name: sum(each[name] for each in found) for name in ("accepted", "late", "known")}
        whole.set_result({**sums, "position": found[-1]["position"]})

    for part in parts:
        part.add_done_callback(done)
    return whole


_COUNTED = ("events", "late", "known", "broken", "refused", "asks", "snapshots")
