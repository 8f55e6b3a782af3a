"""The runs of the demo: time them and compare their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
YEARS = 4  # the larger size on Spark: the same records again, each time a year later


@dataclass(frozen=True)
class Run:
    """One run: the engine, what it ran, and how long it took."""

    words: tuple[str, str]
    seconds: float  # not rounded
    rows: int
    again: bool = False  # not the first run: what the first one starts is there already

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
    parities: list[Parity] = field(default_factory=list)
    batches: list[dict[str, Any]] = field(default_factory=list)  # of the stream in this process
    late: int = 0

    @contextmanager
    def timing(
        self, out: Output, engine: str, what: str, rows: int, *, again: bool = False
    ) -> Iterator[None]:
        """Measure a run."""
        start = perf_counter()
        with out.working(f"{engine}: {what}, {rows:,} rows"):
            yield
        self.runs.append(Run((engine, what), perf_counter() - start, rows, again))

    def costs(self) -> Iterator[tuple[str, str, int, Run | None, Run | None]]:
        """Yield engine, what, rows, and the first and the later run, of each work that was done."""
        for words, rows in dict.fromkeys((run.words, run.rows) for run in self.runs):
            same = [run for run in self.runs if (run.words, run.rows) == (words, rows)]
            first, again = (
                next((run for run in same if run.again is later), None) for later in (False, True)
            )
            if first or rows > self.most:  # smaller ones are for the chart
                yield *words, rows, first, again

    @property
    def most(self) -> int:
        """The number of rows of the demo; runs of other sizes tell start-up from work."""
        return max((run.rows for run in self.runs if not run.again), default=0)


def run_local(pipeline: Pipeline, table: Any, measures: Measures, out: Output) -> Any:
    """Run the whole table at once."""
    with measures.timing(out, "this process", "batch", len(table)):
        results = pipeline.features.run(table)
    run = measures.runs[-1]
    for part in (1, 2, 4, 8):
        rows = table.slice(0, len(table) // part)
        with measures.timing(out, "this process", "batch", len(rows), again=True):
            pipeline.features.run(rows)
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
    from slidefold.spark.demonstration import replayed

    with spark_session(out, MASTER) as session:
        frame, _ = source_frame(session, pipeline, streaming=False)
        frame.count()  # warm up Spark, so that the start is not timed
        sizes = {len(table) * years: replayed(frame, years) for years in (1, YEARS)}
        _timed(measures, out, "batch", sizes, pipeline.features.run)
        results = pipeline.features.run(frame).toArrow()
        _say_times(measures, out, "spark_batch", "Batch", len(results))
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
        _own_windows(pipeline, sizes, len(table), measures, out)
    return same


def _timed(
    measures: Measures,
    out: Output,
    what: str,
    sizes: dict[int, Any],
    windows: Callable[[Any], Any],
) -> None:
    """Time the first run, a second one, and one of more rows. The results are discarded."""
    (rows, frame), *more = sizes.items()
    for count, data, again in ((rows, frame, False), (rows, frame, True), (*more[0], True)):
        with measures.timing(out, "Spark", what, count, again=again):
            windows(data).write.format("noop").mode("overwrite").save()


def _say_times(measures: Measures, out: Output, event: str, what: str, rows: int) -> None:
    """Print the three times of `_timed`."""
    first, second, large = measures.runs[-3:]
    out.say(
        event,
        f"{what}: {rows:,} rows in {first.time} the first time, then in {second.time}; "
        f"{large.rows:,} rows in {large.time}.",
        rows=rows,
        seconds=first.seconds,
        seconds_again=second.seconds,
        seconds_large=large.seconds,
    )


def _own_windows(
    pipeline: Pipeline, sizes: dict[int, Any], rows: int, measures: Measures, out: Output
) -> None:
    """Compute the same columns with Spark's own windows, to time them."""
    from slidefold.spark.demonstration import over_windows

    on, by = pipeline.features.on, pipeline.features.by
    what = "its own windows (OVER), batch"
    _timed(measures, out, what, sizes, lambda data: over_windows(data, on, by, HOURS))
    _say_times(measures, out, "own_windows", "Spark's own windows, the same columns", rows)
    copies = 24 * 60
    out.say(
        "own_stream",
        "Spark does not support them on a stream; its window(24 h, 1 min) would copy each row "
        f"{copies:,} times and give no\nresult per departure.",
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
