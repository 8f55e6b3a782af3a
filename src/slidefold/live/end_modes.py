"""The results at the ends of windows, with `every=`, by `emit`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from slidefold.definition.rolling import Rolling
from slidefold.live.changes import changed_results, last_columns
from slidefold.live.lateness import times_of
from slidefold.live.native import Emitted, Native, nothing_to_settle
from slidefold.live.program import Program, restored
from slidefold.live.revisions import (
    first_revision,
    newer_ends,
)
from slidefold.live.row_modes import LastResults
from slidefold.live.snapshot import require_last


class NativeEnds(Native):
    """`every=` with `emit="final"`: results at ends that the watermark has passed."""

    waits = True

    def ends(self, found: Any) -> dict[str, Any]:
        """Return the keys and bounds of results."""
        batch = pa.RecordBatch._import_from_c_capsule(*found)
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        return {
            name: restored(self.empty.schema.field(name).type, values)
            if name in self.definition.by
            else values
            for name, values in columns.items()
        }

    def emitted(self, rows: Any, first: int, late: Any, numbers: Any, features: Any) -> Emitted:
        """Return the results that are ready."""
        ends = pa.table(self.ends(numbers))
        self.require_fit(ends)
        return self.paired(self.joined(ends, features))

    def paired(self, results: Any) -> Emitted:
        """Return what comes out of the results that are ready."""
        return results, nothing_to_settle

    @property
    def none(self) -> Any:
        """Return an empty table of results."""
        ends = self._ends()
        features = self.complete(ends, self.features(self.core.rows_of(0)))
        return pa.table({**ends, **features})

    def horizon(self) -> int | None:
        """Return a time up to which no row is needed any more."""
        slide = self.definition.slide
        assert slide is not None
        return None if slide.counted else super().horizon()

    def next_due(self) -> int | None:
        """Return a watermark before which no result is ready without new rows."""
        slide: Any = self.definition.slide
        waits = [] if self.core.oldest_waiting is None else [self.core.oldest_waiting]
        if self.watermark is not None and self.rows > self.core.waiting:
            if slide.in_time:
                waits.append(slide.next_end(self.watermark, self.clock))
            elif any(window.ends for window in self.definition.windows):
                waits.append(self.watermark + 1)  # any of these windows may have ended by then
        return min(waits, default=None)


class NativeChangedEnds(LastResults, NativeEnds):
    """`every=` with `emit="change"`: final results that differ from the previous of their key."""

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        super().__init__(definition, empty, program)
        self.last = last_columns(definition, self.none)

    def paired(self, results: Any) -> Emitted:
        """Return the results that have changed."""
        emitted, now = changed_results(self.definition, self.last, results)

        def settle() -> None:
            self.last = now

        return emitted, settle


class NativeRevisedEnds(NativeEnds):
    """`every=` with `emit="revise"`: each end that a batch changes."""

    waits = False
    sided = True

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        super().__init__(definition, empty, program)
        self.results = first_revision(self.none)

    def paired(self, results: Any) -> Emitted:
        """Return new and changed results; ends that have passed are forgotten."""
        emitted, now = newer_ends(first_revision(results), self.results, self.definition)

        def settle() -> None:
            self.results = now
            if self.watermark is not None:
                alive = times_of(now, "window_end") > self.watermark
                self.results = now.filter(pa.array(alive)).combine_chunks()

        return emitted, settle

    def horizon(self) -> int | None:
        """Return None, because the last results are not in the rows."""
        return None

    def next_due(self) -> int | None:
        """Return None, because no row waits."""
        return None

    def last_results(self) -> Any:
        """Return the last results, which cannot be computed from the rows."""
        return self.results

    def fill_last(self, last: Any) -> None:
        """Set the last results."""
        self.results = require_last(last, self.results)

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows and results in bytes."""
        return super().nbytes + int(self.results.nbytes)


ENDS: dict[str, type[Native]] = {
    "final": NativeEnds,
    "change": NativeChangedEnds,
    "revise": NativeRevisedEnds,
}
