"""`emit="final"`: a result once, when the watermark says that it is complete.

Rows after the watermark are pending. When it passes them they are folded by the batch kernel,
together with the earlier rows of their keys that windows still hold: the history. What no later
window can hold leaves it; where only the rows can tell, that is found out when it has doubled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.compute import Definition, windows_of
from slidefold.columns.engine import slide_table
from slidefold.columns.grouping import Sorted, sort_table
from slidefold.live.frames import OLDEST, of_same_keys, past_rows, results_of
from slidefold.live.lateness import times_of
from slidefold.live.numbered import NUMBER, numbers_of
from slidefold.windows import EveryTime, Session, counted, needed_rows, reach_back
from slidefold.windows.every import EveryRows

# A history is not looked through for so few rows.
_FEW = 4096


class Final:
    """The rows that wait, and those that later windows need."""

    def __init__(self, definition: Definition, rows: Any) -> None:
        """Start from an empty table, which has the columns of the rows to come."""
        self.definition = definition
        self.watermark: int | None = None
        self.windows = windows_of(definition)
        self.history = self._read(rows)
        self.pending = rows
        self.clock, _ = counted(definition.on, rows[definition.on].combine_chunks())
        plain = definition.slide is None or isinstance(definition.slide, EveryTime)
        self.reach = reach_back(self.windows, self.clock) if plain else None
        self.pruned = 0  # how long the history was when it was last looked through

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add rows, move the watermark, and return the results that are complete now."""
        pool = pa.concat_tables([self.pending, rows])
        if watermark is None:
            self.pending = pool
            return self.fold(pool.slice(0, 0), OLDEST)
        passed = times_of(pool, self.definition.on) <= watermark
        due, pending = pool.filter(pa.array(passed)), pool.filter(pa.array(~passed))
        found = self.fold(due, watermark)
        history = pa.concat_tables([self.history, self._read(due)])
        history, pruned = self._prune(history, watermark)
        self.watermark, self.pruned = watermark, pruned
        self.history, self.pending = history.combine_chunks(), pending.combine_chunks()
        return found

    def fill(self, rows: Any, watermark: int | None) -> None:
        """Take rows of which those up to the watermark have been emitted already."""
        passed = past_rows(rows, self.definition.on, watermark)
        self.history = self._read(rows.filter(pa.array(passed))).combine_chunks()
        self.pending = rows.filter(pa.array(~passed)).combine_chunks()
        self.watermark = watermark

    def fold(self, due: Any, watermark: int) -> Any:
        """Return the results that become complete when the watermark passes these rows."""
        definition = self.definition
        if definition.slide is None:
            history = of_same_keys(self.history, due, definition.by)
            return results_of(definition, history, due)
        ordered = self._ordered(pa.concat_tables([self.history, self._read(due)]))
        since = OLDEST if self.watermark is None else self.watermark
        slide = definition.slide.slide(ordered.rows, self.windows, (since, watermark))
        found = slide_table(definition, ordered, slide)
        return found.take(pa.array(np.argsort(slide.end, kind="stable")))

    def kept(self) -> Any:
        """Return all rows that are still needed; columns that are no more so are null."""
        if self.watermark is not None:
            self.history, self.pruned = self._prune(self.history, self.watermark, True)
        history = self.history
        for i, field in enumerate(self.pending.schema):
            if field.name not in history.column_names:
                missing = pa.nulls(len(history), field.type)
                history = history.add_column(min(i, len(history.columns)), field, missing)
        return pa.concat_tables([history.select(self.pending.column_names), self.pending])

    def horizon(self) -> int | None:
        """Return a time up to which no row is needed any more."""
        if self.watermark is None or isinstance(self.definition.slide, EveryRows):
            return None
        if self.reach is not None:
            return max(self.watermark - self.reach, OLDEST)
        if len(self.history) == 0:
            return self.watermark
        return max(int(times_of(self.history, self.definition.on).min()) - 1, OLDEST)

    def next_due(self) -> int | None:
        """Return a watermark before which nothing is due if no more rows come."""
        waits = []
        if len(self.pending):
            waits.append(int(times_of(self.pending, self.definition.on).min()))
        if len(self.history) and self.watermark is not None:
            slide = self.definition.slide
            if isinstance(slide, EveryTime):
                waits.append(slide.next_end(self.watermark, self.clock))
            elif slide is not None and any(isinstance(window, Session) for window in self.windows):
                waits.append(self.watermark + 1)  # any of them may be over by then
        return min(waits, default=None)

    @property
    def nbytes(self) -> int:
        """The size of the rows that are held."""
        return int(self.history.nbytes + self.pending.nbytes)

    def _read(self, rows: Any) -> Any:
        return rows.select([*self.definition.used, NUMBER])

    def _ordered(self, table: Any) -> Sorted:
        definition = self.definition
        numbers = numbers_of(table)
        return sort_table(table, definition.on, definition.by, definition.ties, numbers)

    def _prune(self, history: Any, watermark: int, always: bool = False) -> tuple[Any, int]:
        """Return the rows that windows after the watermark may hold, and how many were seen."""
        if self.reach is not None:
            oldest = watermark - self.reach
            keep = times_of(history, self.definition.on) > oldest
            return history.filter(pa.array(keep)), 0
        if not always and len(history) <= max(2 * self.pruned, _FEW):
            return history, self.pruned
        ordered = self._ordered(history)
        frames = {window: window.frames(ordered.rows) for window in self.windows}
        slide = self.definition.slide
        multiple = slide.n if isinstance(slide, EveryRows) else 1
        places = needed_rows(ordered.rows, frames, watermark, multiple)
        if ordered.order is not None:
            places = np.sort(ordered.order[places])
        return history.take(pa.array(places)), len(places)
