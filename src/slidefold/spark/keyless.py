"""Windows without a key, or of hot keys: distributed boundary aggregation.

Hot keys are the *parts* of one run: each has cuts, segments and chunks of its own, numbered one
after another, and all of them go through the same three scans. Data without a key is one part.

1. The first scan finds the oldest and newest time and a sample of times, which give the cuts.
2. The second scan counts the rows between cuts. If windows have middles, each partition also
   summarizes its rows in them.
3. The last scan sends each row to its chunk, and to every chunk that needs it as halo. A worker
   folds its chunk with the ordinary kernels. Row counts, and sums of hashes of the summarized
   rows, detect an input that changed between scans. Each chunk also gets a marker, a row without a
   time, so that a chunk that lost all its rows is still checked.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
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
from slidefold.definition.period import Period
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.errors import DataError
from slidefold.spark.clock import literal, located, steps, steps_sql
from slidefold.spark.failures import naming_place
from slidefold.spark.labels import place
from slidefold.spark.session_cuts import longest_gap, only_sessions, session_cuts
from slidefold.spark.sizes import width
from slidefold.spark.types import arrow_schema, named, result_schema, sendable, spark_schema
from slidefold.spark.worker import Shipped, map_in_arrow, returned

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
    period: Period | None = None  # the results to return; None returns all
    hot: tuple[Column, ...] = ()  # the conditions that tell hot keys apart; empty without a key

    @property
    def time(self) -> Column:
        """The times as integers."""
        place = self.given.get_field_index(self.definition.on)
        return steps(f"c{place}", self.data.schema[place].dataType)

    @property
    def time_sql(self) -> str:
        """The times as integers, as the text of an expression."""
        place = self.given.get_field_index(self.definition.on)
        return steps_sql(f"c{place}", self.data.schema[place].dataType)

    @property
    def marked(self) -> DataFrame:
        """The data with the number of the part that each row belongs to."""
        part = fn.lit(0)
        for number, condition in enumerate(self.hot):
            part = fn.when(condition, number).otherwise(part)
        return self.data.select("*", part.alias("part"))

    def only(self, part: int) -> Chunking:
        """Return the task of one part."""
        return replace(self, data=self.data.where(self.hot[part])) if self.hot else self

    @property
    def check(self) -> Column:
        """A hash of the columns of a row that results depend on."""
        used = (self.given.field(name) for name in self.definition.used)
        # Spark cannot hash maps.
        places = [self.given.get_field_index(f.name) for f in used if "map<" not in str(f.type)]
        return fn.xxhash64(*(f"c{place}" for place in places)).alias("check")


def task_of(definition: Rolling, data: DataFrame, types: Any = None) -> Chunking:
    """Return the task of a definition over data."""
    given = arrow_schema(data.schema)
    results = result_schema(definition, given, types)
    # Spark resolves names again and fails on dots and duplicates, so columns are numbered.
    numbered = data.toDF(*[f"c{i}" for i in range(len(given))])
    return Chunking(definition, numbered, given, results, Shipped(definition))


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


def run_chunks(task: Chunking, chunks: int, size: int | None, least: int = 0) -> DataFrame | None:
    """Run a definition over chunks of time; return None if the data cannot be cut.

    Data of fewer than `least` bytes is not cut; the first scan counts its rows.
    """
    prepared = prepare(task, chunks, size, least)
    if prepared is None:
        return None
    if only_sessions(task.definition):
        return _run_apart(task, prepared)
    if task.definition.slide is not None:
        return _run_slides(task, prepared)
    return _last_pass(task, prepared)


def prepare(task: Chunking, chunks: int, size: int | None, least: int = 0) -> list[Prepared] | None:
    """Find the cuts, count rows, and summarize middles of each part; None if there is no cut."""
    scans = _scan(task, size)
    total = sum(scan.rows for scan in scans)
    if total * width(task.data.schema) < least:
        return None
    layouts = []
    for number, scan in enumerate(scans):
        share = max(2, math.ceil(chunks * scan.rows / total)) if task.hot else chunks
        layouts.append(_layout(task.only(number), scan, share))
    if not any(layout.cuts for layout in layouts):
        return None
    if any(map(needs_middles, layouts)):
        return _first_pass(task, layouts, scans)
    counted_layouts = _counted(task, layouts, scans)
    return [
        Prepared(layout, [{} for _ in range(layout.chunks)], scan.oldest)
        for layout, scan in zip(counted_layouts, scans, strict=True)
    ]


def _layout(task: Chunking, scan: _Scan, chunks: int) -> Layout:
    """Choose the cuts of a part; there may be none."""
    definition = task.definition
    clock, _ = counted(definition.on, pa.array([], task.given.field(definition.on).type))
    windows = definition.windows
    reaches = [reach[0] for window in windows if (reach := window.reach(clock)) is not None]
    cuts = balanced_cuts(scan.sample, reaches, scan.newest, chunks)
    mode = modes(definition, task.given)
    if only_sessions(definition):
        if cuts:
            cuts = session_cuts(task.data, task.time_sql, cuts, longest_gap(definition, clock))
        mode = dict.fromkeys(mode, "apart")
    bins: tuple[int, ...] = ()
    if definition.slide is not None and definition.slide.in_time:
        mode = dict.fromkeys(mode, "whole")
    elif any(window.last_rows for window in windows):
        bins = tuple(balanced_cuts(scan.sample, [], scan.newest, BINS * chunks))
    schema = core_schema(definition, task.given)
    return Layout(definition, schema, clock, tuple(cuts), scan.newest, mode, bins)


@dataclass(frozen=True)
class _Scan:
    """What the first scan tells about a part."""

    rows: int
    oldest: int
    newest: int
    sample: list[int]


def _scan(task: Chunking, size: int | None) -> list[_Scan]:
    """Find the number of rows, the oldest and newest time, and a sample of times of each part."""
    on = task.definition.on
    share = SAMPLE if size is None else min(1.0, SAMPLE_BYTES / max(size, 1))
    times = task.marked.select("part", task.time.alias("t"))
    # Spark does not allow rand() inside an aggregate.
    times = times.select("part", "t", fn.when(fn.rand(1) < share, fn.col("t")).alias("s"))
    parts = fn.expr(literal([i / 1024 for i in range(1, 1024)]))
    found = (times.groupBy("part") if task.hot else times.groupBy()).agg(
        fn.count(fn.lit(1)).alias("rows"),
        fn.count("t").alias("known"),
        fn.min("t").alias("oldest"),
        fn.max("t").alias("newest"),
        fn.percentile_approx("s", parts, 4096).alias("sample"),
    )
    rows = found.collect()
    lost = sum(row["rows"] - row["known"] for row in rows)
    if lost:
        total = sum(row["rows"] for row in rows)
        raise DataError(f"the column {on!r} is null in {lost} of {total} rows")
    known = {row["part"] if task.hot else 0: row for row in rows if row["rows"]}
    if len(known) < len(task.hot):
        raise changed(len(task.hot), len(known))
    return [
        _Scan(row["rows"], row["oldest"], row["newest"], row["sample"] or [row["oldest"]])
        for _, row in sorted(known.items())
    ]


def _first_pass(
    task: Chunking, layouts: Sequence[Layout], scans: Sequence[_Scan]
) -> list[Prepared]:
    """Summarize segments in each partition, and combine the summaries to middles."""
    definition, given, shipped = task.definition, task.given, task.shipped
    used = [given.get_field_index(name) for name in definition.used]
    names, on = list(definition.used), definition.on
    plans = [(layout.edges, layout.cutting) for layout in layouts]

    def summary(batches: Iterator[Any]) -> Iterator[Any]:
        held = list(batches)
        if not held:
            return
        whole = pa.Table.from_batches(held)
        part = whole.column(len(names) + 1).to_numpy()
        found = []
        for number, (edges, cutting) in enumerate(plans):
            own = whole if len(plans) == 1 else whole.filter(pa.array(part == number))
            table = own.select(list(range(len(names)))).rename_columns(names)
            checks = _checks(on, table, own.column(len(names)), edges)
            found.append((summarize(shipped.load(), table, edges, cutting), checks))
        yield pa.RecordBatch.from_pydict({"part": pa.array([pickle.dumps(found)], pa.binary())})

    data = task.marked
    if any(wants_order(definition, layout.mode) for layout in layouts):
        chunks = sum(layout.chunks for layout in layouts)
        data, segment = _segment(task, layouts)
        data = place(data, chunks, segment, sum(len(edges) + 1 for edges, _ in plans))
    columns = [*(fn.col(f"c{i}") for i in used), task.check, fn.col("part")]
    parts = map_in_arrow(data.select(columns), summary, "part binary").collect()
    loaded = [pickle.loads(part[0]) for part in parts]
    prepared = []
    for number, (layout, scan) in enumerate(zip(layouts, scans, strict=True)):
        pairs = [found[number] for found in loaded]
        summaries: list[Summary] = [summary for summary, _ in pairs]
        counts = total_counts(summaries, len(plans[number][0]) + 1)
        if sum(counts) != scan.rows:
            raise changed(scan.rows, sum(counts))
        mode = {**layout.mode, **dict.fromkeys(_heavy(summaries), "whole")}
        done = replace(layout, counts=counts, mode=mode)
        checks = [sum(hashes) for hashes in zip(*(sums for _, sums in pairs), strict=True)]
        prepared.append(Prepared(done, done.middles(summaries), scan.oldest, checks))
    return prepared


def _checks(on: str, table: Any, check: Any, edges: Sequence[int]) -> list[int]:
    """Return the sum of the hashes of each segment, modulo 2**64."""
    _, moments = counted(on, table[on].combine_chunks())
    totals = np.zeros(len(edges) + 1, np.uint64)
    segments = np.searchsorted(np.array(edges, np.int64), moments, "right")
    np.add.at(totals, segments, check.to_numpy().view(np.uint64))
    return [int(total) for total in totals]


def _counted(task: Chunking, layouts: Sequence[Layout], scans: Sequence[_Scan]) -> list[Layout]:
    """Count the rows of each segment, which is enough if no window has a middle."""
    counts = [0] * sum(len(layout.edges) + 1 for layout in layouts)
    data, number = _segment(task, layouts)
    for segment, count in data.groupBy(number).count().collect():
        counts[segment] = count
    found, first = [], 0
    for layout, scan in zip(layouts, scans, strict=True):
        own = tuple(counts[first : first + len(layout.edges) + 1])
        first += len(own)
        if sum(own) != scan.rows:
            raise changed(scan.rows, sum(own))
        found.append(replace(layout, counts=own))
    return found


def _segment(task: Chunking, layouts: Sequence[Layout]) -> tuple[DataFrame, Column]:
    """Return the data, and the number of a row's segment, counted through all parts."""
    numbers, first = [], 0
    for layout in layouts:
        numbers.append(list(range(first, first + len(layout.edges) + 1)))
        first += len(layout.edges) + 1
    data, choice = located(task.marked, task.time_sql, [layout.edges for layout in layouts])
    return data, choice(numbers)


