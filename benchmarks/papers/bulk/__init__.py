"""Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and Insertions: section 7.

b_fiba4 and b_fiba8 evict and insert in bulk; nb_fiba4 and nb_fiba8 are the same trees with loops of
single calls. The others evict and insert one by one, except that amta evicts in bulk.
"""

from __future__ import annotations

from typing import Any

from benchmarks.papers.rounds import rounds
from benchmarks.workloads import Array

IN_ORDER = ("amta", "two_stacks_lite", "daba_lite")
TREES = ("b_fiba4", "b_fiba8", "nb_fiba4", "nb_fiba8")
SIDES = (*IN_ORDER, *TREES)


def run(side: str, operator: str, *, evict: bool = True, insert: bool = True, **plan: Any) -> Array:
    """Run rounds of a side; `evict` and `insert` say which of its bulk calls it may use."""
    bulk = not side.startswith("nb_")
    name = side.removeprefix("nb_").removeprefix("b_")
    return rounds(name, operator, bulk_evict=bulk and evict, bulk_insert=bulk and insert, **plan)


def total(side: str, operator: str, **plan: Any) -> int:
    """Return the nanoseconds or combines of a whole run."""
    return int(run(side, operator, **plan)[0])
