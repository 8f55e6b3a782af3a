"""Run a pipeline as a Spark stream, which resumes from its checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import pyarrow as pa

from slidefold.definition.windows.durations import nanoseconds
from slidefold.pipeline.file import Pipeline
from slidefold.pipeline.local import tell
from slidefold.pipeline.on_spark import remove, source_frame, spark_session
from slidefold.pipeline.reporting import Reporter
from slidefold.pipeline.settings import SPARK

METRICS = "slidefold"
_ALWAYS = ("rows_in", "rows_out", "late")  # shown for every batch, even if 0


def stream_spark(
    pipeline: Pipeline, out: Reporter, replace: bool, master: str, follow: bool
) -> Any:
    """Run a pipeline as a stream over the files that exist, or with `follow` until it is stopped.

    Returns the results if the sink is the memory.
    """
    settings, sink = pipeline.stream, pipeline.sink
    assert settings.checkpoint is not None
    if replace:
        # `load` refused remote paths.
        for path in (settings.checkpoint, sink.path or sink.url, pipeline.source.side):
            if path is not None:
                remove(Path(path))
    with spark_session(out, master) as session:
        start = perf_counter()
        data, parsed = source_frame(session, pipeline, streaming=True)
        shown = Shown(pipeline, out)
        queries = [start_query(pipeline, stream_frame(pipeline, data), follow, shown.arrive)]
        if parsed is not None and pipeline.source.side is not None:
            queries.append(start_side(pipeline, parsed, follow))
        total = watch(queries, out, shown)
        seconds = perf_counter() - start
        tell(pipeline, out, None, total["rows_in"], total["rows_out"], total["bad_rows"], seconds)
    return shown.table()


class Shown:
    """Results of a stream that stay in this process: printed batch by batch, or kept."""

    def __init__(self, pipeline: Pipeline, out: Reporter) -> None:
        self.sink, self.out = pipeline.sink, out
        self.arrived: SimpleQueue[Any] = SimpleQueue()  # filled by the thread of the query
        self.tables: list[Any] = []
        self.left = self.sink.limit

    def arrive(self, table: Any) -> None:
        """Queue the results of a batch."""
        self.arrived.put(table)

    def show(self) -> None:
        """Print or keep the queued results; the console prints at most its limit in total."""
        while not self.arrived.empty():
            table = self.arrived.get()
            if self.sink.format == "memory":
                self.tables.append(table)
                continue
            some = table.slice(0, self.left) if self.sink.limit else table
            self.left -= len(some)
            if len(some):
                self.out.rows(some.column_names, [list(row.values()) for row in some.to_pylist()])

    def table(self) -> Any:
        """Return the kept results."""
        return pa.concat_tables(self.tables) if self.tables else None


def stream_frame(pipeline: Pipeline, data: Any, late: str | None = None) -> Any:
    """Return the streaming DataFrame of the results."""
    from slidefold.spark import pipeline_io

    settings, on = pipeline.stream, pipeline.features.on
    options: dict[str, Any] = {"emit": settings.emit, "late": late or settings.late}
    if settings.checkpoint is not None:
        options["checkpoint"] = settings.checkpoint
    if settings.id:
        options["id"] = settings.id
    naive = pipeline_io.is_naive(data, on)
    zoned = pipeline_io.with_zone(data, [on]) if naive else data
    watermarked = zoned.withWatermark(on, delay_of(settings.watermark))
    results = pipeline.features.run(watermarked, metrics=METRICS, **options)
    if naive:
        return pipeline_io.without_zone(results, [on, "window_start", "window_end"])
    return results


def delay_of(watermark: str | int | None) -> str:
    """Return a duration in Spark's syntax, rounded up to milliseconds.

    >>> delay_of("1h30m")
    '5400000 milliseconds'
    """
    assert isinstance(watermark, str)
    return f"{-(-nanoseconds(watermark, zero=True) // 10**6)} milliseconds"


def start_query(
    pipeline: Pipeline, results: Any, follow: bool, keep: Callable[[Any], None] | None = None
) -> Any:
    """Start the query that writes the sink, or passes its batches to `keep`."""
    from slidefold.spark import pipeline_io

    sink = pipeline.sink
    name = sink.format.removeprefix(SPARK)
    path = sink.url if sink.path is None else str(sink.path.absolute())
    assert pipeline.stream.checkpoint is not None
    return pipeline_io.start_stream(
        results,
        name,
        path,
        sink.options,
        pipeline.stream.checkpoint,
        follow=follow,
        keep=keep if sink.kept else None,
    )


def start_side(pipeline: Pipeline, parsed: Any, follow: bool) -> Any:
    """Start the query that writes broken rows to a folder of text files."""
    from slidefold.spark import pipeline_io

    side, checkpoint = pipeline.source.side, f"{pipeline.stream.checkpoint}/bad_rows"
    assert side is not None
    lines = pipeline_io.bad_lines(parsed)
    return pipeline_io.start_stream(
        lines, "text", str(side.absolute()), {}, checkpoint, follow=follow
    )


def watch(queries: list[Any], out: Reporter, shown: Shown | None = None) -> dict[str, int]:
    """Wait for queries, report the batches of the first one, and return the total counts.

    If the wait is interrupted or a query fails, all queries are stopped.
    """
    total = dict.fromkeys((*_ALWAYS, "bad_rows"), 0)
    reported = -1
    try:
        with out.working("streaming") as bar:
            ended = False
            while not ended:
                # Wait in Python: Ctrl-C during a wait in Java would break the connection.
                time.sleep(0.3)
                failed = any(query.exception() is not None for query in queries)
                ended = failed or not any(query.isActive for query in queries)
                if shown is not None:
                    shown.show()
                for progress in queries[0].recentProgress:
                    if progress.batchId <= reported:
                        continue
                    reported = progress.batchId
                    batch = _counts(progress.observedMetrics)
                    for name, count in batch.items():
                        total[name] += count
                    shown_counts = [
                        f"{count:,} {name.replace('_', ' ')}"
                        for name, count in batch.items()
                        if name in _ALWAYS or count
                    ]
                    message = f"batch {reported}: {', '.join(shown_counts)}"
                    bar.tell(message)
                    facts = {"batch": reported, "watermark": progress.eventTime.get("watermark")}
                    out.step("batch", message, **facts, **batch)
    except KeyboardInterrupt:
        _stop(queries)
        raise KeyboardInterrupt(
            "the results so far are complete, and the next run resumes"
        ) from None
    if failed:
        _stop([query for query in queries if query.exception() is None])
    for query in queries:
        query.awaitTermination()  # raises the error of a failed query
    return total


def _stop(queries: list[Any]) -> None:
    for query in queries:
        with suppress(Exception):
            query.stop()


def _counts(observed: Any) -> dict[str, int]:
    """Return the counts of a batch from the metrics that Spark observed."""
    from slidefold.spark.pipeline_io import BAD

    counts = observed.get(METRICS)
    batch = {name: int(getattr(counts, name, None) or 0) for name in _ALWAYS}
    return {**batch, "bad_rows": int(getattr(observed.get(BAD), "rows", None) or 0)}
