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


def choose(part: str, value: str, trees: Sequence[tuple[Sequence[int], Sequence[Any]]]) -> Column:
    """Return the choice for the part and the segment of a value, with trees of comparisons.

    Part p has tree p: edges and choices, of which choice g applies from edge g-1 on. All of it is
    the text of one expression: as columns, each node would take several calls to Java, 3 s for 35
    windows in 16 chunks.
    """
    texts = [_tree(value, *_without_equals(*tree)) for tree in trees]
    if len(texts) == 1:
        return fn.expr(texts[0])
    cases = " ".join(f"WHEN {number} THEN {text}" for number, text in enumerate(texts))
    return fn.expr(f"CASE {part} {cases} END")


def _without_equals(edges: Sequence[int], choices: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """Merge equal neighbours, which saves a comparison."""
    kept_edges: list[int] = []
    kept = [choices[0]]
    for edge, choice in zip(edges, choices[1:], strict=True):
        if choice != kept[-1]:
            kept_edges.append(edge)
            kept.append(choice)
    return kept_edges, kept


def _tree(value: str, edges: Sequence[int], choices: Sequence[Any]) -> str:
    if not edges:
        return _literal(choices[0])
    half = len(edges) // 2
    later = _tree(value, edges[half + 1 :], choices[half + 1 :])
    earlier = _tree(value, edges[:half], choices[: half + 1])
    return f"IF({value} >= {edges[half]}L, {later}, {earlier})"


def _literal(choice: Any) -> str:
    """Return a number or a list of numbers as text."""
    if isinstance(choice, list):
        return f"CAST(array({', '.join(map(str, choice))}) AS ARRAY<INT>)"
    return str(choice)
