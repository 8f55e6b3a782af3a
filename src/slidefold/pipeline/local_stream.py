"""Stream a pipeline in this process: files in order of age, as a stream on Spark reads them."""

from __future__ import annotations

from contextlib import ExitStack
from time import perf_counter
from typing import Any

import pyarrow as pa

from slidefold.pipeline.file import Pipeline
from slidefold.pipeline.local import open_targets, read, tell
from slidefold.pipeline.reporting import Reporter


def stream_local(pipeline: Pipeline, out: Reporter, replace: bool) -> Any:
    """Feed a pipeline batch by batch; the end of the source makes all results final.

    Returns the results if the sink is the console or the memory.
    """
    start = perf_counter()
    settings = pipeline.stream
    assert settings.watermark is not None
    live = pipeline.features.live(
        lateness=settings.watermark, emit=settings.emit, late=settings.late, id=settings.id
    )
    rows_in = rows_out = batches = 0
    shown: list[Any] = []
    with ExitStack() as opened:
        broken, sink = open_targets(pipeline, opened, replace)

        def deliver(results: Any) -> None:
            nonlocal rows_out
            rows_out += len(results)
            if sink is not None:
                sink.write(results)
            elif pipeline.sink.wants(sum(map(len, shown))):
                shown.append(results)

        deliver(live.feed(pipeline.schema.empty_table()))  # an empty sink still has columns
        for table in read(pipeline, out, broken):
            for first in range(0, len(table), settings.batch):
                batch = table.slice(first, settings.batch)
                deliver(live.feed(batch))
                rows_in, batches = rows_in + len(batch), batches + 1
        deliver(live.finish())
        broken.flush()
    seconds = perf_counter() - start
    late = f", {live.late:,} late" if live.late else ""
    out.step(
        "streamed",
        f"processed {rows_in:,} rows in {batches:,} batches{late}",
        rows=rows_in,
        batches=batches,
        late=live.late,
    )
    results = pa.concat_tables(shown) if shown else None
    tell(pipeline, out, results, rows_in, rows_out, broken.count, seconds)
    return results
