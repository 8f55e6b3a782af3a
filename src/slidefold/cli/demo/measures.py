"""The runs of the demo: time them and compare their results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import pyarrow as pa

from slidefold.cli.comparing import Difference, compare
from slidefold.cli.output import Output
from slidefold.cli.parity import split_late, waiting_results
from slidefold.pipeline import Pipeline
from slidefold.pipeline.on_spark import source_frame, spark_session
from slidefold.pipeline.spark_stream import start_query, stream_frame, watch

BATCH = 500  # rows per batch
TOLERANCE = 1e-9
MASTER = "local[2]"
HOURS = (1, 6, 24)


@dataclass(frozen=True)
class Run:
    """One run: the engine, what it ran, and how long it took."""

    words: tuple[str, str]
    seconds: float  # not rounded
    rows: int

    @property
    def time(self) -> str:
        """The duration as text."""
        return f"{self.seconds:.3g} s"

    @property
    def speed(self) -> int:
        """Rows per second, rounded to three digits."""
        return int(float(f"{self.rows / self.seconds:.3g}"))


@dataclass(frozen=True)
class Parity:
    """A comparison with the batch in this process: what, how many results, whether all agree."""

    what: str
    results: int
    columns: int
    same: bool


@dataclass
class Measures:
    """The measurements of all runs."""

    runs: list[Run] = field(default_factory=list)
    samples: list[Run] = field(default_factory=list)  # of fewer rows, to tell start-up from work
    parities: list[Parity] = field(default_factory=list)
    batches: list[dict[str, Any]] = field(default_factory=list)  # of the stream in this process
    late: int = 0

    @contextmanager
    def timing(
        self, out: Output, engine: str, what: str, rows: int, *, sample: bool = False
    ) -> Iterator[None]:
        """Measure a run; a sample is a run of fewer rows."""
        start = perf_counter()
        with out.working(f"{engine}: {what}"):
            yield
        runs = self.samples if sample else self.runs
        runs.append(Run((engine, what), perf_counter() - start, rows))


def run_local(pipeline: Pipeline, table: Any, measures: Measures, out: Output) -> Any:
    """Run the whole table at once."""
    for part in (8, 4, 2):
        rows = table.slice(0, len(table) // part)
        with measures.timing(out, "this process", "batch", len(rows), sample=True):
            pipeline.features.run(rows)
    with measures.timing(out, "this process", "batch", len(table)):
        results = pipeline.features.run(table)
    run = measures.runs[-1]
    columns = len(pipeline.features.items)
    text = f"Batch: {columns} features for {len(table):,} rows in {run.time}."
    out.say("batch", text, rows=len(table), seconds=run.seconds)
    return results


def run_live(pipeline: Pipeline, table: Any, measures: Measures, out: Output) -> bool:
    """Feed the rows in order of arrival, and compare the results with those of the batch run."""
    assert pipeline.stream.watermark is not None
    live = pipeline.features.live(lateness=pipeline.stream.watermark, late="side")
    parts = []
    with measures.timing(out, "this process", "stream", len(table)):
        start = perf_counter()
        for first in range(0, len(table), BATCH):
            rows = table.slice(first, BATCH)
            parts.append(live.feed(rows))
            measures.batches.append(
                {
                    "recorded": rows["recorded"][-1].as_py(),
                    "newest": rows["departed"].to_numpy().max(),
                    "watermark": live.watermark,
                    "late": live.late,
                    "pending": live.pending,
                    "bytes": live.nbytes,
                    "rows": first + len(rows),
                    "seconds": perf_counter() - start,
                }
            )
        parts.append(live.finish())
    measures.late = live.late
    most = max(batch["bytes"] for batch in measures.batches)
    out.say(
        "live",
        f"Stream: the same rows in order of arrival, {BATCH:,} per batch, final results only: "
        f"{measures.runs[-1].time}.\n{live.late:,} rows were late. The state took at most "
        f"{most / 1e3:.0f} kB.",
        late=live.late,
        seconds=measures.runs[-1].seconds,
        most_bytes=most,
    )
    accepted, in_time = split_late(table, pa.concat_tables(parts))
    return _same(pipeline, measures, out, "the stream in this process", accepted, in_time)


def run_spark(pipeline: Pipeline, table: Any, measures: Measures, out: Output) -> bool:
    """Run the file on Spark as a batch and as a stream, and time Spark's own windows too."""
    with spark_session(out, MASTER) as session:
        frame, _ = source_frame(session, pipeline, streaming=False)
        frame.count()  # warm up Spark, so that the start is not timed
        few = min(1000, len(table))
        with measures.timing(out, "Spark", "batch", few, sample=True):
            pipeline.features.run(frame.limit(few)).toArrow()
        with measures.timing(out, "Spark", "batch", len(table)):
            results = pipeline.features.run(frame).toArrow()
        run = measures.runs[-1]
        text = f"Batch: {len(results):,} rows in {run.time}."
        out.say("spark_batch", text, rows=len(results), seconds=run.seconds)
        same = _same(pipeline, measures, out, "the batch on Spark", table, results)
        with measures.timing(out, "Spark", "stream", len(table)):
            stream, _ = source_frame(session, pipeline, streaming=True)
            query = start_query(pipeline, stream_frame(pipeline, stream, "side"), follow=False)
            counts = watch([query], out)
        emitted = session.read.parquet(str(pipeline.sink.path)).toArrow()
        accepted, in_time = split_late(table, emitted)
        waiting = waiting_results(pipeline, stream, session)
        out.say(
            "spark_stream",
            f"Stream: {counts['rows_in']:,} rows in, {len(in_time):,} final results, "
            f"{counts['late']:,} late rows;\n{len(waiting):,} rows of the last hours still wait "
            "for the watermark; their results are read from the checkpoint.",
            rows_in=counts["rows_in"],
            rows_out=counts["rows_out"],
            late=counts["late"],
        )
        whole = pa.concat_tables([in_time, waiting.cast(in_time.schema)])
        same &= _same(pipeline, measures, out, "the stream on Spark", accepted, whole)
        _own_windows(pipeline, frame, len(table), measures, out)
    return same


