"""General Incremental Sliding-Window Aggregation (the Reactive Aggregator): section 6.

RA is FlatFat, ISS is Recalc, AW is BInt. A firing evicts m values, inserts m values and queries.
"""

from __future__ import annotations

from typing import Any

from benchmarks.papers.rounds import total

RA, ISS, AW = "flat_fat", "recalc", "b_int"


def firing(side: str, operator: str, n: int, m: int, count: int, **plan: Any) -> int:
    """Return the nanoseconds or combines of `count` firings; RA repairs its tree once for each."""
    options = {"batch": True} if side == RA and m > 1 else None
    return total(side, operator, window=n, bulk=m, count=count, options=options, **plan)
