"""The stateful stage, which Spark calls for each bucket in each batch."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import (
    BinaryType,
    DoubleType,
    LongType,
    StructField,
    StructType,
)

from slidefold.definition.rolling import Rolling
from slidefold.errors import StateError
from slidefold.spark.bucket import Counts, Maker, Outcome, step
from slidefold.spark.cache import WORKER, Cache, NoCache
from slidefold.spark.engines import maker_of
from slidefold.spark.log import Log
from slidefold.spark.packing import NEWEST, PACKET, decode, encode, pieces
from slidefold.spark.query_identity import digest, require_same
from slidefold.spark.store import SparkStore
from slidefold.spark.types import conform
from slidefold.spark.worker import for_workers

LATE, REASON = "late", "late_reason"
_NO_COUNTS = astuple(Counts())

OUTPUT = StructType(
    [
        StructField(PACKET, BinaryType()),
        *(
            StructField(field.name, DoubleType() if field.type == "float" else LongType())
            for field in fields(Counts)
        ),
    ]
)
_ROW = Row(*OUTPUT.names)


@dataclass(frozen=True)
class Job:
    """Everything that a worker needs to know about a query."""

    definition: Rolling
    schema: Any  # of the input
    result: Any  # of the output
    emit: str
    id: tuple[str, ...]
    side: bool  # late rows are emitted too
    about: str  # the description of the query, see query_identity.py
    tag: str  # identifies this plan in the cache
    cache_bytes: int

    @cached_property
    def identity(self) -> str:
        """The digest of the query's description."""
        return digest(self.about)

    @cached_property
    def maker(self) -> Maker:
        """The functions that create engines."""
        return maker_of(self.definition, self.schema, self.emit, self.id)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached properties, which contain functions."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class BucketProcessor(StatefulProcessor):
    """Feeds packets to the log and the engine of a bucket, and emits results that are ready."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as bytes, which a worker loads only if it has this version of slidefold."""
        return for_workers(_from_bytes), (cloudpickle.dumps(self.job),)  # type: ignore[no-untyped-call]

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the states, once per task."""
        self.store = SparkStore(handle)
        self.cache: Cache = WORKER if self.job.cache_bytes else NoCache()
        if self.job.cache_bytes:
            WORKER.budget = self.job.cache_bytes

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        """Process the packets of a bucket."""
        batches = [
            decode(bytes(row[PACKET]), self.job.schema) for row in rows if row[PACKET] is not None
        ]
        table = pa.Table.from_batches(batches, self.job.schema)
        yield from self._step(int(key[0]), table, _watermark(timerValues), None)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        """Emit results that the watermark has made ready, without new rows."""
        fired = expiredTimerInfo.getExpiryTimeInMs()
        yield from self._step(int(key[0]), None, _watermark(timerValues), fired)

    def handleInitialState(  # noqa: N802
        self,
        key: Any,
        initialState: Any,  # noqa: N803
        timerValues: TimerValues,  # noqa: N803
    ) -> None:
        """Add earlier rows: they are part of windows but have no results of their own."""
        log = Log(self.store, self.job.schema, self.job.identity)
        self._require_same(log)
        log.remember(initialState[NEWEST])
        if initialState[PACKET] is not None:
            batch = decode(bytes(initialState[PACKET]), self.job.schema)
            rows = pa.Table.from_batches([batch])
            log.append(rows, self.job.definition.on, log.head.emitted)
        log.save()

    def close(self) -> None:
        """Do nothing, since nothing is open."""

    def _step(
        self, bucket: int, rows: Any | None, watermark: int | None, fired: int | None
    ) -> Iterator[Row]:
        job, start = self.job, perf_counter()
        self.store.seconds = 0.0
        log = Log(self.store, job.schema, job.identity)
        self._require_same(log)
        outcome = step(log, job.maker, self.cache, (job.tag, bucket), rows, watermark)
        self._set_timer(log, outcome.wake, fired)
        log.save()
        outcome.counts.seconds_state = self.store.seconds
        outcome.counts.seconds = perf_counter() - start
        yield from self._rows(outcome)

    def _require_same(self, log: Log) -> None:
        """Refuse the state of another query before it is read or written."""
        if log.fresh:
            self.store.write_about(self.job.about)
        elif log.head.identity != self.job.identity:
            before = self.store.read_about()
            if before is None or digest(before) != log.head.identity:
                raise StateError(
                    "the checkpoint does not name the definition that it belongs to: use a new one"
                )
            require_same(before, self.job.about)
            self.store.write_about(self.job.about)
            log.head = replace(log.head, identity=self.job.identity)

    def _set_timer(self, log: Log, wake: int | None, fired: int | None) -> None:
        """Wake the bucket when the watermark reaches `wake`, in microseconds."""
        # Spark's watermark is never negative, and 0 means that there is none yet.
        timer = None if wake is None else max(1, -(-wake // 1000))
        if timer == log.head.timer and timer != fired:
            return
        # Spark deletes the timer that fires now.
        before = None if log.head.timer == fired else log.head.timer
        self.store.move_timer(before, timer)
        log.head = replace(log.head, timer=timer)

    def _rows(self, outcome: Outcome) -> Iterator[Row]:
        counts = astuple(outcome.counts)
        for table in self._tables(outcome):
            for piece in pieces(table):
                yield _ROW(encode(piece), *counts)
                counts = _NO_COUNTS
        if counts is not _NO_COUNTS:
            yield _ROW(None, *counts)

    def _tables(self, outcome: Outcome) -> Iterator[Any]:
        schema, side = self.job.result, self.job.side
        if outcome.due.num_rows:
            due = outcome.due
            if side:
                count = due.num_rows
                due = due.append_column(LATE, pa.array([False] * count, pa.bool_()))
                due = due.append_column(REASON, pa.nulls(count, pa.string()))
            yield conform(due, schema)
        if side and outcome.late is not None and outcome.late.num_rows:
            late = outcome.late
            columns = [
                late[field.name]
                if field.name in late.column_names
                else pa.nulls(late.num_rows, field.type)
                for field in schema
            ]
            place = schema.get_field_index(LATE)
            columns[place] = pa.array([True] * late.num_rows, pa.bool_())
            yield conform(pa.table(columns, schema.names), schema)


def _from_bytes(job: bytes) -> BucketProcessor:
    return BucketProcessor(pickle.loads(job))


def _watermark(timer_values: TimerValues) -> int | None:
    """Return the watermark in microseconds; None before there is one."""
    watermark = timer_values.getCurrentWatermarkInMs()
    return watermark * 1000 if watermark > 0 else None
