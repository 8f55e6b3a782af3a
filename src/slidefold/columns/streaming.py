"""A reader, batch by batch: of the rows that have passed, only those are kept that matter still.

Rows come in time order. Those of the newest time wait, since their peers may follow. Which of the
others matter is for the windows to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.compute import Definition, fold_columns, windows_of
from slidefold.columns.grouping import sort_table, without_views
from slidefold.errors import TimeOrderError
from slidefold.windows import counted, needed_rows
from slidefold.windows.sorted_rows import Ints

# Rows are folded so many at a time, or as many as are kept: each is then folded twice on average.
_CHUNK = 1 << 16


def run_reader(definition: Definition, reader: Any, chunk: int = _CHUNK) -> Any:
    """Run a definition over a reader that comes in time order, and return a reader."""
    made = _Stream(definition, reader.schema, chunk).tables(reader)
    first = next(made)  # the types of the results are known once there is one

    def batches() -> Iterator[Any]:
        yield from first.to_batches()
        for table in made:
            yield from table.cast(first.schema).to_batches()

    return pa.RecordBatchReader.from_batches(first.schema, batches())


class _Stream:
    """The rows that are kept, those that wait, and the numbers of both in the input."""

    def __init__(self, definition: Definition, schema: Any, chunk: int) -> None:
        self.definition, self.schema, self.chunk = definition, schema, chunk
        self.kept = without_views(schema.empty_table().select(list(definition.used)))
        self.numbers: Ints = np.empty(0, np.int64)
        self.waiting = schema.empty_table()
        self.seen = 0
        self.newest: int | None = None

    def tables(self, reader: Any) -> Iterator[Any]:
        """Yield the input with its results, at least one table, maybe without rows."""
        yielded = False
        for batch in reader:
            if len(batch) == 0:
                continue
            self._take(batch)
            if len(self.waiting) < max(self.chunk, len(self.kept)):
                continue
            _, times = counted(
                self.definition.on, self.waiting[self.definition.on].combine_chunks()
            )
            ready = int(np.searchsorted(times, times[-1]))
            if ready:
                yield self._fold(ready)
                yielded = True
        if len(self.waiting) or not yielded:
            yield self._fold(len(self.waiting))

    def _take(self, batch: Any) -> None:
        """Add a batch to what waits, if it comes in order."""
        on = self.definition.on
        _, times = counted(on, batch.column(on), lambda row: row + self.seen)
        falls = np.flatnonzero(times[1:] < times[:-1]) + 1
        row = int(falls[0]) if len(falls) else None
        if self.newest is not None and times[0] < self.newest:
            row = 0
        if row is not None:
            raise TimeOrderError(
                f"a reader must come in order of {on!r}, but time goes back at row "
                f"{self.seen + row}: read it into a table first"
            )
        self.newest = int(times[-1])
        self.seen += len(batch)
        self.waiting = pa.concat_tables([self.waiting, pa.Table.from_batches([batch])])

    def _fold(self, count: int) -> Any:
        """Fold the first rows that wait, and keep what later ones need."""
        definition = self.definition
        ready, self.waiting = self.waiting.slice(0, count), self.waiting.slice(count)
        past = len(self.kept)
        read = without_views(ready.select(list(definition.used)))
        table = pa.concat_tables([self.kept, read])
        first = self.seen - len(self.waiting) - count
        numbers = np.concatenate((self.numbers, np.arange(first, first + count)))
        ordered = sort_table(table, definition.on, definition.by, definition.ties, numbers)
        frames = {window: window.frames(ordered.rows) for window in windows_of(definition)}
        for name, values in fold_columns(definition, ordered, frames).items():
            ready = ready.append_column(name, ordered.back(values).slice(past))
        places = needed_rows(ordered.rows, frames)
        if ordered.order is not None:
            places = np.sort(ordered.order[places])
        self.kept, self.numbers = table.take(pa.array(places)), numbers[places]
        return ready
