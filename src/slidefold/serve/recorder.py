"""Record the answers of a service and the events behind them, as Parquet files for `audit`."""

from __future__ import annotations

import json
import threading
import time
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


class Recorder:
    """Collects rows and writes them every few seconds, and before every snapshot."""

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
        self._lock = threading.Lock()
        self._answers: list[Any] = []
        self._events: list[Any] = []
        self._number = 0
        self._since = time.monotonic()

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
            full = sum(len(each) for each in rows) >= _ROWS
        if full or time.monotonic() - self._since > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what was noted."""
        with self._lock:
            answers, events = self._answers, self._events
            self._answers, self._events = [], []
            self._since = time.monotonic()
            for name, tables in (("answers", answers), ("events", events)):
                if tables:
                    self._write(name, pa.concat_tables(tables))

    def _write(self, name: str, table: Any) -> None:
        last = table[POSITION][-1].as_py()
        self._number += 1
        path = self.folder / f"{name}-{last:020d}-{time.time_ns():020d}-{self._number}.parquet"
        partial = path.with_name(f".{path.name}")
        pq.write_table(table.replace_schema_metadata(self.metadata), partial)
        partial.rename(path)


def _repeated(number: int, count: int) -> Any:
    return pa.repeat(pa.scalar(number, pa.int64()), count)


def _last(path: Path) -> int:
    """Return the last position in a file of events, from its name."""
    return int(path.name.split("-")[1])
