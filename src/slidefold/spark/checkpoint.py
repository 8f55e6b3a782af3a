"""Read a checkpoint: its query, the rows in its state, those that wait, and where it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from os import PathLike
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from slidefold.definition.rolling import Rolling
from slidefold.errors import ColumnError, StateError
from slidefold.live.lateness import NEWEST
from slidefold.spark.engines import maker_of
from slidefold.spark.log import DictStore, Log, head_of
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


def folder_of(checkpoint: object) -> str:
    """Return the folder of a checkpoint as text; it may be given as a path."""
    if not isinstance(checkpoint, str | PathLike) or not os.fspath(checkpoint):
        raise StateError(f"checkpoint must be the folder of a query, got {checkpoint!r}")
    return str(os.fspath(checkpoint))


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
    checkpoint: str | PathLike[str],
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
    state = _State.of(checkpoint, spark, operator)
    schema, result = state.schema, schema_from(state.stored["result"])
    rolling = definition if definition is not None else definition_from(state.about)
    # Without the columns that emit='revise' appends: these are current results.
    keys = len(schema) if rolling.slide is None else len(rolling.by) + 2
    result = pa.schema(list(result)[: keys + len(rolling.columns)])

    def read(log: Log) -> Any:
        logged = list(log.read(log.head.oldest))
        head = log.head
        # With any emit= of the query, return the current results.
        engine = maker_of(rolling, schema, "final", ()).rebuild(logged, head.emitted, head.horizon)
        return engine.take(schema.empty_table(), NEWEST)

    return state.rows(read, result)


def export_state(
    checkpoint: str | PathLike[str],
    *,
    pending: str | None = "pending",
    spark: SparkSession | None = None,
    operator: int = 0,
) -> DataFrame:
    """Read the input rows that the state of a query holds, as a DataFrame.

    These are the rows that its windows may still need. The column `pending` is true in rows whose
    result is not out yet; `pending=` gives it another name, or None leaves it out. In rows whose
    result is out, columns that the definition does not use may be null. The query may be stopped or
    running; the state of its last committed batch is read. `operator` is the number of the stateful
    operator in a query that has several.
    """
    state = _State.of(checkpoint, spark, operator)
    schema, stored = state.schema, state.stored
    if pending is not None and not isinstance(pending, str):
        raise ColumnError(f"pending must be the name of a column or None, got {pending!r}")
    if pending in schema.names:
        raise ColumnError(
            f"the rows have a column {pending!r} already: give pending= another name, or None"
        )
    on, arrives = stored["on"], stored["emit"] in ("arrival", "revise")
    fields = [field.with_nullable(True) for field in schema]
    result = pa.schema([*fields, *([] if pending is None else [pa.field(pending, pa.bool_())])])

    def read(log: Log) -> Any:
        # A row is in one entry only: a snapshot replaces all entries before it.
        parts = [entry.rows for entry in log.read(log.head.oldest)]
        plain = pa.schema(fields)
        rows = pa.concat_tables([plain.empty_table(), *(conform(part, plain) for part in parts)])
        emitted, horizon = log.head.emitted, log.head.horizon
        times = rows[on].cast(pa.int64())
        if horizon is not None:
            rows, times = (part.filter(pc.greater(times, horizon)) for part in (rows, times))
        if pending is None:
            return rows
        waits = not arrives if emitted is None else pc.greater(times, emitted)
        waits = pa.array([waits] * len(rows)) if isinstance(waits, bool) else waits
        return rows.append_column(pending, pc.and_(waits, not arrives))

    return state.rows(read, result)


def emitted_until(
    checkpoint: str | PathLike[str], *, spark: SparkSession | None = None, operator: int = 0
) -> datetime:
    """Return the time up to which a stopped query has emitted all its results, in UTC.

    A new query continues exactly there with `run(stream, initial=history, after=time)`: this query
    has emitted all results up to it, and none after it.
    """
    state = _State.of(checkpoint, spark, operator)
    emit = state.stored["emit"]
    if emit != "final":
        raise StateError(
            f"emit={emit!r} does not emit results in the order of time, so no time divides those "
            "that are out from the others: only emit='final' queries can be continued by another"
        )
    known = [log.emitted for log in map(head_of, state.heads.values()) if log.emitted is not None]
    if not known:
        raise StateError(
            f"the query of {checkpoint} has emitted nothing yet: start the new one without it"
        )
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=max(known))


@dataclass(frozen=True)
class _State:
    """The state of one slidefold operator in a checkpoint."""

    heads: dict[int, tuple[Any, ...]]
    about: str
    entries: DataFrame
    marks: DataFrame

    @classmethod
    def of(
        cls, checkpoint: str | PathLike[str], spark: SparkSession | None, operator: int
    ) -> _State:
        """Read the heads of all buckets, and plan to read their entries."""
        session = spark or SparkSession.getActiveSession()
        if session is None:
            raise StateError("reading a checkpoint needs an active Spark session: pass spark=")
        folder = folder_of(checkpoint)

        def state(name: str) -> DataFrame:
            return _state(session, folder, name, operator)

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

        def versions(name: str, columns: Sequence[str]) -> DataFrame:
            values = (f"user_map_value.{column}" for column in columns)
            return state(name).selectExpr("key.bucket", "user_map_key.version", *values)

        entries, marks = versions("entries", ENTRY.names), versions("marks", MARK.names)
        return cls(heads, about[0], entries, marks)

    @property
    def stored(self) -> dict[str, Any]:
        """The description of the query."""
        stored: dict[str, Any] = json.loads(self.about)
        return stored

    @property
    def schema(self) -> Any:
        """The Arrow schema of the input."""
        return schema_from(self.stored["schema"])

    def rows(self, read: Callable[[Log], Any], result: Any) -> DataFrame:
        """Return the tables that `read` makes of the log of each bucket."""
        heads, schema, identity = self.heads, self.schema, digest(self.about)
        sent = sendable(result)

        def of_bucket(table: Any) -> Any:
            store = DictStore()
            for row in table.to_pylist():
                store.entries[row["version"]] = row["data"]
                store.marks[row["version"]] = tuple(row[name] for name in MARK.names)
            store.head = heads[table["bucket"][0].as_py()]
            return conform(read(Log(store, schema, identity)), sent)

        logs = self.entries.join(self.marks, ["bucket", "version"])
        made = logs.groupBy("bucket").applyInArrow(for_workers(of_bucket), spark_schema(sent))
        return named(made, result.names)
