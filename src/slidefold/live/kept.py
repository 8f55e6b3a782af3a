"""The rows that an engine holds: rows after the watermark, and rows that windows still need.

Rows that no later window can hold are dropped. If time alone decides that, they are dropped at
every watermark; otherwise the history is searched when it has doubled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.engine import ends_table
from slidefold.columns.grouping import Sorted, sort_table
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Slide, counted, needed_rows, reach_back
from slidefold.errors import ResultOverflowError, SlidefoldError
from slidefold.live.frames import OLDEST, of_same_keys, past_rows, results_of
from slidefold.live.incremental import Incremental
from slidefold.live.lateness import times_of
from slidefold.live.numbered import NUMBER, numbers_of
from slidefold.live.slices import Sliced

# A history with at most this many rows is not searched.
_FEW = 4096


@dataclass(frozen=True)
class _Part:
    """Rows of a history that passed together, and their newest time if it is known."""

    rows: Any
    newest: int | None
    nbytes: int


class Kept:
    """Rows up to the watermark, with only the used columns, and rows after it."""

    once = False  # whether each row has one result, so that it can be added to states

    def __init__(self, definition: Rolling, rows: Any) -> None:
        """Start from an empty table with the columns of the rows to come."""
        self.definition = definition
        self.watermark: int | None = None
        self.windows = definition.windows
        self.history = self.read(rows)
        self.pending = rows
        self.clock, _ = counted(definition.on, rows[definition.on].combine_chunks())
        in_time = definition.slide is not None and definition.slide.in_time
        plain = definition.slide is None or in_time
        self.reach = reach_back(self.windows, self.clock) if plain else None
        self.pruned = 0  # the length of the history when it was last searched
        kind = Sliced if in_time else Incremental
        self.by_key = kind(definition, rows, self.clock, wanted=self.once)

    @property
    def history(self) -> Any:
        """Return the passed rows that windows may still hold."""
        if len(self._parts) != 1:
            self.history = pa.concat_tables(
                [self._empty, *(part.rows for part in self._parts)]
            ).combine_chunks()
        return self._parts[0].rows

    @history.setter
    def history(self, rows: Any) -> None:
        # Its newest time is computed once there are other parts.
        self._empty = rows.slice(0, 0)
        self._parts = deque([_Part(rows, None, rows.nbytes)])
        self._held, self._held_bytes = len(rows), rows.nbytes

    @property
    def rows(self) -> int:
        """Return the number of held rows."""
        return self._held + len(self.pending)

    @property
    def newest(self) -> int | None:
        """Return the newest time of a row so far, or the watermark if that is later."""
        return self._newest(self.pending) if len(self.pending) else self.watermark

    def fill(self, rows: Any, watermark: int | None) -> None:
        """Set the rows; those up to the watermark have passed already."""
        passed = past_rows(rows, self.definition.on, watermark)
        self.history = self.read(rows.filter(pa.array(passed))).combine_chunks()
        self.pending = rows.filter(pa.array(~passed)).combine_chunks()
        self.watermark = watermark
        self.refill()

    def refill(self) -> None:
        """Rebuild the states by key from the held rows."""
        self.by_key.clear()
        try:
            rows = self.inserted()
            self.by_key.outgrown(rows)
            self.by_key.push(rows, self.watermark)
        except SlidefoldError:
            # Windows of passed rows lack the dropped rows, and may overflow without them: from now
            # on fold everything from the rows.
            self.give_up_states()

    def give_up_states(self) -> None:
        """Fold everything from the rows from now on."""
        empty = self.pending.slice(0, 0)
        self.by_key = Incremental(self.definition, empty, self.clock, wanted=False)

    def folded(self, work: Callable[[], Any]) -> Any:
        """Return the result of `work`; on overflow, try again without states by key.

        States by key compute every row, and may overflow at a row that `min_count` makes null.
        """
        try:
            return work()
        except ResultOverflowError:
            overs = self.definition.overs
            if all(overs[name].min_count is None for name in self.by_key.names):
                raise
            self.give_up_states()
            return work()

    @property
    def slices(self) -> Sliced | None:
        """Return the states by key and slice, or None if columns are not kept that way."""
        return self.by_key if isinstance(self.by_key, Sliced) and self.by_key.sliced else None

    def sliced(self, rows: Any, ordered: Sorted, slide: Slide, watermark: int | None) -> Any:
        """Insert rows into slices, and return the results of a slide."""
        assert self.slices is not None
        first = pa.array(ordered.rows.starts[slide.group])
        names = [*self.definition.by, self.definition.on]
        keys = pa.table({name: ordered.rows.column(name).take(first) for name in names})
        results = self.slices.insert(rows, keys, slide.end, watermark)
        return ends_table(self.definition, ordered, slide, results)

    def inserted(self) -> Any:
        """Return the rows that states by key have seen."""
        return self.history

    def make_room(self, rows: Any) -> None:
        """Rebuild the states by key, or give them up, if they cannot hold these rows."""
        if self.by_key.outgrown(rows):
            self.refill()

    def answers(self, known: Callable[[], Any], rows: Any, watermark: int | None) -> Any:
        """Return rows in time order with the new columns, folded with the rows known before."""
        self.make_room(rows)
        definition, rest = self.definition, self.by_key.rest
        if rest is definition or len(rows) == 0:
            return results_of(definition, of_same_keys(known(), rows, definition.by), rows)
        if rest is None:
            order = np.argsort(times_of(rows, definition.on), kind="stable")
            results = rows.take(pa.array(order))
        else:
            known_rows = of_same_keys(known(), rows, definition.by)
            results = results_of(definition, known_rows, rows, rest)
        for name, values in self.by_key.push(results, watermark).items():
            results = results.append_column(name, values)
        return results

    def settle(self, passed: Any, pending: Any, watermark: int) -> None:
        """Move to a watermark that passes some rows and leaves others pending."""
        if self.by_key.rest is None and self.reach is not None:
            # Nothing is folded from the history; it is only kept to be saved.
            self._add(self.read(passed).combine_chunks())
            self._forget(watermark - self.reach)
        else:
            history, self.pruned = self.grown(passed, watermark)
            self.history = history
        self.watermark, self.pending = watermark, pending

    def _add(self, rows: Any) -> None:
        if len(rows):
            self._parts.append(_Part(rows, self._newest(rows), rows.nbytes))
            self._held += len(rows)
            self._held_bytes += rows.nbytes

    def _forget(self, needed: int) -> None:
        """Drop parts that are not needed, oldest first, so that a batch checks only a few."""
        while self._parts:
            part = self._parts[0]
            if part.newest is None:
                part = self._parts[0] = replace(part, newest=self._newest(part.rows))
            if part.newest is None or part.newest > needed:
                return
            self._parts.popleft()
            self._held -= len(part.rows)
            self._held_bytes -= part.nbytes

    def _newest(self, rows: Any) -> int:
        return int(times_of(rows, self.definition.on).max(initial=OLDEST))

    def kept(self) -> Any:
        """Return all rows that are still needed; columns that are not needed are null."""
        if self.watermark is not None:
            self.history, self.pruned = self.prune(self.history, self.watermark, True)
        history = self.history
        for i, field in enumerate(self.pending.schema):
            if field.name not in history.column_names:
                missing = pa.nulls(len(history), field.type)
                history = history.add_column(min(i, len(history.columns)), field, missing)
        return pa.concat_tables([history.select(self.pending.column_names), self.pending])

    def horizon(self) -> int | None:
        """Return a time up to which no row is needed any more."""
        slide = self.definition.slide
        if self.watermark is None or (slide is not None and slide.counted):
            return None
        if self.reach is not None:
            return max(self.watermark - self.reach, OLDEST)
        if len(self.history) == 0:
            return self.watermark
        return max(int(times_of(self.history, self.definition.on).min()) - 1, OLDEST)

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows and states in bytes."""
        return int(self._held_bytes + self.pending.nbytes + self.by_key.nbytes)

    def read(self, rows: Any) -> Any:
        """Return the used columns and the row numbers."""
        return rows.select([*self.definition.used, NUMBER])

    def ordered(self, table: Any) -> Sorted:
        """Return rows in window order."""
        definition = self.definition
        numbers = numbers_of(table)
        return sort_table(table, definition.on, definition.by, definition.ties, numbers)

    def moved(self, pool: Any, watermark: int) -> tuple[Any, Any]:
        """Split rows by a watermark: those that it passes, and those after it."""
        passed = times_of(pool, self.definition.on) <= watermark
        return pool.filter(pa.array(passed)), pool.filter(pa.array(~passed)).combine_chunks()

    def grown(self, passed: Any, watermark: int) -> tuple[Any, int]:
        """Return the history with the passed rows, without rows that are not needed any more."""
        return self.prune(pa.concat_tables([self.history, self.read(passed)]), watermark)

    def prune(self, history: Any, watermark: int, always: bool = False) -> tuple[Any, int]:
        """Return the rows that windows after the watermark may hold, and the new `pruned`."""
        if self.reach is not None:
            keep = times_of(history, self.definition.on) > watermark - self.reach
            return history.filter(pa.array(keep)).combine_chunks(), 0
        if not always and len(history) <= max(2 * self.pruned, _FEW):
            return history.combine_chunks(), self.pruned
        ordered = self.ordered(history)
        frames = {window: window.frames(ordered.rows) for window in self.windows}
        slide = self.definition.slide
        multiple = slide.counted if slide is not None and slide.counted else 1
        places = needed_rows(ordered.rows, frames, watermark, multiple)
        if ordered.order is not None:
            places = np.sort(ordered.order[places])
        return history.take(pa.array(places)).combine_chunks(), len(places)
