"""Rows in the order in which their files came, in this process: what a stream on Spark does."""

from __future__ import annotations

from contextlib import ExitStack
from time import perf_counter
from typing import Any

import pyarrow as pa

from slidefold.pipeline.file import Pipeline
from slidefold.pipeline.local import open_targets, read, tell
from slidefold.pipeline.reporting import Reporter


def stream_local(pipeline: Pipeline, out: Reporter, replace: bool) -> Any:
    """Feed a pipeline batch by batch; at the end no more rows come, and all is final.

    Returns what is shown or kept, if it is not written.
    """
    start = perf_counter()
    settings = pipeline.stream
    assert settings.watermark is not None
    live = pipeline.features.live(
        lateness=settings.watermark, emit=settings.emit, late=settings.late, id=settings.id
    )
    taken = made = batches = 0
    shown: list[Any] = []
    with ExitStack() as opened:
        broken, sink = open_targets(pipeline, opened, replace)

        def deliver(found: Any) -> None:
            nonlocal made
            made += len(found)
            if sink is not None:
                sink.write(found)
            elif pipeline.sink.wants(sum(map(len, shown))):
                shown.append(found)

        deliver(live.feed(pipeline.schema.empty_table()))  # a sink without rows has columns
        for table in read(pipeline, out, broken):
            for first in range(0, len(table), settings.batch):
                batch = table.slice(first, settings.batch)
                deliver(live.feed(batch))
                taken, batches = taken + len(batch), batches + 1
        deliver(live.finish())
        broken.flush()
    seconds = perf_counter() - start
    late = f", {live.late:,} late" if live.late else ""
    out.step(
        "streamed",
        f"fed {taken:,} rows in {batches:,} batches{late}",
        rows=taken,
        batches=batches,
        late=live.late,
    )
    found = pa.concat_tables(shown) if shown else None
    tell(pipeline, out, found, taken, made, broken.count, seconds)
    return found
