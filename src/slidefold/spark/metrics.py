"""What a streaming query did, batch by batch: a listener that adds it up and tells it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from slidefold.spark.bucket import Counts

# These say how something is, and not what was done: they are not added up.
_LEVELS = ("pending", "entries", "log_rows")


class Metrics(StreamingQueryListener):
    """Counts of all queries with slidefold in them: add it with `spark.streams.addListener`.

    `totals` has a dict for each query by its id, `tell` is called with a line for each batch. Rows
    in, out and late are counted, bytes written to the state, engines that were in the worker
    (`hits`), that had to catch up or to be rebuilt, and seconds. `pending`, `entries` and
    `log_rows` are of the buckets that the last batch touched.
    """

    def __init__(self, tell: Callable[[str], None] | None = None, name: str = "slidefold") -> None:
        self.totals: dict[str, dict[str, float]] = {}
        self.tell, self.name = tell, name

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Start with nothing."""
        self.totals.setdefault(str(event.id), {})

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Add the counts of a batch."""
        progress = event.progress
        found: Any = progress.observedMetrics.get(self.name)
        if found is None:
            return
        batch = {field.name: found[field.name] for field in fields(Counts)}
        if not any(batch.values()):  # no bucket was touched, so that none says how it is
            return
        total = self.totals.setdefault(str(progress.id), {})
        for name, value in batch.items():
            total[name] = value if name in _LEVELS else total.get(name, 0) + value
        if self.tell is not None:
            self.tell(line(progress.batchId, batch))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing happened."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """The totals stay."""


def line(batch: int, counts: dict[str, Any]) -> str:
    """Return the counts of a batch in one line.

    >>> from dataclasses import asdict
    >>> line(7, asdict(Counts(rows_in=100, rows_out=90, late=2, hits=3, rebuilds=1, seconds=0.25)))
    'batch 7: 100 in, 90 out, 2 late, 0 pending; engines: 3 hits, 0 catch-ups, 1 rebuilds; 0.25 s'
    """
    return (
        f"batch {batch}: {counts['rows_in']} in, {counts['rows_out']} out, {counts['late']} late, "
        f"{counts['pending']} pending; engines: {counts['hits']} hits, "
        f"{counts['catch_ups']} catch-ups, {counts['rebuilds']} rebuilds; "
        f"{counts['seconds']:.2f} s"
    )
