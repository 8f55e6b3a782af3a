"""Streaming DataFrames: pack rows by bucket, keep a log and an engine per bucket, unpack results.

A bucket is a hash of the keys. Its rows travel as Arrow bytes, so that there are a few state calls
per bucket instead of one per row, and no value is cast. The bucket compares rows with the watermark
of the batch to find late rows; Spark's own filter never sees the times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from slidefold.definition.period import moment_of
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.errors import ColumnError, DataError, DefinitionError, ValueTypeError
from slidefold.live.engine import Engine
from slidefold.live.revisions import REVISION
from slidefold.spark.bucket import Counts
from slidefold.spark.cache import BUDGET
from slidefold.spark.checkpoint import folder_of, require_checkpoint_of
from slidefold.spark.labels import label
from slidefold.spark.packing import LABEL, NEWEST, PACKED, PACKET, Pack, Unpack
from slidefold.spark.processor import LATE, OUTPUT, REASON, BucketProcessor, Job
from slidefold.spark.query_identity import describe
from slidefold.spark.settings import require_stream_settings
from slidefold.spark.types import (
    WATERMARK,
    arrow_schema,
    named,
    result_schema,
    sendable,
    spark_schema,
    with_metadata,
)
from slidefold.spark.worker import map_in_arrow

# Independent of the cluster: it is part of the state, and must be the same after a restart.
BUCKETS = 16
_LATE = ("drop", "side")


def run_stream(
    definition: Rolling,
    data: DataFrame,
    *,
    emit: str = "final",
    id: str | Sequence[str] = (),
    late: str = "drop",
    buckets: int | None = None,
    cache_bytes: int = BUDGET,
    metrics: str = "slidefold",
    initial: DataFrame | None = None,
    after: Any = None,
    types: Mapping[str, Any] | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> DataFrame:
    """Run a definition over a streaming DataFrame, and return a streaming DataFrame.

    `emit` decides when results are emitted. `id` names the columns that identify a row, for results
    that are revised. `late` decides what happens to rows at or before the watermark. `buckets` is
    the number of parts that the keys are hashed into: as many tasks can run at once, and it cannot
    change while a checkpoint is in use. `cache_bytes` limits the memory of the engines in one
    worker; 0 turns the cache off. `types` are the Spark types of results that are Python objects.
    The counts of a batch are in the query's progress, under the name `metrics`. `initial` is a
    batch DataFrame of earlier rows that windows start with; rows of the stream up to its newest
    time are late. `after` is the time up to which results are out already, those of an earlier
    query: then initial rows count up to that time, and later results come from the stream alone.
    `checkpoint` is the folder that the query will use: if it belongs to another
    definition, it is refused here instead of in the first batch.
    """
    given = arrow_schema(data.schema)
    count = bucket_count(definition, buckets)
    if not isinstance(metrics, str) or not metrics:
        raise DefinitionError(f"metrics must be a name, got {metrics!r}")
    job = job_of(definition, given, count, emit, id, late, cache_bytes, types)
    _require_watermark(data, definition.on)
    require_stream_settings(data.sparkSession, count)
    if checkpoint is not None:
        require_checkpoint_of(job.about, folder_of(checkpoint), data.sparkSession)
    result = job.result
    packed = _packed(definition, data, given, count)
    past = None
    if initial is not None:
        past = _history(definition, initial, data, count, after).groupBy(LABEL)
    elif after is not None:
        raise DefinitionError("after= needs initial=, the rows that windows start with")
    stepped = packed.groupBy(LABEL).transformWithState(
        BucketProcessor(job), OUTPUT, "Append", "EventTime", past
    )
    # The sum is null if a batch touches no bucket.
    sums = [F.coalesce(F.sum(f.name), F.lit(0)).alias(f.name) for f in fields(Counts)]
    observed = stepped.observe(metrics, *sums).select(PACKET)
    sent = sendable(result)
    results = named(map_in_arrow(observed, Unpack(sent), spark_schema(sent)), result.names)
    return with_metadata(results, data.schema)


def _packed(definition: Rolling, data: DataFrame, schema: Any, buckets: int) -> DataFrame:
    # Spark resolves names again and fails on dots and duplicates, so columns are numbered.
    names = [f"c{i}" for i in range(len(schema))]
    numbered = data.toDF(*names)
    keys = [numbered[names[schema.get_field_index(name)]] for name in definition.by]
    bucket = F.pmod(F.hash(*keys), F.lit(buckets)) if keys else F.lit(0)
    numbers = numbered.select(bucket.cast("int").alias(LABEL), *names)
    return map_in_arrow(numbers, Pack(schema, buckets), spark_schema(PACKED))


def _history(
    definition: Rolling, initial: DataFrame, data: DataFrame, buckets: int, after: Any
) -> DataFrame:
    """Return the initial rows as packets, and for each bucket the time up to which results are out.

    That time is `after`, and by default the newest one of the rows.
    """
    if getattr(initial, "isStreaming", None) is not False:
        streams = hasattr(initial, "isStreaming")
        got = "a streaming one" if streams else type(initial).__name__
        raise ValueTypeError(f"initial must be a batch DataFrame, got {got}")
    missing = next((name for name in data.columns if name not in initial.columns), None)
    if missing is not None:
        raise ColumnError(f"the stream has the column {missing!r}, but initial does not")
    chosen = initial.select(*(f"`{name.replace('`', '``')}`" for name in data.columns))
    schema = arrow_schema(data.schema)
    for field, own in zip(schema, arrow_schema(chosen.schema), strict=True):
        if field.type != own.type:
            raise ValueTypeError(
                f"the column {field.name!r} is {field.type} in the stream and {own.type} in initial"
            )
    times = F.col(f"`{definition.on.replace('`', '``')}`")
    if after is not None:
        clock, _ = counted(definition.on, pa.array([], schema.field(definition.on).type))
        moment = moment_of(definition, clock, True, "after", after)
        cut = moment.numerator // moment.denominator
        chosen = chosen.where(times.isNull() | (times <= F.timestamp_micros(F.lit(cut))))
    known = chosen.agg(F.max(times), F.count(times), F.count(F.lit(1))).toArrow()
    newest, valid, every = (known.column(i).combine_chunks() for i in range(3))
    if valid[0] != every[0]:
        raise DataError(f"the column {definition.on!r} is null in some rows of initial")
    ended = newest.cast(pa.int64())[0].as_py() if after is None else cut
    labels = [(label(bucket), None, ended) for bucket in range(buckets if ended is not None else 0)]
    schemas = spark_schema(PACKED.append(pa.field(NEWEST, pa.int64())))
    ends = initial.sparkSession.createDataFrame(labels, schemas)
    packets = _packed(definition, chosen, schema, buckets)
    return ends.union(packets.where(F.col(PACKET).isNotNull()).withColumn(NEWEST, F.lit(ended)))


def job_of(
    definition: Rolling,
    schema: Any,
    buckets: int,
    emit: str = "final",
    id: str | Sequence[str] = (),
    late: str = "drop",
    cache_bytes: int = BUDGET,
    types: Mapping[str, Any] | None = None,
) -> Job:
    """Return the job for rows of this Arrow schema; raise if the stream cannot run."""
    if definition.order == "input":
        raise DefinitionError(
            "order='input' does not work in a stream: name the columns to order by"
        )
    _require_one_of("late", late, _LATE)
    if isinstance(cache_bytes, bool) or not isinstance(cache_bytes, int) or cache_bytes < 0:
        raise DefinitionError(f"cache_bytes must be an integer of at least 0, got {cache_bytes!r}")
    if not isinstance(id, str | Sequence):
        raise DefinitionError(f"id must be a name or a list of names, got {id!r}")
    ids = (id,) if isinstance(id, str) else tuple(id)
    # Raise the engine's errors here, on the driver, instead of in a worker.
    engine = Engine(definition, schema, emit, ids)
    result = result_schema(definition, schema, types, engine.columns)
    if REVISION in engine.result.names:
        result = result.append(engine.result.field(REVISION))
    return Job(
        definition=definition,
        schema=schema,
        result=_with_lateness(result) if late == "side" else result,
        emit=emit,
        id=ids,
        side=late == "side",
        about=describe(definition, schema, result, buckets, emit, ids),
        tag=uuid4().hex,
        cache_bytes=cache_bytes,
    )


def bucket_count(definition: Rolling, buckets: int | None) -> int:
    """Return the given number of buckets, or the default."""
    if buckets is None:
        return BUCKETS if definition.by else 1
    if isinstance(buckets, bool) or not isinstance(buckets, int) or not 1 <= buckets < 1 << 20:
        raise DefinitionError(f"buckets must be an integer from 1 to 2**20 - 1, got {buckets!r}")
    if buckets > 1 and not definition.by:
        raise DefinitionError(f"buckets must be 1 without by=, got {buckets}")
    return buckets


def _require_one_of(what: str, given: object, known: Sequence[str]) -> None:
    if given not in known:
        raise DefinitionError(f"{what} must be one of {', '.join(known)}, got {given!r}")


def _require_watermark(data: DataFrame, on: str) -> None:
    """Refuse a stream without a watermark on the time column."""
    watermarked = [
        field.name for field in data.schema.fields if WATERMARK in (field.metadata or {})
    ]
    if on in watermarked:
        return
    if watermarked:
        raise DefinitionError(
            f"expected the watermark on {on!r}, the time column of the definition, got one on "
            f"{watermarked[0]!r}"
        )
    raise DefinitionError(
        "the stream has no watermark: set how late rows may be, as in "
        f"run(df.withWatermark({on!r}, '10 minutes'))"
    )


def _with_lateness(schema: Any) -> Any:
    for name in (LATE, REASON):
        if name in schema.names:
            raise ColumnError(
                f"late='side' adds the column {name!r}, which exists already: rename it"
            )
    return schema.append(pa.field(LATE, pa.bool_())).append(pa.field(REASON, pa.string()))
