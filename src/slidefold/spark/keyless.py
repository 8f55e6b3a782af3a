"""Windows without a key, and those of one hot key: distributed boundary aggregation.

1. One scan finds the oldest and the newest time and a sample of times: the cuts.
2. A second one counts the rows between cuts; where middles hold rows it summarizes those too, each
   partition its own rows.
3. The last scan sends each row to its chunk, and to the chunks that it is halo of; a worker folds
   its chunk with the ordinary kernels. A changed input is found by its row counts, and by a sum of
   hashes of what was summarized: each chunk also gets a marker, a row without a time, so that one
   which lost all its rows notices.
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

# Rows are numbered by counting so many bins a chunk, for rows windows.
BINS = 16
# The times of about so many bytes of rows are sampled, or this share where the size is not known.
SAMPLE_BYTES = 1 << 21
SAMPLE = 0.02
# More bytes than this that stand for middles would only move to the driver and back.
MOST_TOTAL = 128 << 20


@dataclass(frozen=True)
class Chunking:
    """Data with numbers for names, and what is known of its times."""

    definition: Rolling
    data: DataFrame
    given: Any  # its Arrow schema, with the real names
    made: Any  # the Arrow schema of the results
    shipped: Shipped

    @property
    def time(self) -> Column:
        """The times as whole numbers."""
        place = self.given.get_field_index(self.definition.on)
        return steps(f"c{place}", self.data.schema[place].dataType)

    @property
    def check(self) -> Column:
        """A hash of all that results depend on in a row."""
        used = (self.given.field(name) for name in self.definition.used)
        # Spark has no hash of maps.
        places = [self.given.get_field_index(f.name) for f in used if "map<" not in str(f.type)]
        return fn.xxhash64(*(f"c{place}" for place in places)).alias("check")


def can_chunk(definition: Rolling) -> bool:
    """Tell whether a definition runs in chunks of time; else all rows go to one worker."""
    if can_cut(definition) or only_sessions(definition):
        return True
    slides = definition.slide is not None and definition.slide.in_time
    return slides and all(window.in_time for window in definition.windows)


def why_whole(definition: Rolling) -> str:
    """Say why a definition does not run in chunks of time."""
    for name, over in definition.columns.items():
        if not (over.window.in_time or over.window.last_rows):
            return f"{name!r} slides over {over.window}, of which no cut is known to be an end"
        if over.window.last_rows and definition.slide is not None and definition.slide.in_time:
            return f"{name!r} slides over {over.window.text('left')} and every= over time"
    return "every= counts rows from the first one on"


@dataclass(frozen=True)
class Prepared:
    """What is known before rows are sent: the layout, what stands for middles, the oldest time.

    `checks` are sums of hashes, one a segment, where rows were summarized.
    """

    layout: Layout
    middles: list[dict[Any, Part]]
    oldest: int
    checks: list[int] | None = None


def run_chunks(task: Chunking, chunks: int, size: int | None) -> DataFrame | None:
    """Run a definition over chunks of time; None if there is nothing to cut."""
    prepared = prepare(task, chunks, size)
    if prepared is None:
        return None
    if only_sessions(task.definition):
        return _run_apart(task, prepared)
    if task.definition.slide is not None:
        return _run_slides(task, prepared)
    return _last_pass(task, prepared)


def prepare(task: Chunking, chunks: int, size: int | None) -> Prepared | None:
    """Scan the times for cuts, count rows, and summarize middles if any; None without a cut."""
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
    layout = Layout(task.definition, task.given, clock, tuple(cuts), newest, mode, bins)
    if needs_middles(layout):
        return _first_pass(task, layout, rows, oldest)
    layout = _counted(task, layout, rows)
    return Prepared(layout, [{} for _ in range(layout.chunks)], oldest)


def _scan(task: Chunking, size: int | None) -> tuple[int, int, int, list[int]] | None:
    """Return the number of rows, the oldest and the newest time, and a sample of times."""
    on = task.definition.on
    share = SAMPLE if size is None else min(1.0, SAMPLE_BYTES / max(size, 1))
    times = task.data.select(task.time.alias("t"))
    # rand() may not stand inside of an aggregate.
    times = times.select("t", fn.when(fn.rand(1) < share, fn.col("t")).alias("s"))
    parts = [i / 1024 for i in range(1, 1024)]
    found = times.agg(
        fn.count(fn.lit(1)),
        fn.count("t"),
        fn.min("t"),
        fn.max("t"),
        fn.percentile_approx("s", parts, 4096),
    ).first()
    assert found is not None
    rows, known, oldest, newest, sample = found
    if known < rows:
        raise DataError(f"the column {on!r} is null in {rows - known} of {rows} rows")
    if rows == 0:
        return None
    return rows, oldest, newest, sample or [oldest]


def _first_pass(task: Chunking, layout: Layout, rows: int, oldest: int) -> Prepared:
    """Summarize the segments where their rows lie, and put the middles together."""
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
        found = summarize(shipped.load(), table, edges, mode), _checks(on, table, check, edges)
        yield pa.RecordBatch.from_pydict({"part": pa.array([pickle.dumps(found)], pa.binary())})

    data = task.data
    if wants_order(definition, mode):
        data = data.repartitionById(layout.chunks, _segment(task, edges))
    columns = [*(fn.col(f"c{i}") for i in used), task.check]
    parts = data.select(columns).mapInArrow(summary, "part binary").collect()
    pairs = [pickle.loads(part[0]) for part in parts]
    summaries: list[Summary] = [found for found, _ in pairs]
    counts = total_counts(summaries, len(edges) + 1)
    if sum(counts) != rows:
        raise changed(rows, sum(counts))
    mode.update(dict.fromkeys(_heavy(summaries), "whole"))
    layout = replace(layout, counts=counts, mode=mode)
    checks = [sum(sums) for sums in zip(*(each for _, each in pairs), strict=True)]
    return Prepared(layout, layout.middles(summaries), oldest, checks)


def _checks(on: str, table: Any, check: Any, edges: Sequence[int]) -> list[int]:
    """Return the sum of the hashes of each segment, modulo 2**64."""
    _, moments = counted(on, table[on].combine_chunks())
    found = np.zeros(len(edges) + 1, np.uint64)
    segments = np.searchsorted(np.array(edges, np.int64), moments, "right")
    np.add.at(found, segments, check.to_numpy().view(np.uint64))
    return [int(total) for total in found]


def _counted(task: Chunking, layout: Layout, rows: int) -> Layout:
    """Count the rows of each segment: all that is needed where no middle holds any."""
    edges = layout.edges()
    counts = [0] * (len(edges) + 1)
    for segment, count in task.data.groupBy(_segment(task, edges)).count().collect():
        counts[segment] = count
    if sum(counts) != rows:
        raise changed(rows, sum(counts))
    return replace(layout, counts=tuple(counts))


def _segment(task: Chunking, edges: Sequence[int]) -> Column:
    """Return the number of the segment that a row is in."""
    return choose(task.time, edges, list(range(len(edges) + 1)))


def _heavy(summaries: Sequence[Summary]) -> set[Any]:
    """Return the leaves for whose segments too many bytes would travel to the chunks."""
    total: dict[Any, int] = {}
    heavy: set[Any] = set()
    for summary in summaries:
        heavy |= summary.heavy
        for path, parts in summary.parts.items():
            total[path] = total.get(path, 0) + sum(part.nbytes for part in parts)
    return heavy | {path for path, nbytes in total.items() if nbytes > MOST_TOTAL}


def changed(before: int, now: int) -> DataError:
    """Return the error that the input is not what it was."""
    return DataError(
        f"the input changed between scans, {before} rows have become {now}: cache or write it first"
    )


def _last_pass(task: Chunking, prepared: Prepared) -> DataFrame:
    layout, middles, shipped = prepared.layout, prepared.middles, task.shipped
    spans, own = layout.spans(), layout.own_counts()
    parts = [
        pickle.dumps(({path: each[i] for path, each in spans.items()}, middles[i]))
        for i in range(layout.chunks)
    ]

    def fold(chunk: int, table: Any) -> Any:
        definition = shipped.load()
        own_spans, own_middles = pickle.loads(parts[chunk])

        def folded(part: Any, rows: Any) -> Any:
            return fold_chunk(part, rows, own_spans, own_middles)

        with naming_place(definition, table, folded):
            found = folded(definition, table)
        if len(found) != own[chunk]:
            raise changed(own[chunk], len(found))
        return found

    return _sent(task, prepared, fold)


def _run_slides(task: Chunking, prepared: Prepared) -> DataFrame:
    """Run `every` in time: a chunk has the ends between its cuts, and all rows of their windows."""
    shipped, bounds = task.shipped, [LEAST, *prepared.layout.cuts, MOST]

    def fold(chunk: int, table: Any) -> Any:
        definition = shipped.load()
        with naming_place(definition, table):
            found = run(definition, table)
        _, ends = counted("window_end", found["window_end"].combine_chunks())
        own = (ends >= bounds[chunk]) & ((ends < bounds[chunk + 1]) | (chunk == len(bounds) - 2))
        return found.filter(pa.array(own))

    return _sent(task, prepared, fold)


def _run_apart(task: Chunking, prepared: Prepared) -> DataFrame:
    """Run chunks that have nothing to do with one another."""
    shipped = task.shipped

    def fold(_: int, table: Any) -> Any:
        definition = shipped.load()
        with naming_place(definition, table):
            return run(definition, table)

    return _sent(task, prepared, fold)


def _sent(task: Chunking, prepared: Prepared, fold: Callable[[int, Any], Any]) -> DataFrame:
    """Send each row to its chunks, one a partition, and fold those; a marker goes to each."""
    layout, oldest = prepared.layout, prepared.oldest
    names, on, newest = task.given.names, task.definition.on, layout.newest
    sent = sendable(task.made)
    goes, counts = layout.targets(), layout.counts
    assert counts is not None
    due = _due(counts, goes, layout.chunks)
    checks = None if prepared.checks is None else _due(prepared.checks, goes, layout.chunks)

    def fold_batches(batches: Iterator[Any]) -> Iterator[Any]:
        held = list(batches)
        chunk = held[0].column(len(names))[0].as_py()
        table = _received(held, names, on)
        if len(table) != due[chunk]:
            raise changed(due[chunk], len(table))
        if not _inside(table, on, oldest, newest):
            raise changed_times(on)
        if checks is not None and (_total(held, len(names) + 1) - checks[chunk]) % (1 << 64):
            raise DataError(
                "the input changed between scans, rows have other values: cache or write it first"
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


def _due(numbers: Sequence[int], goes: list[list[int]], chunks: int) -> list[int]:
    """Return the total of the segments that go to each chunk."""
    pairs = list(zip(numbers, goes, strict=True))
    return [sum(number for number, to in pairs if chunk in to) for chunk in range(chunks)]


def _total(held: list[Any], place: int) -> int:
    """Return the sum of a column of hashes."""
    return sum(int(batch.column(place).to_numpy().view(np.uint64).sum()) for batch in held)


def _received(held: list[Any], names: list[str], on: str) -> Any:
    """Return the rows of a chunk with their real names, without its marker."""
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
    """Return the error that there are times which were not there before."""
    return DataError(
        f"the input changed between scans, {on!r} has new times: cache or write it first"
    )
