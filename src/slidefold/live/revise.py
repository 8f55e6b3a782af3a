"""`emit="revise"`: emit results at once, and again with the next `revision` when they change.

The result of a row after the watermark can still change, so its last result is kept. A batch is
folded together with the rows of its keys. An earlier row is folded again only if its window holds a
new row or starts right after one (a new mark ends a window and is not in the next one). So the cost
depends on the windows of the keys in the batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Frames
from slidefold.live.frames import in_order, of_same_keys, results_at, with_later
from slidefold.live.kept import Kept
from slidefold.live.numbered import NUMBER, numbers_of
from slidefold.live.same import same_rows
from slidefold.live.side import require_side

REVISION = "revision"


class Revise(Kept):
    """The rows that windows need, and the last results of rows that can still change."""

    waiting, once = 0, True

    def __init__(self, definition: Rolling, rows: Any) -> None:
        """Start from an empty table."""
        super().__init__(definition, rows)
        self.names = list(definition.columns)
        empty = self._results(rows, None)
        self.results = empty.select([NUMBER, *self.names, REVISION])

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add rows, return new and changed results, then move the watermark."""
        try:
            folded = self.folded(lambda: self._results(rows, watermark))
            emitted, results = newer_results(folded, self.results, self.names)
        except BaseException:
            self.refill()
            raise
        pool = pa.concat_tables([self.pending, rows]).combine_chunks()
        if watermark is None:
            self.pending, self.results = pool, results
            return emitted
        passed, pending = self.moved(pool, watermark)
        alive = np.isin(numbers_of(results), numbers_of(pending))
        self.settle(passed, pending, watermark)
        self.results = results.filter(pa.array(alive)).combine_chunks()
        return emitted

    def inserted(self) -> Any:
        """Return all rows, because each already has a result."""
        return pa.concat_tables([self.history, self.read(self.pending)])

    def _results(self, rows: Any, watermark: int | None) -> Any:
        """Return the results of new rows and of pending rows whose windows they touch."""
        self.make_room(rows)
        definition, rest = self.definition, self.by_key.rest
        # Neither states by key nor the search for touched rows need the history.
        history = self.read(rows).slice(0, 0)
        if rest is not None:
            history = of_same_keys(self.history, rows, definition.by)
        pending = of_same_keys(self.pending, rows, definition.by)
        past, first = len(history), len(history) + len(pending)
        ordered = in_order(definition, history, pending, rows)
        origin = np.arange(len(ordered.rows)) if ordered.order is None else ordered.order
        frames = {window: window.frames(ordered.rows) for window in self.windows}
        fresh = origin >= first
        touched = (touches(frames.values(), fresh) | fresh) & (origin >= past)
        pool = pa.concat_tables([pending, rows])
        results = results_at(rest, ordered, frames, np.flatnonzero(touched), pool, past)
        new = np.isin(numbers_of(results), numbers_of(rows))
        for name, values in self.by_key.push(results, watermark, new).items():
            results = results.append_column(name, values)
        for name in self.names:
            if name not in results.column_names:  # nothing was pushed
                results = results.append_column(name, pa.nulls(len(results)))
        return results.append_column(REVISION, pa.array(np.zeros(len(results), np.int64)))

    def horizon(self) -> int | None:
        """Return None, because the last results are not in the rows."""
        return None

    def next_due(self) -> int | None:
        """Return None, because no row waits."""
        return None

    def side(self) -> Any:
        """Return the last results of pending rows, in row order."""
        return self.results.drop_columns([NUMBER])

    def fill_side(self, side: Any) -> None:
        """Set the last results of the pending rows."""
        side = require_side(side, self.side(), len(self.pending))
        self.results = side.add_column(0, NUMBER, self.pending[NUMBER])

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows and results in bytes."""
        return super().nbytes + int(self.results.nbytes)


def newer_results(folded: Any, results: Any, names: list[str]) -> tuple[Any, Any]:
    """Return the results that differ from the last ones, and the updated last results."""
    before = numbers_of(results)  # ascending
    own = numbers_of(folded)
    place = np.searchsorted(before, own)
    known = place < len(before)
    known[known] = before[place[known]] == own[known]
    then = results.take(pa.array(np.where(known, place, 0), mask=~known))
    changed = ~known | ~same_rows(folded, then, names)
    emitted = next_revision(folded, then, changed, known)
    stays = ~np.isin(before, numbers_of(emitted))
    newer = emitted.select(results.column_names)
    both = with_later(results.filter(pa.array(stays)), newer)
    return emitted, both.take(pa.array(np.argsort(numbers_of(both)))).combine_chunks()


def touches(frames: Iterable[Frames], fresh: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Tell which frames hold a fresh row or start right after one."""
    before = np.concatenate(([0], np.cumsum(fresh)))
    touched: Any = False
    for lo, hi in frames:
        touched = touched | (before[hi] > before[lo])
        touched = touched | ((lo > 0) & np.append(fresh, False)[lo - 1])
    return touched  # type: ignore[no-any-return]


def next_revision(
    now: Any, then: Any, changed: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_]
) -> Any:
    """Return the changed results with revisions that follow those of `then`."""
    last = then[REVISION].combine_chunks().fill_null(-1).to_numpy(zero_copy_only=False)
    place = now.column_names.index(REVISION)
    counted = now.set_column(place, REVISION, pa.array(np.where(known, last + 1, 0)))
    return counted.filter(pa.array(changed))