def _own_windows(
    pipeline: Pipeline, frame: Any, rows: int, measures: Measures, out: Output
) -> None:
    """Compute the same columns with Spark's own windows, to time them."""
    from slidefold.spark.demonstration import over_windows

    what, few = "its own windows (OVER), batch", min(1000, rows)
    with measures.timing(out, "Spark", what, few, sample=True):
        on, by = pipeline.features.on, pipeline.features.by
        over_windows(frame.limit(few), on, by, HOURS).toArrow()
    with measures.timing(out, "Spark", what, rows):
        over_windows(frame, pipeline.features.on, pipeline.features.by, HOURS).toArrow()
    run = measures.runs[-1]
    copies = 24 * 60
    out.say(
        "own_windows",
        f"Spark's own windows took {run.time} for the same columns as a batch. Spark does not "
        f"support them on a stream;\nits window(24 h, 1 min) would copy each row {copies:,} times "
        "and give no result per departure.",
        seconds=run.seconds,
        copies=copies,
    )


def _same(
    pipeline: Pipeline,
    measures: Measures,
    out: Output,
    what: str,
    accepted: Any,
    results: Any,
) -> bool:
    expected = pipeline.features.run(accepted)
    columns = list(pipeline.features.columns)
    names = [name for name in expected.column_names if name not in columns]
    difference: Difference | None = compare(expected, results, names, columns, TOLERANCE)
    measures.parities.append(Parity(what, len(results), len(columns), difference is None))
    if difference is None:
        count = len(results)
        text = f"Parity: {what} gives the same {count:,} results as the batch in this process."
        out.say("parity", text, "green", what=what, rows=count, same=True)
    else:
        out.say("parity", f"Parity: {what}: {difference}", "red", what=what, same=False)
    return difference is None
