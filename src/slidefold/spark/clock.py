"""Times as integers in Spark expressions, independent of the session's time zone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as fn
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

_MICROS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000}


def steps(column: str, kind: DataType) -> Column:
    """Return a column of times in the engine's unit: microseconds, days, or integers as given."""
    if isinstance(kind, TimestampType):
        return fn.unix_micros(fn.col(column))
    if isinstance(kind, DateType):
        return fn.unix_date(fn.col(column)).cast("long")
    if isinstance(kind, TimestampNTZType):
        # A cast to an instant would use the session's zone, where some hours are skipped or
        # repeated; the time since 1970 has no zone.
        passed = f"({column} - TIMESTAMP_NTZ'1970-01-01 00:00:00')"
        parts = [f"extract({unit} FROM {passed}) * {size}L" for unit, size in _MICROS.items()]
        seconds = f"CAST(extract(SECOND FROM {passed}) * 1000000 AS BIGINT)"
        return fn.expr(" + ".join([*parts, seconds]))
    return fn.col(column).cast("long")


def choose(value: Column, edges: Sequence[int], choices: Sequence[Any]) -> Column:
    """Return the choice for the segment of a value, with a balanced tree of comparisons.

    Choice g applies from edge g-1 on. Equal neighbours are merged, which saves a comparison.
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
