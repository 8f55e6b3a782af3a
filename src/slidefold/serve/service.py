"""The features of one pipeline: events are logged, then folded; questions are answered at once.

One thread writes. It takes the events that wait, appends them to the log with one sync of the disk,
has them folded in small parts, and then acknowledges them. Questions are answered by whoever asks,
between two parts. A snapshot bounds what has to be folded again after a crash.
"""

from __future__ import annotations

import subprocess
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.questions import asked_columns
from slidefold.errors import DataError, SlidefoldError, StateError
from slidefold.live.delays import lags
from slidefold.pipeline.sinks import json_line
from slidefold.serve.between import Part
from slidefold.serve.lock import lock
from slidefold.serve.log import Log
from slidefold.serve.recorder import Recorder
from slidefold.serve.rows import table_of
from slidefold.serve.state import (
    Reading,
    Settings,
    State,
    forget_old,
    position_of,
    snapshots,
    steps,
    time_of,
)
from slidefold.serve.turns import Turns
from slidefold.serve.waiting import Waiting, future_of_events, sum_of

__all__ = ["BusyServiceError", "DiskError", "Service", "Settings"]

MOST_WAITING = 200_000  # rows that may wait for the writer
# Rows that are folded before questions get their turn: 20 features take 0.2 milliseconds. The
# number is fixed, because the watermark moves behind each part and decides what is late.
PART = 100
SNAPSHOT_BYTES = 128 << 20  # of the log, since the last snapshot
_FAILED = "the service takes no more events after an error of its own: start it again"
_LATEST = 20  # late and broken rows that are shown


class BusyServiceError(SlidefoldError, RuntimeError):
    """Too many events wait already: try again later."""


class DiskError(SlidefoldError, OSError):
    """Events could not be written to the log, so they were not taken."""


