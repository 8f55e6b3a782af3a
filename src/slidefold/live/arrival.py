"""`emit="arrival"`: emit each row with its batch, folded over all rows known by then."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from slidefold.live.kept import Kept


class Arrival(Kept):
    """The rows that windows after the watermark need; no row waits for a result."""

    waiting, once = 0, True

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add rows and return them with their results; then move the watermark."""
        try:
            results = self.folded(lambda: self.answers(self.inserted, rows, watermark))
        except BaseException:
            self.refill()
            raise
        pool = pa.concat_tables([self.pending, rows])
        if watermark is None:
            self.pending = pool.combine_chunks()
            return results
        self.settle(*self.moved(pool, watermark), watermark)
        return results

    def inserted(self) -> Any:
        """Return all rows, because each already has its result."""
        return pa.concat_tables([self.history, self.read(self.pending)])

    def next_due(self) -> int | None:
        """Return None, because no row waits."""
        return None
