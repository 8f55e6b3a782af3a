"""`emit="final"`: emit each result once, when the watermark has passed it.

Rows after the watermark are pending. When it passes them, they are added to the states by key, or
the batch kernel folds them together with the earlier rows of their keys that windows still hold.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.engine import slide_table
from slidefold.errors import ResultOverflowError
from slidefold.live.frames import OLDEST, of_same_keys
from slidefold.live.kept import Kept
from slidefold.live.lateness import times_of


class Final(Kept):
    """The rows that wait, and the rows that later windows need."""

    once = True

    @property
    def waiting(self) -> int:
        """Return the number of rows without a result."""
        return len(self.pending)

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add rows, move the watermark, and return the results that are now final."""
        pool = pa.concat_tables([self.pending, rows])
        if watermark is None:
            self.pending = pool
            return self.fold(pool.slice(0, 0), OLDEST)
        due, pending = self.moved(pool, watermark)
        try:
            results = self.folded(lambda: self.fold(due, watermark))
        except BaseException:
            self.refill()
            raise
        self.settle(due, pending, watermark)
        return results

    def fold(self, due: Any, watermark: int) -> Any:
        """Return the results that become final when the watermark passes these rows."""
        definition = self.definition
        if definition.slide is None:
            return self.answers(lambda: self.history, due, watermark)
        since = OLDEST if self.watermark is None else self.watermark
        if self.slices is not None:
            try:
                return self._from_slices(due, since, watermark)
            except ResultOverflowError:
                # A slice may overflow at a row that no end reports, so fold from the rows instead.
                self.give_up_states()
        rows = pa.concat_tables([self._ending(due, since, watermark), self.read(due)])
        ordered = self.ordered(rows)
        slide = definition.slide.slide(ordered.rows, self.windows, (since, watermark))
        results = slide_table(definition, ordered, slide)
        return results.take(pa.array(np.argsort(slide.end, kind="stable")))

    def _from_slices(self, due: Any, since: int, watermark: int) -> Any:
        """Insert rows into slices, and return the results at the ends that the watermark passes."""
        slide: Any = self.definition.slide
        self.make_room(due)
        slices = self.slices
        assert slices is not None
        if slide.next_end(since, self.clock) > watermark:
            slices.push(due, watermark)
            return self.none
        ordered = slices.ordered(due)
        ends = slide.slide(ordered.rows, self.windows, (since, watermark))
        if len(ends.end) == 0:
            slices.push(due, watermark)
            results = self.none
        else:
            results = self.sliced(due, ordered, ends, watermark)
            slices.note(due)
            results = results.take(pa.array(np.argsort(ends.end, kind="stable")))
        slices.forget(watermark)
        return results

    @cached_property
    def none(self) -> Any:
        """Return an empty table of results."""
        ordered = self.ordered(self.read(self.pending.slice(0, 0)))
        slide = self.definition.slide
        assert slide is not None
        return slide_table(self.definition, ordered, slide.slide(ordered.rows, self.windows))

    def _ending(self, due: Any, since: int, watermark: int) -> Any:
        """Return the history of keys that may have an end between two watermarks."""
        slide: Any = self.definition.slide
        if slide.in_time:
            ends = slide.next_end(since, self.clock) <= watermark
            return self.history if ends else self.history.slice(0, 0)
        if slide.whole and any(window.ends for window in self.windows):
            return self.history  # these windows end without a new row
        return of_same_keys(self.history, due, self.definition.by)

    def next_due(self) -> int | None:
        """Return a watermark before which no result is ready without new rows."""
        waits = []
        if len(self.pending):
            waits.append(int(times_of(self.pending, self.definition.on).min()))
        if self.watermark is not None and self.rows > len(self.pending):
            slide: Any = self.definition.slide
            if slide is not None and slide.in_time:
                waits.append(slide.next_end(self.watermark, self.clock))
            elif slide is not None and any(window.ends for window in self.windows):
                waits.append(self.watermark + 1)  # any of these windows may have ended by then
        return min(waits, default=None)