class Service:
    """Take events, keep them safe, and answer questions about them."""

    def __init__(self, settings: Settings, state: Path | None = None) -> None:
        """Open the state in a folder and read what is there; without one, nothing is kept."""
        self.settings = settings
        self.schema = settings.schema
        features = settings.features
        self.asked = frozenset(asked_columns(features)) - {features.on}
        self.state = State(settings)
        self.counts: Counter[str] = Counter()
        self.lags: Counter[int] = Counter()  # events by how late they came, in powers of two
        self.latest: deque[dict[str, Any]] = deque(maxlen=_LATEST)
        self.recorder = None if settings.record is None else Recorder(settings)
        self._newest: int | None = None
        self._waiting: deque[Waiting] = deque()
        self._rows_waiting = 0
        self._lock = threading.Lock()  # for the queue
        self._turns = Turns()  # for the engine: somebody who folds, or somebody who asks
        # Gives for each part what returns its result. This one leaves the folding to the writer.
        self.folds: Callable[[list[Part]], Iterable[Part]] = iter
        self._wake = threading.Condition(self._lock)
        self._closing = False
        self.failed = False  # whether the writer has stopped, which no error of a request may cause
        self._child: subprocess.Popen[bytes] | None = None  # writes a snapshot
        self.log: Log | None = None
        self._snapshot_at = 0
        if state is not None:
            state.mkdir(parents=True, exist_ok=True)
            self.folder = state
            self._locked = lock(state)
            try:
                self._recover(state)
            except BaseException:
                self._locked.close()
                raise
        self._writer = threading.Thread(target=self._write, name="slidefold-writer", daemon=True)
        self._writer.start()
        if self.recorder is not None:
            self.recorder.start()

    @property
    def position(self) -> int:
        """The number of the last batch of events that is folded."""
        return self.state.position

    # ---- events

    def submit(self, rows: Any) -> Future[dict[str, Any]]:
        """Take events, as JSON objects or as a table; the future ends when they are safe.

        Raise at once if they do not fit the schema, or if too many events wait. More than 100
        events are taken in parts: if one part fails, those before it have been taken.
        """
        table = table_of(rows, self.schema, frozenset(self.schema.names))
        on = self.settings.features.on
        if table[on].null_count:
            row = table[on].is_null().to_pylist().index(True)
            raise DataError(f"the field {on!r} is null").at(row)
        if len(table) == 0:
            nothing = future_of_events()
            nothing.set_result({"accepted": 0, "late": 0, "known": 0, "position": self.position})
            return nothing
        return self._enter([Waiting(table.slice(at, PART)) for at in range(0, len(table), PART)])

    def follow(self, table: Any, start: Reading, end: Reading) -> Future[dict[str, Any]]:
        """Take rows of a file: `start` is how far it was read before them, `end` behind them."""
        parts = []
        for at in range(0, max(len(table), 1), PART):
            part = table.slice(at, PART)
            until = at + len(part)
            last = until == len(table)
            reading = end if last else Reading(start.file, start.rows + until, start.size)
            parts.append(Waiting(part, reading))
        return self._enter(parts)

    def _enter(self, parts: list[Waiting]) -> Future[dict[str, Any]]:
        count = sum(len(part.table) for part in parts)
        with self._lock:
            if self._closing:
                raise BusyServiceError("the service is stopping")
            if self.failed:
                raise DiskError(_FAILED)
            if self._rows_waiting + count > MOST_WAITING and self._waiting:
                raise BusyServiceError(f"{self._rows_waiting:,} events wait already")
            self._waiting.extend(parts)
            self._rows_waiting += count
            self._wake.notify()
        return parts[0].done if len(parts) == 1 else sum_of([part.done for part in parts])

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
            try:
                self._take(batch)
            except BaseException:
                # The log may be ahead of the engine: take nothing more. A restart folds the log.
                self._fail(batch)
                raise

    def _fail(self, batch: list[Waiting]) -> None:
        with self._lock:
            self.failed = True
            batch += self._waiting
            self._waiting.clear()
            self._rows_waiting = 0
        for entry in batch:
            if not entry.done.done():
                entry.done.set_exception(DiskError(_FAILED))

    def _take(self, batch: list[Waiting]) -> None:
        """Log events, fold them, and acknowledge them."""
        state = self.state
        fresh, ids = [], set[Any]()
        for entry in batch:
            # An id may come twice in one batch as well.
            table = state.without_known(entry.table, ids)
            fresh.append((entry, table))
        number = self.position + 1
        if self.log is not None:
            try:
                records = [state.record(table, entry.reading) for entry, table in fresh]
                number = self.log.append(records) - len(records) + 1
            except OSError as error:
                self.counts["refused"] += sum(len(entry.table) for entry in batch)
                failure = DiskError(f"the events could not be written: {error.strerror}")
                for entry in batch:
                    entry.done.set_exception(failure)
                return
        times = []
        parts: list[Part] = [
            partial(self._fold, place, table, entry.reading)
            for place, (entry, table) in enumerate(fresh, number)
        ]
        for (entry, table), folded in zip(fresh, self.folds(parts), strict=True):
            try:
                places = folded()
            except SlidefoldError as error:
                self.counts["broken"] += len(table)
                self._show(str(error), table.slice(0, 3))
                entry.done.set_exception(error)
            else:
                times.append(steps(table[self.settings.features.on]).to_numpy())
                late = self._note(table, places, number)
                known = len(entry.table) - len(table)
                self.counts["known"] += known
                accepted = len(table) - late
                entry.done.set_result(
                    {"accepted": accepted, "late": late, "known": known, "position": number}
                )
            number += 1
        self._note_lags(times)
        if self.log is not None and self.log.nbytes - self._snapshot_at > SNAPSHOT_BYTES:
            self._start_snapshot()

    def _fold(self, number: int, table: Any, reading: Reading | None) -> Any:
        with self._turns:
            return self.state.fold(number, table, reading)

    def _note(self, table: Any, late: Any, number: int, *, again: bool = False) -> int:
        """Count folded events, and note those that were late; return how many were."""
        self.counts["events"] += len(table)
        self.counts["late"] += len(late)
        if len(late):
            behind = table.take(pa.array(late))
            self._show("late", behind.slice(0, 5))
            if self.settings.late is not None and not again:
                self._keep_late(self.settings.late, behind)
        if self.recorder is not None:
            accepted = table
            if len(late):
                accepted = table.take(pa.array(np.delete(np.arange(len(table)), late)))
            self.recorder.events(accepted, number)
        return len(late)

    def _keep_late(self, path: Path, rows: Any) -> None:
        lines = "".join(f"{json_line(row)}\n" for row in rows.to_pylist())
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(lines)
        except OSError as error:  # the events are in the log, so that they were taken
            self.counts["lost_late"] += len(rows)
            self._show(
                f"late, and not written to {path.name!r}: {error.strerror}", rows.slice(0, 5)
            )

    def _note_lags(self, parts: list[Any]) -> None:
        """Count how far events were behind the newest one before them, in powers of two."""
        times = np.concatenate([*parts, np.empty(0, np.int64)])
        if len(times) == 0:
            return
        before = times[0] if self._newest is None else self._newest
        behind = lags(np.concatenate(([before], times)))[1:]
        self._newest = max(int(before), int(times.max()))
        counts = np.bincount(np.frexp(np.maximum(behind, 0))[1])
        self.lags.update({size: n for size, n in enumerate(counts.tolist()) if n})

    def _show(self, reason: str, rows: Any) -> None:
        self.latest.appendleft({"reason": reason, "rows": rows.to_pylist()})

    # ---- questions

    def ask(self, rows: Any, *, include: bool = False) -> Any:
        """Answer questions: one object gives one object, a list a list, a table a table."""
        return self.answer(rows, include=include)[0]

    def answer(self, rows: Any, *, include: bool = False) -> tuple[Any, int]:
        """Answer questions; return how much of the log the answers know as well."""
        if self.recorder is not None:
            return self._recorded(rows, include)
        with self._turns:
            self.counts["asks"] += 1 if isinstance(rows, dict) else len(rows)
            if include:
                self._require_in_time(rows)
            return self.state.live.ask(rows, include=include), self.position

    def _require_in_time(self, rows: Any) -> None:
        """Raise if an event would be late: it would have no result."""
        table = table_of(rows, self.schema, frozenset(self.schema.names))
        times = steps(table[self.settings.features.on])
        low = self.state.live.low
        for row, time in enumerate(times.to_pylist()):
            if time is None or (low is not None and time <= low):
                raise DataError("the event would be late, so that it has no result").at(row)

    def _recorded(self, rows: Any, include: bool) -> tuple[Any, int]:
        """Answer questions and note the answers."""
        assert self.recorder is not None
        on = self.settings.features.on
        needed = frozenset(self.schema.names) if include else self.asked
        questions = table_of(rows, self.schema, needed)
        with self._turns:
            self.counts["asks"] += len(questions)
            live, position = self.state.live, self.position
            newest = live.newest
            times = questions[on].fill_null(time_of(newest, self.schema.field(on).type))
            if newest is not None:
                place = self.schema.get_field_index(on)
                questions = questions.set_column(place, self.schema.field(on), times)
            if include:
                self._require_in_time(questions)
            answers = live.ask(questions, include=include)
        if not include and newest is not None:
            kept = [
                n
                for n in answers.column_names
                if n == on or n in self.asked or n in self.settings.features.columns
            ]
            self.recorder.answers(answers.select(kept), position)
        if isinstance(rows, pa.Table):
            return answers, position
        new = [name for name in self.settings.features.columns if name in answers.column_names]
        given = answers.select(new).to_pylist()
        return given[0] if isinstance(rows, dict) else given, position

    # ---- what is kept

    def snapshot(self) -> None:
        """Write the state, so that older events need not be folded again."""
        assert self.log is not None
        self._flush()
        with self._turns:
            self.state.save(self.folder)
        self._snapshot_done(True)

    def _start_snapshot(self) -> None:
        """Have the state written, by another process if that can read the pipeline."""
        assert self.log is not None
        if self._child is not None:
            return
        self._snapshot_at = self.log.nbytes
        try:
            if self.settings.file is None:
                self.snapshot()
                return
            from slidefold.serve.snapshots import in_background

            self._flush()
            self._child = in_background(
                self.settings.file, self.folder, self.position, self._snapshot_done
            )
        except OSError:  # a full disk; the log has all events
            self.counts["failed_snapshots"] += 1

    def _snapshot_done(self, whole: bool) -> None:
        assert self.log is not None
        self._child = None
        if whole:
            forget_old(self.folder, self.log)
            self._snapshot_at = self.log.nbytes
        self.counts["snapshots" if whole else "failed_snapshots"] += 1

    def _flush(self) -> None:
        if self.recorder is not None:
            self.recorder.flush()

    def _recover(self, folder: Path) -> None:
        """Load the newest snapshot that can be read, and fold the events behind it again."""
        for path in folder.glob("snapshot-*.partial"):  # a crash was before they were whole
            path.unlink(missing_ok=True)
        self.log = Log(folder)
        unread = self.state.load_newest(folder, self.log)
        for table, late in self.state.replay(self.log.recover(self.position)):
            if late is None:
                self.counts["broken"] += len(table)  # it failed before the crash as well
            else:
                self._note(table, late, self.position, again=True)
        newest = max(map(position_of, snapshots(folder)), default=0)
        if self.position < newest:  # its events are nowhere else
            self.log.close()
            raise StateError(f"the log ends at the record {self.position}, and {unread}")
        if not unread:  # services that were killed left theirs
            forget_old(folder, self.log)

    # ---- what is going on

    def status(self) -> dict[str, Any]:
        """Return what the service holds and has done."""
        with self._turns:
            live = self.state.live
            held = {
                "rows": live.rows,
                "keys": live.keys,
                "bytes": live.nbytes,
                "watermark": self._text(live.watermark),
                "newest": self._text(live.newest),
            }
        return {
            "position": self.position,
            **held,
            "waiting": self._rows_waiting,
            "log_bytes": 0 if self.log is None else self.log.nbytes,
            "lost_answers": 0 if self.recorder is None else self.recorder.lost,
            **{name: self.counts[name] for name in _COUNTED},
        }

    def _text(self, time: Any) -> str | None:
        """Return a time as a question may name it."""
        if time is None:
            return None
        zone = getattr(self.schema.field(self.settings.features.on).type, "tz", None)
        return str(time) if zone is None else f"{time}Z"

    def close(self) -> None:
        """Take no more events, finish those that wait, and write a snapshot."""
        with self._lock:
            self._closing = True
            self._wake.notify()
        self._writer.join()
        child = self._child
        if child is not None:
            child.kill()
            child.wait()
        try:
            if self.recorder is not None:
                self.recorder.close()
            if self.log is not None and self.position > 0 and not self.failed:
                self.snapshot()
        except OSError:  # a full disk; the log has all events
            self.counts["failed_snapshots"] += 1
        if self.log is not None:
            self.log.close()
            self._locked.close()


_COUNTED = (
    "events",
    "late",
    "known",
    "broken",
    "refused",
    "asks",
    "snapshots",
    "failed_snapshots",
    "lost_late",
)