def _heavy(summaries: Sequence[Summary]) -> set[Any]:
    """Return the leaves whose summaries are too large to send to the chunks."""
    total: dict[Any, int] = {}
    heavy: set[Any] = set()
    for summary in summaries:
        heavy |= summary.heavy
        for path, pieces in summary.pieces.items():
            total[path] = total.get(path, 0) + pieces.nbytes
    return heavy | {path for path, nbytes in total.items() if nbytes > MOST_TOTAL}


def changed(before: int, now: int) -> DataError:
    """Return the error for an input whose number of rows changed."""
    return DataError(
        f"the input changed between scans from {before} to {now} rows: cache or write it first"
    )


def _last_pass(task: Chunking, prepared: Sequence[Prepared]) -> DataFrame:
    shipped = task.shipped
    parts: list[bytes] = []
    own: list[int] = []
    for one in prepared:
        spans = one.layout.spans
        own += one.layout.own_counts()
        parts += [
            pickle.dumps(({path: chunks[i] for path, chunks in spans.items()}, one.middles[i]))
            for i in range(one.layout.chunks)
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


def _run_slides(task: Chunking, prepared: Sequence[Prepared]) -> DataFrame:
    """Run `every=` a duration: a chunk computes the window ends between its cuts."""
    shipped = task.shipped
    bounds = [ends for one in prepared for ends in pairwise([LEAST, *one.layout.cuts, MOST])]

    def fold(chunk: int, table: Any) -> Any:
        definition = shipped.load()
        with naming_place(definition, table):
            results = run(definition, table)
        _, ends = counted("window_end", results["window_end"].combine_chunks())
        low, high = bounds[chunk]
        own = (ends >= low) & ((ends < high) | (high == MOST))
        return results.filter(pa.array(own))

    return _sent(task, prepared, fold)


def _run_apart(task: Chunking, prepared: Sequence[Prepared]) -> DataFrame:
    """Run chunks that are independent of each other."""
    shipped = task.shipped

    def fold(_: int, table: Any) -> Any:
        definition = shipped.load()
        with naming_place(definition, table):
            return run(definition, table)

    return _sent(task, prepared, fold)


def _sent(
    task: Chunking, prepared: Sequence[Prepared], fold: Callable[[int, Any], Any]
) -> DataFrame:
    """Send each row to its chunks, one chunk per partition, add a marker, and fold each chunk."""
    names, on = task.given.names, task.definition.on
    sent, period = sendable(task.made), task.period
    chunks: list[list[list[int]]] = []  # of each segment of each part
    expected: list[int] = []
    checks: list[int] | None = []
    bounds: list[tuple[int, int]] = []
    for one in prepared:
        layout, goes, first = one.layout, one.layout.targets(), len(expected)
        assert layout.counts is not None
        chunks.append([[first + chunk for chunk in to] for to in goes])
        expected += _per_chunk(layout.counts, goes, layout.chunks)
        bounds += [(one.oldest, layout.newest)] * layout.chunks
        if one.checks is None:
            checks = None
        elif checks is not None:
            checks += _per_chunk(one.checks, goes, layout.chunks)

    def fold_batches(batches: Iterator[Any]) -> Iterator[Any]:
        held = list(batches)
        chunk = held[0].column(len(names))[0].as_py()
        table = _received(held, names, on)
        if len(table) != expected[chunk]:
            raise changed(expected[chunk], len(table))
        if not _inside(table, on, *bounds[chunk]):
            raise changed_times(on)
        if checks is not None and (_total(held, len(names) + 1) - checks[chunk]) % (1 << 64):
            raise DataError(
                "the input changed between scans: rows have other values; cache or write it first"
            )
        yield from returned(fold(chunk, table), sent, period)

    data, choice = located(task.marked, task.time_sql, [one.layout.edges for one in prepared])
    more = [] if checks is None else [task.check]
    own = [fn.col(name) for name in task.data.columns]
    rows = data.select(*own, fn.explode(choice(chunks)).alias("chunk"), *more)
    fields = task.data.schema.fields
    numbers = task.data.sparkSession.range(0, len(expected), 1, 1)
    markers = numbers.select(
        *(fn.lit(None).cast(field.dataType).alias(field.name) for field in fields),
        fn.col("id").cast("int").alias("chunk"),
        *(fn.lit(0).cast("long").alias("check") for _ in more),
    )
    spread = place(rows.unionAll(markers), len(expected), fn.col("chunk"), len(expected))
    return named(map_in_arrow(spread, fold_batches, spark_schema(sent)), task.made.names)


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
