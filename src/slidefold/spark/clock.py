"""Times as whole numbers in Spark's own expressions, whatever the zone of the session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as fn
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

_MICROS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000}


def steps(column: str, kind: DataType) -> Column:
    """Return a column of times as the engine counts them: microseconds, days, or as they are."""
    if isinstance(kind, TimestampType):
        return fn.unix_micros(fn.col(column))
    if isinstance(kind, DateType):
        return fn.unix_date(fn.col(column)).cast("long")
    if isinstance(kind, TimestampNTZType):
        # A cast to an instant would go through the session's zone, where hours are missing or
        # come twice; the time that passed since 1970 does not.
        passed = f"({column} - TIMESTAMP_NTZ'1970-01-01 00:00:00')"
        parts = [f"extract({unit} FROM {passed}) * {size}L" for unit, size in _MICROS.items()]
        seconds = f"CAST(extract(SECOND FROM {passed}) * 1000000 AS BIGINT)"
        return fn.expr(" + ".join([*parts, seconds]))
    return fn.col(column).cast("long")


def choose(value: Column, edges: Sequence[int], choices: Sequence[Any]) -> Column:
    """Return the choice for the segment that a value is in: a balanced tree of comparisons.

    Choice g is for values from edge g-1 on. Neighbours that are equal take one comparison less.
    """
    kept_edges: list[int] = []
    kept = [choices[0]]
    for edge, choice in zip(edges, choices[1:], strict=True):
        if choice != kept[-1]:
            kept_edges.append(edge)
            kept.append(choice)
    return _tree(value, kept_edges, kept)


def _tree(value: Column, edges: Sequence[int], choices: Sequence[Any]) -> Column:
    if not edges:
        return fn.lit(choices[0])
    half = len(edges) // 2
    return fn.when(
        value >= fn.lit(edges[half]).cast("long"),
        _tree(value, edges[half + 1 :], choices[half + 1 :]),
    ).otherwise(_tree(value, edges[:half], choices[: half + 1]))
