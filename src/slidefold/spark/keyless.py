"""Windows without a key, or of one hot key: distributed boundary aggregation.

1. The first scan finds the oldest and newest time and a sample of times, which give the cuts.
2. The second scan counts the rows between cuts. If windows have middles, each partition also
   summarizes its rows in them.
3. The last scan sends each row to its chunk, and to every chunk that needs it as halo. A worker
   folds its chunk with the ordinary kernels. Row counts, and sums of hashes of the summarized
   rows, detect an input that changed between scans. Each chunk also gets a marker, a row without a
   time, so that a chunk that lost all its rows is still checked.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from slidefold.columns import run
from slidefold.columns.chunked import Part, Summary, fold_chunk, modes, summarize, wants_order
from slidefold.columns.expressions import core_schema
from slidefold.columns.layout import Layout, can_cut, needs_middles, total_counts
from slidefold.columns.spans import LEAST, MOST, balanced_cuts
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.errors import DataError
from slidefold.spark.clock import choose, steps
from slidefold.spark.failures import naming_place
from slidefold.spark.session_cuts import longest_gap, only_sessions, session_cuts
from slidefold.spark.types import conform, named, sendable, spark_schema
from slidefold.spark.worker import OUT_ROWS, Shipped

# Rows windows need row numbers: rows are counted in this many bins per chunk.
BINS = 16
# Times are sampled from about this many bytes of rows, or from this share if the size is unknown.
SAMPLE_BYTES = 1 << 21
SAMPLE = 0.02
# If the middles take more bytes than this, rows are sent instead: middles pass through the driver.
MOST_TOTAL = 128 << 20


@dataclass(frozen=True)
class Chunking:
    """A definition, its data with numbered columns, and both schemas."""

    definition: Rolling
    data: DataFrame
    given: Any  # its Arrow schema, with the real names
    made: Any  # the Arrow schema of the results
    shipped: Shipped

    @property
    def time(self) -> Column:
        """The times as integers."""
        place = self.given.get_field_index(self.definition.on)
        return steps(f"c{place}", self.data.schema[place].dataType)

    @property
    def check(self) -> Column:
        """A hash of the columns of a row that results depend on."""
        used = (self.given.field(name) for name in self.definition.used)
        # Spark cannot hash maps.
        places = [self.given.get_field_index(f.name) for f in used if "map<" not in str(f.type)]
        return fn.xxhash64(*(f"c{place}" for place in places)).alias("check")


def can_chunk(definition: Rolling) -> bool:
    """Tell whether a definition can run in chunks of time; else all rows go to one worker."""
    if can_cut(definition) or only_sessions(definition):
        return True
    slides = definition.slide is not None and definition.slide.in_time
    return slides and all(window.in_time for window in definition.windows)


def why_whole(definition: Rolling) -> str:
    """Explain why a definition cannot run in chunks of time."""
    for name, over in definition.overs.items():
        if not (over.window.in_time or over.window.last_rows):
            return f"{name!r} slides over {over.window}, whose windows may cross any cut"
        if over.window.last_rows and definition.slide is not None and definition.slide.in_time:
            return f"{name!r} slides over {over.window.text('left')}, but every= is a duration"
    return "every= counts rows from the first row"


@dataclass(frozen=True)
class Prepared:
    """The results of the first scans: the layout, summaries of the middles, the oldest time.

    `checks` are sums of hashes, one per segment, if rows were summarized.
    """

    layout: Layout
    middles: list[dict[Any, Part]]
    oldest: int
    checks: list[int] | None = None


def run_chunks(task: Chunking, chunks: int, size: int | None) -> DataFrame | None:
    """Run a definition over chunks of time; return None if the data cannot be cut."""
    prepared = prepare(task, chunks, size)
    if prepared is None:
        return None
    if only_sessions(task.definition):
        return _run_apart(task, prepared)
    if task.definition.slide is not None:
        return _run_slides(task, prepared)
    return _last_pass(task, prepared)


def prepare(task: Chunking, chunks: int, size: int | None) -> Prepared | None:
    """Find the cuts, count rows, and summarize middles; return None if there is no cut."""
    scanned = _scan(task, size)
    if scanned is None:
        return None
    rows, oldest, newest, sample = scanned
    clock, _ = counted(task.definition.on, pa.array([], task.given.field(task.definition.on).type))
    windows = task.definition.windows
    reaches = [reach[0] for window in windows if (reach := window.reach(clock)) is not None]
    cuts = balanced_cuts(sample, reaches, newest, chunks)
    mode = modes(task.definition, task.given)
    if cuts and only_sessions(task.definition):
        gap = longest_gap(task.definition, clock)
        cuts = session_cuts(task.data, task.time, cuts, gap)
        mode = dict.fromkeys(mode, "apart")
    if not cuts:
        return None
    bins: tuple[int, ...] = ()
    if task.definition.slide is not None and task.definition.slide.in_time:
        mode = dict.fromkeys(mode, "whole")
    elif any(window.last_rows for window in windows):
        bins = tuple(balanced_cuts(sample, [], newest, BINS * chunks))
    schema = core_schema(task.definition, task.given)
    layout = Layout(task.definition, schema, clock, tuple(cuts), newest, mode, bins)
    if needs_middles(layout):
        return _first_pass(task, layout, rows, oldest)
    layout = _counted(task, layout, rows)
    return Prepared(layout, [{} for _ in range(layout.chunks)], oldest)


def _scan(task: Chunking, size: int | None) -> tuple[int, int, int, list[int]] | None:
    """Return the number of rows, the oldest and the newest time, and a sample of times."""
    on = task.definition.on
    share = SAMPLE if size is None else min(1.0, SAMPLE_BYTES / max(size, 1))
    times = task.data.select(task.time.alias("t"))
    # Spark does not allow rand() inside an aggregate.
    times = times.select("t", fn.when(fn.rand(1) < share, fn.col("t")).alias("s"))
    parts = [i / 1024 for i in range(1, 1024)]
    row = times.agg(
        fn.count(fn.lit(1)),
        fn.count("t"),
        fn.min("t"),
        fn.max("t"),
        fn.percentile_approx("s", parts, 4096),
    ).first()
    assert row is not None
    rows, known, oldest, newest, sample = row
    if known < rows:
        raise DataError(f"the column {on!r} is null in {rows - known} of {rows} rows")
    if rows == 0:
        return None
    return rows, oldest, newest, sample or [oldest]


def _first_pass(task: Chunking, layout: Layout, rows: int, oldest: int) -> Prepared:
    """Summarize segments in each partition, and combine the summaries to middles."""
    definition, given, shipped = task.definition, task.given, task.shipped
    used = [given.get_field_index(name) for name in definition.used]
    names, edges, mode = [*definition.used, "check"], layout.edges(), dict(layout.mode)
    on = definition.on

    def summary(batches: Iterator[Any]) -> Iterator[Any]:
        held = [batch.rename_columns(names) for batch in batches]
        if not held:
            return
        table = pa.Table.from_batches(held)
        check = table.column(len(names) - 1)
        table = table.remove_column(len(names) - 1)
        part = summarize(shipped.load(), table, edges, mode), _checks(on, table, check, edges)
        yield pa.RecordBatch.from_pydict({"part": pa.array([pickle.dumps(part)], pa.binary())})

    data = task.data
    if wants_order(definition, mode):
        data = data.repartitionById(layout.chunks, _segment(task, edges))
    columns = [*(fn.col(f"c{i}") for i in used), task.check]
    parts = data.select(columns).mapInArrow(summary, "part binary").collect()
    pairs = [pickle.loads(part[0]) for part in parts]
    summaries: list[Summary] = [summary for summary, _ in pairs]
    counts = total_counts(summaries, len(edges) + 1)
    if sum(counts) != rows:
        raise changed(rows, sum(counts))
    mode.update(dict.fromkeys(_heavy(summaries), "whole"))
    layout = replace(layout, counts=counts, mode=mode)
    checks = [sum(hashes) for hashes in zip(*(sums for _, sums in pairs), strict=True)]
    return Prepared(layout, layout.middles(summaries), oldest, checks)


def _checks(on: str, table: Any, check: Any, edges: Sequence[int]) -> list[int]:
    """Return the sum of the hashes of each segment, modulo 2**64."""
    _, moments = counted(on, table[on].combine_chunks())
    totals = np.zeros(len(edges) + 1, np.uint64)
    segments = np.searchsorted(np.array(edges, np.int64), moments, "right")
    np.add.at(totals, segments, check.to_numpy().view(np.uint64))
    return [int(total) for total in totals]


def _counted(task: Chunking, layout: Layout, rows: int) -> Layout:
    """Count the rows of each segment, which is enough if no window has a middle."""
    edges = layout.edges()
    counts = [0] * (len(edges) + 1)
    for segment, count in task.data.groupBy(_segment(task, edges)).count().collect():
        counts[segment] = count
    if sum(counts) != rows:
        raise changed(rows, sum(counts))
    return replace(layout, counts=tuple(counts))


def _segment(task: Chunking, edges: Sequence[int]) -> Column:
    """Return the number of a row's segment."""
    return choose(task.time, edges, list(range(len(edges) + 1)))


