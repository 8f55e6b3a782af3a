"""Read a checkpoint: the query it belongs to, and the rows that still wait for the watermark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from slidefold.definition.rolling import Rolling
from slidefold.errors import StateError
from slidefold.live.lateness import NEWEST
from slidefold.spark.engines import maker_of
from slidefold.spark.log import DictStore, Log
from slidefold.spark.query_identity import definition_from, digest, require_same, schema_from
from slidefold.spark.store import ENTRY, HEAD, MARK
from slidefold.spark.types import conform, named, sendable, spark_schema
from slidefold.spark.worker import for_workers


def require_checkpoint_of(about: str, checkpoint: str, session: SparkSession) -> None:
    """Refuse the checkpoint of another query before the query starts; it may not exist yet."""
    if not _has_commits(checkpoint, session):
        return
    earlier = list(_abouts(checkpoint, session))
    if not earlier:
        raise StateError(
            f"{checkpoint} is the checkpoint of a query without slidefold: use a new folder"
        )
    same = [before for before in earlier if digest(before) == digest(about)]
    require_same((same or earlier)[0], about)


def _abouts(checkpoint: str, session: SparkSession) -> Iterator[str]:
    """Yield the description of each slidefold operator in a query."""
    try:
        known = session.read.format("state-metadata").load(checkpoint).select("operatorId")
        numbers = sorted({row[0] for row in known.collect()})
    except PySparkException:
        return  # the checkpoint has no state
    for number in numbers:
        try:
            read = _state(session, checkpoint, "about", number).selectExpr("value.about")
            yield from (row[0] for row in read.limit(1).collect())
        except PySparkException:
            continue  # another stateful operator, without our state


def _has_commits(checkpoint: str, session: SparkSession) -> bool:
    # Spark itself reads the folder, since only it can access every file system that it supports.
    try:
        return bool(session.read.text(f"{checkpoint}/commits").head(1))
    except PySparkException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return False


def _state(session: SparkSession, checkpoint: str, name: str, operator: int) -> DataFrame:
    reader = session.read.format("statestore").option("operatorId", operator)
    return reader.option("stateVarName", name).load(checkpoint)


def tail(
    checkpoint: str,
    definition: Rolling | None = None,
    *,
    spark: SparkSession | None = None,
    operator: int = 0,
) -> DataFrame:
    """Read the rows that wait in a checkpoint, with their current results.

    The query may be stopped or running; the state of its last committed batch is read. The
    definition is in the checkpoint: pass it only if your own operator cannot be imported.
    `operator` is the number of the stateful operator in a query that has several.
    """
    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise StateError("reading a checkpoint needs an active Spark session: pass spark=")

    def state(name: str) -> DataFrame:
        return _state(session, checkpoint, name, operator)

    try:
        heads = {
            row["bucket"]: tuple(row[name] for name in HEAD.names)
            for row in state("head").selectExpr("key.bucket", "value.*").collect()
        }
        about = [row[0] for row in state("about").selectExpr("value.about").limit(1).collect()]
    except PySparkException as error:
        reason = str(error).splitlines()[0]
        raise StateError(
            f"{checkpoint} is not the checkpoint of a slidefold query: {reason}"
        ) from None
    if not about:
        raise StateError(f"the checkpoint {checkpoint} has no state yet")
    stored = json.loads(about[0])
    schema, result = schema_from(stored["schema"]), schema_from(stored["result"])
    rolling = definition if definition is not None else definition_from(about[0])
    # Without the columns that emit='revise' appends: these are current results.
    keys = len(schema) if rolling.slide is None else len(rolling.by) + 2
    result = pa.schema(list(result)[: keys + len(rolling.columns)])
    identity = digest(about[0])
    entries = state("entries").selectExpr(
        "key.bucket", "user_map_key.version", *(f"user_map_value.{name}" for name in ENTRY.names)
    )
    marks = state("marks").selectExpr(
        "key.bucket", "user_map_key.version", *(f"user_map_value.{name}" for name in MARK.names)
    )

    def read(table: Any) -> Any:
        store = DictStore()
        for row in table.to_pylist():
            store.entries[row["version"]] = row["data"]
            store.marks[row["version"]] = tuple(row[name] for name in MARK.names)
        store.head = heads[table["bucket"][0].as_py()]
        log = Log(store, schema, identity)
        logged = list(log.read(log.head.oldest))
        head = log.head
        # With any emit= of the query, return the current results.
        engine = maker_of(rolling, schema, "final", ()).rebuild(logged, head.emitted, head.horizon)
        return conform(engine.take(schema.empty_table(), NEWEST), sent)

    sent = sendable(result)
    logs = entries.join(marks, ["bucket", "version"])
    return named(
        logs.groupBy("bucket").applyInArrow(for_workers(read), spark_schema(sent)), result.names
    )
