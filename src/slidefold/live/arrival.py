"""`emit="arrival"`: each row in the batch it came with, over all rows known by then."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from slidefold.live.frames import of_same_keys, results_of
from slidefold.live.kept import Kept


class Arrival(Kept):
    """The rows that windows after the watermark need; none waits."""

    waiting = 0

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add rows and return them with their results; then move the watermark."""
        known = pa.concat_tables([self.history, self.read(self.pending)])
        known = of_same_keys(known, rows, self.definition.by)
        found = results_of(self.definition, known, rows)
        pool = pa.concat_tables([self.pending, rows])
        if watermark is None:
            self.pending = pool.combine_chunks()
            return found
        passed, pending = self.moved(pool, watermark)
        history, pruned = self.grown(passed, watermark)
        self.watermark, self.pruned = watermark, pruned
        self.history, self.pending = history, pending
        return found

    def next_due(self) -> int | None:
        """Return None: nothing waits."""
        return None