def _heavy(summaries: Sequence[Summary]) -> set[Any]:
    """Return the leaves whose summaries are too large to send to the chunks."""
    total: dict[Any, int] = {}
    heavy: set[Any] = set()
    for summary in summaries:
        heavy |= summary.heavy
        for path, parts in summary.parts.items():
            total[path] = total.get(path, 0) + sum(part.nbytes for part in parts)
    return heavy | {path for path, nbytes in total.items() if nbytes > MOST_TOTAL}


def changed(before: int, now: int) -> DataError:
    """Return the error for an input whose number of rows changed."""
    return DataError(
        f"the input changed between scans from {before} to {now} rows: cache or write it first"
    )


def _last_pass(task: Chunking, prepared: Prepared) -> DataFrame:
    layout, middles, shipped = prepared.layout, prepared.middles, task.shipped
    spans, own = layout.spans(), layout.own_counts()
    parts = [
        pickle.dumps(({path: chunks[i] for path, chunks in spans.items()}, middles[i]))
        for i in range(layout.chunks)
    ]

    def fold(chunk: int, table: Any) -> Any:
        definition = shipped.load()
        own_spans, own_middles = pickle.loads(parts[chunk])

        def folded(part: Any, rows: Any) -> Any:
            return fold_chunk(part, rows, own_spans, own_middles)

        with naming_place(definition, table, folded):
            results = folded(definition, table)
        if len(results) != own[chunk]:
            raise changed(own[chunk], len(results))
        return results

    return _sent(task, prepared, fold)


