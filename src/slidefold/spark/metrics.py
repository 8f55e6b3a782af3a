"""A listener that adds up the counts of streaming queries, batch by batch."""

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

# These are levels, not counts of work, so they are not added up.
_LEVELS = ("pending", "entries", "log_rows")


class Metrics(StreamingQueryListener):
    """Counts of all slidefold queries; register it with `spark.streams.addListener`.

    `totals` maps the id of each query to a dict of counts, and `tell` is called with one line per
    batch. The counts are rows in, rows out, late rows, bytes written to the state, engines that
    were cached (`hits`), caught up or rebuilt, and seconds. `pending`, `entries` and `log_rows`
    describe the buckets that the last batch touched.
    """

    def __init__(self, tell: Callable[[str], None] | None = None, name: str = "slidefold") -> None:
        self.totals: dict[str, dict[str, float]] = {}
        self.tell, self.name = tell, name

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Start with empty totals."""
        self.totals.setdefault(str(event.id), {})

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Add the counts of a batch."""
        progress = event.progress
        observed: Any = progress.observedMetrics.get(self.name)
        if observed is None:
            return
        batch = {field.name: observed[field.name] for field in fields(Counts)}
        if not any(batch.values()):  # the batch touched no bucket: keep the last levels
            return
        total = self.totals.setdefault(str(progress.id), {})
        for name, value in batch.items():
            total[name] = value if name in _LEVELS else total.get(name, 0) + value
        if self.tell is not None:
            self.tell(line(progress.batchId, batch))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Keep the totals."""


def line(batch: int, counts: dict[str, Any]) -> str:
    """Format the counts of a batch as one line.

    >>> from dataclasses import asdict
    >>> line(7, asdict(Counts(rows_in=100, rows_out=90, late=2, hits=3, rebuilds=1, seconds=0.25)))
    'batch 7: 100 in, 90 out, 2 late, 0 pending; engines: 3 hits, 0 catch-ups, 1 rebuilds; 0.25 s'
    """
    overflows = f", {counts['overflows']} overflows" if counts["overflows"] else ""
    return (
        f"batch {batch}: {counts['rows_in']} in, {counts['rows_out']} out, {counts['late']} late, "
        f"{counts['pending']} pending{overflows}; engines: {counts['hits']} hits, "
        f"{counts['catch_ups']} catch-ups, {counts['rebuilds']} rebuilds; "
        f"{counts['seconds']:.2f} s"
    )
