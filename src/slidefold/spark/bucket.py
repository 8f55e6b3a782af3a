"""Process one call for one bucket: judge the rows, log them, feed the engine, set the next timer.

This module does not depend on Spark. It writes through a `Store`, and a write counts only if Spark
commits the attempt. It keeps engines in a cache, and verifies each one before use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from slidefold.live.revisions import REVISION
from slidefold.live.snapshot import Snapshot
from slidefold.spark.cache import Cache, Cached
from slidefold.spark.log import Log, Logged

# The log is compacted when it has this many rows more than twice what is needed.
SLACK = 10_000


class Engine(Protocol):
    """The part of the engine in `slidefold.live` that a bucket uses."""

    @property
    def nbytes(self) -> int:
        """The bytes that it holds."""

    @property
    def pending(self) -> int:
        """The number of rows that wait for the watermark."""

    @property
    def rows(self) -> int:
        """The number of rows that it holds."""

    @property
    def overflows(self) -> int:
        """The number of results so far that were null because they did not fit."""

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add accepted rows, and return the results that are ready."""

    def skip(self, rows: Any, watermark: int | None) -> None:
        """Add accepted rows whose results nobody reads."""

    def horizon(self, watermark: int | None) -> int | None:
        """Return the time up to which rows are no longer needed."""

    def snapshot(self) -> Snapshot:
        """Return what it still needs."""

    def next_due(self) -> int | None:
        """Return the watermark at which the next result is ready; None if no row waits."""


@dataclass(frozen=True)
class Maker:
    """Functions that create engines, empty or from a log."""

    schema: Any
    on: str
    fresh: Callable[[], Engine]
    rebuild: Callable[[list[Logged], int | None, int | None], Engine]
    judge: Callable[[Any, int | None], tuple[Any, Any]]
    slack: int = SLACK
    batches_count: bool = False  # results depend on how rows were cut into batches


@dataclass
class Counts:
    """The counts of one call."""

    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    revised: int = 0  # rows out that revise an earlier result
    overflows: int = 0  # results that are null because they do not fit in their type
    pending: int = 0  # rows of this bucket that wait for the watermark
    entries: int = 0  # in this bucket's log
    log_rows: int = 0  # in this bucket's log
    log_bytes: int = 0  # bytes written to the log
    hits: int = 0
    catch_ups: int = 0
    rebuilds: int = 0
    rebuilt_rows: int = 0
    compactions: int = 0
    seconds_engine: float = 0.0  # folding
    seconds_rebuild: float = 0.0  # building engines from the log, including state calls
    seconds_state: float = 0.0  # in Spark's state calls
    seconds: float = 0.0  # in total


@dataclass
class Outcome:
    """The outcome of a call: results that are ready, late rows, and the next watermark to wake."""

    due: Any
    late: Any
    wake: int | None
    counts: Counts = field(default_factory=Counts)


def step(
    log: Log,
    maker: Maker,
    cache: Cache,
    key: tuple[str, int],
    rows: Any | None,
    watermark: int | None,
) -> Outcome:
    """Add new rows, if any, advance to a watermark, and return the results that are ready."""
    counts = Counts()
    engine = _engine(log, maker, cache.take(key), counts)
    # Results up to `emitted` are out, so older rows can no longer be accepted.
    judged = _later(watermark, log.head.emitted)
    late = None
    accepted = maker.schema.empty_table()
    if rows is not None:
        counts.rows_in = rows.num_rows
        accepted, late = maker.judge(rows, judged)
        counts.late = late.num_rows
        counts.log_bytes += log.append(accepted, maker.on, judged)
    overflows = engine.overflows
    with _Clock(counts, "seconds_engine"):
        due = engine.take(accepted, judged)
    counts.rows_out, counts.overflows = due.num_rows, engine.overflows - overflows
    if REVISION in due.column_names:
        counts.revised = pc.sum(pc.greater(due[REVISION], 0)).as_py() or 0
    if judged != log.head.emitted:
        log.head = replace(log.head, emitted=judged)
    log.evict(engine.horizon(judged))
    _compact(log, maker, engine, judged, counts)
    counts.entries, counts.log_rows, counts.pending = log.entries, log.head.rows, engine.pending
    head = log.head
    cache.put(key, Cached(engine, head.version, head.token, judged, log.first()))
    return Outcome(due, late, engine.next_due(), counts)


def _engine(log: Log, maker: Maker, cached: Cached | None, counts: Counts) -> Engine:
    """Return an engine at the state of the log: cached, caught up, or rebuilt."""
    head = log.head
    if head.version == 0 and head.emitted is None:
        return maker.fresh()
    if cached is not None and _up_to_date(cached, log):
        engine: Engine = cached.engine
        log.known.update(cached.first)
        if cached.version == head.version:
            counts.hits += 1
        else:
            counts.catch_ups += 1
            with _Clock(counts, "seconds_rebuild"):
                _catch_up(engine, maker, list(log.read(cached.version + 1)), counts)
        if cached.emitted != head.emitted:
            # Another worker has emitted these results already, so drop them.
            engine.skip(maker.schema.empty_table(), head.emitted)
        return engine
    counts.rebuilds += 1
    with _Clock(counts, "seconds_rebuild"):
        entries = list(log.read(head.oldest))
        counts.rebuilt_rows += sum(logged.rows.num_rows for logged in entries)
        return maker.rebuild(entries, head.emitted, head.horizon)


def _catch_up(engine: Engine, maker: Maker, missed: list[Logged], counts: Counts) -> None:
    """Feed the entries that another worker wrote; that worker has emitted their results."""
    counts.rebuilt_rows += sum(logged.rows.num_rows for logged in missed)
    if maker.batches_count:
        for logged in missed:
            engine.skip(logged.rows, logged.judged)
    else:
        # All rows are newer than the emitted results, so one call suffices and costs less.
        rows = pa.concat_tables([logged.rows for logged in missed])
        engine.skip(rows, missed[-1].judged)


def _up_to_date(cached: Cached, log: Log) -> bool:
    """Tell whether an engine has read a prefix of the log and nothing else."""
    head = log.head
    if _later(cached.emitted, head.emitted) != head.emitted:
        return False  # an aborted attempt advanced to a later watermark
    if cached.version == head.version:
        return cached.token == head.token
    if cached.version > head.version:
        return False
    mark = log.mark(cached.version)
    if mark is None or mark.token != cached.token:
        return False
    following = log.mark(cached.version + 1)
    assert following is not None
    # The rows that follow must be newer than the results that the engine has emitted.
    return _later(cached.emitted, following.judged) == following.judged


def _compact(log: Log, maker: Maker, engine: Engine, judged: int | None, counts: Counts) -> None:
    """Compact the log when it has more than doubled; eviction usually keeps it smaller."""
    # If the horizon moves with the watermark, eviction removes old entries.
    if log.head.rows <= 2 * engine.rows + maker.slack:
        return
    snapshot = engine.snapshot()
    if log.head.rows > 2 * snapshot.rows.num_rows + maker.slack:
        counts.compactions += 1
        counts.log_bytes += log.compact(snapshot, judged)


def _later(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)


class _Clock:
    """Adds the elapsed seconds to one of the counts."""

    def __init__(self, counts: Counts, name: str) -> None:
        self.counts, self.name = counts, name

    def __enter__(self) -> None:
        self.start = perf_counter()

    def __exit__(self, *exc: object) -> None:
        passed = perf_counter() - self.start
        setattr(self.counts, self.name, getattr(self.counts, self.name) + passed)
