"""What a checkpoint says: whose it is, and the rows that wait for the watermark still."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from slidefold.definition.rolling import Rolling
from slidefold.errors import StateError
from slidefold.live.frames import NEWEST
from slidefold.spark.engines import maker_of
from slidefold.spark.log import DictStore, Log
from slidefold.spark.query_identity import definition_from, digest, require_same, schema_from
from slidefold.spark.store import ENTRY, HEAD, MARK
from slidefold.spark.types import conform, named, sendable, spark_schema


def require_checkpoint_of(about: str, checkpoint: str, session: SparkSession) -> None:
    """Refuse a checkpoint of another query, before one starts with it; none yet is fine."""
    if not _has_commits(checkpoint, session):
        return
    found = list(_abouts(checkpoint, session))
    if not found:
        raise StateError(f"{checkpoint} is the checkpoint of a query without slidefold in it")
    same = [before for before in found if digest(before) == digest(about)]
    require_same((same or found)[0], about)


def _abouts(checkpoint: str, session: SparkSession) -> Iterator[str]:
    """Yield what the parts of a query compute that are ours."""
    try:
        known = session.read.format("state-metadata").load(checkpoint).select("operatorId")
        numbers = sorted({row[0] for row in known.collect()})
    except PySparkException:
        return  # it has no state at all
    for number in numbers:
        try:
            read = _state(session, checkpoint, "about", number).selectExpr("value.about")
            yield from (row[0] for row in read.limit(1).collect())
        except PySparkException:
            continue  # another part of the query, which has no such state


def _has_commits(checkpoint: str, session: SparkSession) -> bool:
    # Any file system that Spark knows, and of those it has no other way to ask.
    jvm: Any = session._jvm
    context: Any = session.sparkContext
    path = jvm.org.apache.hadoop.fs.Path(checkpoint, "commits")
    system = path.getFileSystem(context._jsc.hadoopConfiguration())
    return bool(system.exists(path)) and len(system.listStatus(path)) > 0


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
    """Read the rows that wait in a checkpoint, with the results that they have as of now.

    The query may be stopped or running; what its last committed batch left is read. The definition
    is in the checkpoint: give it only where an operator of your own cannot be imported. `operator`
    is the number of the stateful operator in a query that has several.
    """
    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise StateError("there is no Spark session to read a checkpoint with: give spark=")

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
        raise StateError(f"{checkpoint} is not the checkpoint of such a query: {reason}") from None
    if not about:
        raise StateError(f"the checkpoint {checkpoint} has no state yet")
    said = json.loads(about[0])
    schema, result = schema_from(said["schema"]), schema_from(said["result"])
    found = definition if definition is not None else definition_from(about[0])
    # Without what emit='revise' adds behind: these are results as of now.
    keys = len(schema) if found.slide is None else len(found.by) + 2
    result = pa.schema(list(result)[: keys + len(found.columns)])
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
        # Whatever the query emits, these are the results as of now.
        engine = maker_of(found, schema, "final", ()).rebuild(logged, head.emitted, head.horizon)
        return conform(engine.take(schema.empty_table(), NEWEST), sent)

    sent = sendable(result)
    logs = entries.join(marks, ["bucket", "version"])
    return named(logs.groupBy("bucket").applyInArrow(read, spark_schema(sent)), result.names)
