"""Run a batch for a period only: the predicate on time reaches the source, results stay in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

from slidefold.columns.backfill import known_period
from slidefold.definition.period import Bounds
from slidefold.definition.rolling import Rolling
from slidefold.spark.types import arrow_schema


def history(
    definition: Rolling, data: DataFrame, since: Any = None, until: Any = None
) -> DataFrame:
    """Return the rows of data that the windows of a period need."""
    given = arrow_schema(data.schema)
    reads = known_period(definition, given.field(definition.on).type, since, until).reads
    place = given.get_field_index(definition.on)
    numbered = data.toDF(*[f"c{i}" for i in range(len(given))])
    return between(numbered, f"c{place}", reads).toDF(*data.columns)


def between(data: DataFrame, name: str, bounds: Bounds) -> DataFrame:
    """Return the rows whose times are inside bounds, or null, so that the run rejects those.

    The predicate compares the column itself with constants: Spark prunes partitions with it, and
    Parquet skips files and row groups.
    """
    kind, column = data.schema[name].dataType, fn.col(name)
    limits = [None if bound is None else _constant(bound, kind) for bound in bounds]
    tests: list[Column] = []
    if limits[0] is not None:
        tests.append(column >= limits[0])
    if limits[1] is not None:
        tests.append(column <= limits[1])
    for test in tests:
        data = data.where(column.isNull() | test)
    return data


def _constant(steps: int, kind: DataType) -> Column | None:
    """Return a time in steps as a constant of a type; None if Spark has no such time."""
    if not isinstance(kind, DateType | TimestampType | TimestampNTZType):
        return fn.lit(steps)
    unit = timedelta(days=1) if isinstance(kind, DateType) else timedelta(microseconds=1)
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + steps * unit
    except OverflowError:
        return None
    if isinstance(kind, DateType):
        return fn.lit(moment.date())
    if isinstance(kind, TimestampType):
        return fn.timestamp_micros(fn.lit(steps))
    return fn.expr(f"TIMESTAMP_NTZ'{moment.replace(tzinfo=None).isoformat(' ')}'")
