"""`emit="revise"` with `every=` in time: emit each end that a batch changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.engine import slide_table
from slidefold.definition.rolling import Rolling
from slidefold.errors import ResultOverflowError
from slidefold.live.frames import NEWEST, OLDEST, groups_of, in_order, of_same_keys, with_later
from slidefold.live.kept import Kept
from slidefold.live.lateness import times_of
from slidefold.live.revise import REVISION, next_revision, touches
from slidefold.live.same import same_rows
from slidefold.live.side import require_side

_END = "window_end"


class ReviseEnds(Kept):
    """The rows that windows need, and the last results at ends that can still change."""

    waiting, once = 0, True

    def __init__(self, definition: Rolling, rows: Any) -> None:
        """Start from an empty table."""
        super().__init__(definition, rows)
        self.names = list(definition.columns)
        slide: Any = definition.slide
        if not slide.covers(self.windows, self.clock):
            # A new row may change an end even if the largest window there does not hold it.
            self.give_up_states()
        self.results = self._results(rows, None)

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add rows, return the results at ends that they change, then move the watermark."""
        try:
            emitted, results = newer_ends(
                self._results(rows, watermark), self.results, self.definition
            )
        except BaseException:
            self.refill()
            raise
        pool = pa.concat_tables([self.pending, rows]).combine_chunks()
        if watermark is None:
            self.pending, self.results = pool, results
            return emitted
        passed, pending = self.moved(pool, watermark)
        alive = times_of(results, _END) > watermark
        self.settle(passed, pending, watermark)
        self.results = results.filter(pa.array(alive)).combine_chunks()
        return emitted

    def inserted(self) -> Any:
        """Return all rows, because each is already part of results."""
        return pa.concat_tables([self.history, self.read(self.pending)])

    def _results(self, rows: Any, watermark: int | None) -> Any:
        """Return the results at ends whose windows hold new rows, in time order."""
        if self.slices is not None and len(rows):
            try:
                results = self._from_slices(rows, watermark)
            except ResultOverflowError:
                # A slice may overflow at a row that no end reports, so fold from the rows instead.
                self.give_up_states()
                results = self._from_rows(rows)
        else:
            results = self._from_rows(rows)
        results = results.take(pa.array(np.argsort(times_of(results, _END), kind="stable")))
        return results.append_column(REVISION, pa.array(np.zeros(len(results), np.int64)))

    def _from_slices(self, rows: Any, watermark: int | None) -> Any:
        definition = self.definition
        assert definition.slide is not None
        self.make_room(rows)
        assert self.slices is not None
        # The new rows are enough to find the windows that hold one.
        ordered = in_order(definition, rows)
        since = OLDEST if self.watermark is None else self.watermark
        slide = definition.slide.slide(ordered.rows, self.windows, (since, NEWEST))
        results = self.sliced(rows, ordered, slide, watermark)
        self.slices.parts.clear()  # keys without a new row are never needed
        return results

    def _from_rows(self, rows: Any) -> Any:
        definition = self.definition
        assert definition.slide is not None
        known = pa.concat_tables([self.history, self.read(self.pending)])
        known = of_same_keys(known, rows, definition.by)
        ordered = in_order(definition, known, rows)
        origin = np.arange(len(ordered.rows)) if ordered.order is None else ordered.order
        since = OLDEST if self.watermark is None else self.watermark
        slide = definition.slide.slide(ordered.rows, self.windows, (since, NEWEST))
        chosen = np.flatnonzero(touches(slide.frames.values(), origin >= len(known)))
        slide = replace(
            slide,
            group=slide.group[chosen],
            start=slide.start[chosen],
            end=slide.end[chosen],
            frames={w: (lo[chosen], hi[chosen]) for w, (lo, hi) in slide.frames.items()},
        )
        return slide_table(definition, ordered, slide)

    def horizon(self) -> int | None:
        """Return None, because the last results are not in the rows."""
        return None

    def next_due(self) -> int | None:
        """Return None, because no row waits."""
        return None

    def side(self) -> Any:
        """Return the last results, which cannot be computed from the rows."""
        return self.results

    def fill_side(self, side: Any) -> None:
        """Set the last results."""
        self.results = require_side(side, self.results)

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows and results in bytes."""
        return super().nbytes + int(self.results.nbytes)


def newer_ends(folded: Any, results: Any, definition: Rolling) -> tuple[Any, Any]:
    """Return the results that differ from the last ones at their ends, and all last ones."""
    past = len(results)
    both = with_later(results, folded).combine_chunks()
    groups = groups_of(both, definition.by)
    ends = times_of(both, _END)
    order = np.lexsort((np.arange(len(both)), ends, groups))  # the earlier result first
    again = np.zeros(len(both), np.bool_)
    again[1:] = (np.diff(groups[order]) == 0) & (np.diff(ends[order]) == 0)
    earlier = np.full(len(both), -1)
    earlier[order[1:]] = np.where(again[1:], order[:-1], -1)
    place = earlier[past:]
    known = place >= 0
    then = both.take(pa.array(np.where(known, place, 0), mask=~known))
    changed = ~known | ~same_rows(folded, then, list(definition.columns))
    emitted = next_revision(folded, then, changed, known)
    stays = np.ones(past, np.bool_)
    stays[place[known & changed]] = False
    newer = with_later(results.filter(pa.array(stays)), emitted)
    return emitted, newer.combine_chunks()
