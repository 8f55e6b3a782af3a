"""A pipeline as a Spark stream: it continues from its checkpoint."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from slidefold.cli.local import tell
from slidefold.cli.on_spark import remove, source_frame, spark_session
from slidefold.cli.output import Output
from slidefold.cli.pipeline import Pipeline
from slidefold.cli.pipeline.settings import SPARK
from slidefold.windows.durations import nanoseconds

METRICS = "slidefold"


def stream_spark(pipeline: Pipeline, out: Output, replace: bool, master: str, follow: bool) -> None:
    """Run a pipeline as a stream: over what is there, or with `follow` until it is stopped."""
    settings, sink = pipeline.stream, pipeline.sink
    assert settings.checkpoint is not None
    if replace:
        remove(Path(settings.checkpoint))
        if sink.path is not None:
            remove(sink.path)
    with spark_session(out, master) as session:
        start = perf_counter()
        data, _ = source_frame(session, pipeline, streaming=True)
        found = stream_frame(pipeline, data)
        query = start_query(pipeline, found, follow)
        done = watch(query, out)
        tell(pipeline, out, None, done["rows_in"], done["rows_out"], 0, perf_counter() - start)


def stream_frame(pipeline: Pipeline, data: Any, late: str | None = None) -> Any:
    """Return the streaming DataFrame of the results."""
    from slidefold.spark import files

    settings, on = pipeline.stream, pipeline.features.on
    options: dict[str, Any] = {"emit": settings.emit, "late": late or settings.late}
    if settings.checkpoint is not None:
        options["checkpoint"] = settings.checkpoint
    if settings.id:
        options["id"] = settings.id
    naive = files.is_naive(data, on)
    zoned = files.with_zone(data, [on]) if naive else data
    watermarked = zoned.withWatermark(on, delay_of(settings.watermark))
    found = pipeline.features.run(watermarked, metrics=METRICS, **options)
    return files.without_zone(found, [on, "window_start", "window_end"]) if naive else found


def delay_of(watermark: str | int | None) -> str:
    """A duration as Spark spells it; it counts in milliseconds, so a part of one is a whole.

    >>> delay_of("1h30m")
    '5400000 milliseconds'
    """
    assert isinstance(watermark, str)
    return f"{-(-nanoseconds(watermark) // 10**6)} milliseconds"


def start_query(pipeline: Pipeline, found: Any, follow: bool) -> Any:
    """Start the query that writes the sink."""
    from slidefold.spark import files

    sink = pipeline.sink
    name = sink.format.removeprefix(SPARK)
    path = sink.url if sink.path is None else str(sink.path.absolute())
    assert pipeline.stream.checkpoint is not None
    checkpoint = pipeline.stream.checkpoint
    options = dict(sink.options)
    if name == "console":
        options = {"numRows": str(sink.limit or 20), "truncate": "false"}
    return files.start_stream(found, name, path, options, checkpoint, follow=follow)


def watch(query: Any, out: Output) -> dict[str, int]:
    """Wait for a query, say what its batches do, and return the sums; stopped, it stops."""
    total = {"rows_in": 0, "rows_out": 0, "late": 0}
    told = -1
    try:
        with out.working("streaming") as bar:
            ended = False
            while not ended:
                # Waiting in here and not in Java, where Ctrl-C would break the connection.
                time.sleep(0.3)
                ended = not query.isActive
                for progress in query.recentProgress:
                    if progress.batchId <= told:
                        continue
                    told = progress.batchId
                    counts = progress.observedMetrics.get(METRICS)
                    batch = {name: int(getattr(counts, name, None) or 0) for name in total}
                    for name, count in batch.items():
                        total[name] += count
                    said = ", ".join(f"{count:,} {name}" for name, count in batch.items())
                    bar.tell(f"batch {told}: {said.replace('_', ' ')}")
                    facts = {"batch": told, "watermark": progress.eventTime.get("watermark")}
                    out.step("batch", f"batch {told}: {said.replace('_', ' ')}", **facts, **batch)
    except KeyboardInterrupt:
        with suppress(Exception):
            query.stop()
        raise KeyboardInterrupt("what was written is whole, and the next run goes on") from None
    query.awaitTermination()  # raises what the query failed of
    return total
