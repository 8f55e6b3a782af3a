"""Times as integers in Spark expressions, independent of the session's time zone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

_MICROS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000}


def steps(column: str, kind: DataType) -> Column:
    """Return a column of times in the engine's unit: microseconds, days, or integers as given."""
    return fn.expr(steps_sql(column, kind))


def steps_sql(column: str, kind: DataType) -> str:
    """Return `steps` as the text of an expression; the column is a plain identifier."""
    if isinstance(kind, TimestampType):
        return f"unix_micros({column})"
    if isinstance(kind, DateType):
        return f"CAST(unix_date({column}) AS BIGINT)"
    if isinstance(kind, TimestampNTZType):
        # A cast to an instant would use the session's zone, where some hours are skipped or
        # repeated; the time since 1970 has no zone.
        passed = f"({column} - TIMESTAMP_NTZ'1970-01-01 00:00:00')"
        parts = [f"extract({unit} FROM {passed}) * {size}L" for unit, size in _MICROS.items()]
        seconds = f"CAST(extract(SECOND FROM {passed}) * 1000000 AS BIGINT)"
        return " + ".join([*parts, seconds])
    return f"CAST({column} AS BIGINT)"


def located(
    data: DataFrame, time: str, edges: Sequence[Sequence[int]]
) -> tuple[DataFrame, Callable[[Sequence[Sequence[Any]]], Column]]:
    """Find the segment of each row between the edges of its part, by a binary search.

    The column `part` has the number of each row's part. Return the data with a column `place`, and
    a function that makes a column of each row's choice from those of all parts: choice g of a part
    applies from its edge g-1 on.

    The search takes one column per level, with the edges of the level in a constant array. There
    are few expressions, however many edges.
    """
    levels = max(map(len, edges)).bit_length()
    size = 1 << levels
    padded = [[*(f"{edge}L" for edge in own), *["NULL"] * (size - len(own))] for own in edges]
    columns = [f"{time} AS moment", "part AS at0"]
    for level in range(levels):
        half = size >> level + 1
        nodes = [own[i] for own in padded for i in range(half - 1, size, 2 * half)]
        columns.append(
            f"2 * at{level} + IF(moment >= array({', '.join(nodes)})[at{level}], 1, 0)"
            f" AS at{level + 1}"
        )
    found = data.selectExpr("*", *columns)
    found = found.select(*data.columns, fn.col(f"at{levels}").alias("place"))

    def choice(choices: Sequence[Sequence[Any]]) -> Column:
        each = [[*own, *[own[0]] * (size - len(own))] for own in choices]
        return fn.expr(f"{literal([one for own in each for one in own])}[place]")

    return found, choice


def literal(item: Any) -> str:
    """Return a number or a list as the text of an expression.

    >>> literal([[0, 1], [2]])
    'array(array(0, 1), array(2))'
    """
    return f"array({', '.join(map(literal, item))})" if isinstance(item, list) else str(item)
