"""Record the answers of a service and the events behind them, as Parquet files for `audit`."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from slidefold.errors import DefinitionError
from slidefold.serve.state import Settings

POSITION = "log_position"  # how much of the log was folded; for an event, where it is
ANSWERED = "answered_at"
DEFINITION = b"slidefold.definition"
_ROWS = 50_000  # answers or events that are written at once
_SECONDS = 10.0
_MOST = 500_000  # answers that wait while the disk is full


class Recorder:
    """Collects rows; a thread writes them every few seconds, a service before every snapshot."""

    def __init__(self, settings: Settings) -> None:
        """Continue in a folder."""
        assert settings.record is not None
        self.folder = settings.record
        taken = next((n for n in (POSITION, ANSWERED) if n in settings.schema.names), None)
        if taken is not None:
            raise DefinitionError(f"the events have a column {taken!r}, which recording adds")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.metadata = {DEFINITION: json.dumps(settings.features.to_dict()).encode()}
        self.recorded = max((_last(path) for path in self.folder.glob("events-*")), default=0)
        self._lock = threading.Lock()  # for the rows that wait
        self._writing = threading.Lock()  # for the files
        self._answers: list[Any] = []
        self._events: list[Any] = []
        self._waiting = 0  # rows that are not written
        self._wake = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None
        self.failing = False
        self.lost = 0  # answers that were never written
        self._number = 0

    def start(self) -> None:
        """Write from now on, in a thread: whoever asks does not wait for the disk."""
        self._thread = threading.Thread(target=self._run, name="slidefold-recorder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what was noted and stop; if this raises, the rest is lost."""
        self._closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(_SECONDS)
            self._wake.clear()
            with suppress(OSError):  # it is tried again
                self.flush()

    def answers(self, table: Any, position: int) -> None:
        """Note answers that were given when the log was folded up to a position."""
        table = table.append_column(POSITION, _repeated(position, len(table)))
        now = pa.scalar(time.time_ns() // 1000, pa.timestamp("us", "UTC"))
        self._add(self._answers, table.append_column(ANSWERED, pa.repeat(now, len(table))))

    def events(self, table: Any, position: int) -> None:
        """Note events that were accepted."""
        if position > self.recorded and len(table):
            self._add(self._events, table.append_column(POSITION, _repeated(position, len(table))))

    def _add(self, rows: list[Any], table: Any) -> None:
        with self._lock:
            rows.append(table)
            self._waiting += len(table)
        if self._waiting >= _ROWS and not self.failing:
            self._wake.set()

    def flush(self) -> None:
        """Write what was noted; if this raises, it is still there."""
        with self._writing:
            # Questions are answered while the disk is full, but not all answers can be kept.
            while sum(map(len, self._answers)) > _MOST:
                self.lost += len(self._answers[0])
                self._forget(self._answers, 1)
            self.failing = True
            for name, rows in (("answers", self._answers), ("events", self._events)):
                with self._lock:
                    tables = [*rows]
                if tables:
                    self._write(name, pa.concat_tables(tables))
                    self._forget(rows, len(tables))
            self.failing = False

    def _forget(self, rows: list[Any], count: int) -> None:
        with self._lock:
            self._waiting -= sum(map(len, rows[:count]))
            del rows[:count]

    def _write(self, name: str, table: Any) -> None:
        last = table[POSITION][-1].as_py()
        self._number += 1
        path = self.folder / f"{name}-{last:020d}-{time.time_ns():020d}-{self._number}.parquet"
        partial = path.with_name(f".{path.name}")
        try:
            pq.write_table(table.replace_schema_metadata(self.metadata), partial)
            partial.rename(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise


def _repeated(number: int, count: int) -> Any:
    return pa.repeat(pa.scalar(number, pa.int64()), count)


def _last(path: Path) -> int:
    """Return the last position in a file of events, from its name."""
    return int(path.name.split("-")[1])