def _run_slides(task: Chunking, prepared: Prepared) -> DataFrame:
    """Run `every=` a duration: a chunk computes the window ends between its cuts."""
    shipped, bounds = task.shipped, [LEAST, *prepared.layout.cuts, MOST]

    def fold(chunk: int, table: Any) -> Any:
        definition = shipped.load()
        with naming_place(definition, table):
            results = run(definition, table)
        _, ends = counted("window_end", results["window_end"].combine_chunks())
        own = (ends >= bounds[chunk]) & ((ends < bounds[chunk + 1]) | (chunk == len(bounds) - 2))
        return results.filter(pa.array(own))

    return _sent(task, prepared, fold)


def _run_apart(task: Chunking, prepared: Prepared) -> DataFrame:
    """Run chunks that are independent of each other."""
    shipped = task.shipped

    def fold(_: int, table: Any) -> Any:
        definition = shipped.load()
        with naming_place(definition, table):
            return run(definition, table)

    return _sent(task, prepared, fold)


def _sent(task: Chunking, prepared: Prepared, fold: Callable[[int, Any], Any]) -> DataFrame:
    """Send each row to its chunks, one chunk per partition, add a marker, and fold each chunk."""
    layout, oldest = prepared.layout, prepared.oldest
    names, on, newest = task.given.names, task.definition.on, layout.newest
    sent = sendable(task.made)
    goes, counts = layout.targets(), layout.counts
    assert counts is not None
    expected = _per_chunk(counts, goes, layout.chunks)
    checks = None if prepared.checks is None else _per_chunk(prepared.checks, goes, layout.chunks)

    def fold_batches(batches: Iterator[Any]) -> Iterator[Any]:
        held = list(batches)
        chunk = held[0].column(len(names))[0].as_py()
        table = _received(held, names, on)
        if len(table) != expected[chunk]:
            raise changed(expected[chunk], len(table))
        if not _inside(table, on, oldest, newest):
            raise changed_times(on)
        if checks is not None and (_total(held, len(names) + 1) - checks[chunk]) % (1 << 64):
            raise DataError(
                "the input changed between scans: rows have other values; cache or write it first"
            )
        yield from conform(fold(chunk, table), sent).to_batches(OUT_ROWS)

    chosen = choose(task.time, layout.edges(), goes)
    more = [] if checks is None else [task.check]
    rows = task.data.select("*", fn.explode(chosen).alias("chunk"), *more)
    fields = task.data.schema.fields
    numbers = task.data.sparkSession.range(0, layout.chunks, 1, 1)
    markers = numbers.select(
        *(fn.lit(None).cast(field.dataType).alias(field.name) for field in fields),
        fn.col("id").cast("int").alias("chunk"),
        *(fn.lit(0).cast("long").alias("check") for _ in more),
    )
    spread = rows.unionAll(markers).repartitionById(layout.chunks, fn.col("chunk"))
    return named(spread.mapInArrow(fold_batches, spark_schema(sent)), task.made.names)


def _per_chunk(numbers: Sequence[int], goes: list[list[int]], chunks: int) -> list[int]:
    """Sum the numbers of the segments that go to each chunk."""
    pairs = list(zip(numbers, goes, strict=True))
    return [sum(number for number, to in pairs if chunk in to) for chunk in range(chunks)]


def _total(held: list[Any], place: int) -> int:
    """Return the sum of a column of hashes."""
    return sum(int(batch.column(place).to_numpy().view(np.uint64).sum()) for batch in held)


def _received(held: list[Any], names: list[str], on: str) -> Any:
    """Return the rows of a chunk with their original names, without the marker."""
    place, kept = names.index(on), []
    for batch in held:
        times = batch.column(place)
        kept.append(batch.filter(times.is_valid()) if times.null_count else batch)
    table = pa.Table.from_batches(kept)
    return table.select(list(range(len(names)))).rename_columns(names)


def _inside(table: Any, on: str, oldest: int, newest: int) -> bool:
    _, times = counted(on, table[on].combine_chunks())
    return bool(len(times) == 0 or (times.min() >= oldest and times.max() <= newest))


def changed_times(on: str) -> DataError:
    """Return the error for an input with new times."""
    return DataError(
        f"the input changed between scans: {on!r} has new times; cache or write it first"
    )
