"""Expose the algorithms directly, for people who study them.

Each algorithm keeps a window of values in order. `insert(value)` adds a value at the young end,
`evict()` removes the oldest one, and `query()` folds the window (None if it is empty).
`slide(values, window)` runs a whole column in native code. `check()` verifies the algorithm's
numbered invariants; with `checked=True` it also verifies every aggregate against a copy of the
values. With `counted=True`, `combines` is the number of combine calls.

`Sba` and `Pba` are different: range and slide are fixed, old values leave automatically, and `push`
returns a result at each slide.

`Fiba` and `BTree` order values by time and accept late values: `insert(time, value)`,
`evict(time)`, `bulk_insert(times, values)`, `bulk_evict(time)`, `query()` and
`query(since, until)`. `KeyedWindows` keeps a time window for each of many keys in the engine of
`live`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidefold.algorithms.base import Algorithm
from slidefold.algorithms.boundary import (
    Boundary,
    Pba,
    Sba,
    optimal_chunk_rows,
    optimal_chunk_time,
)
from slidefold.algorithms.flat_fat import FlatFat
from slidefold.algorithms.in_order import (
    Amta,
    BInt,
    Daba,
    DabaLite,
    FlatFit,
    Recalc,
    SlickDeque,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
)
from slidefold.algorithms.trees import BTree, Fiba, Tree

if TYPE_CHECKING:
    from slidefold.live.keyed import KeyedWindows

# The algorithms with insert, evict and query, by native name.
REGISTRY: dict[str, type[Algorithm]] = {
    cls.name: cls
    for cls in (
        Recalc,
        SubtractOnEvict,
        TwoStacks,
        TwoStacksLite,
        Daba,
        DabaLite,
        FlatFat,
        BInt,
        FlatFit,
        Amta,
        SlickDeque,
    )
}

# The algorithms that order values by time, by native name.
TREES: dict[str, type[Tree]] = {cls.name: cls for cls in (Fiba, BTree)}

__all__ = [
    "REGISTRY",
    "TREES",
    "Algorithm",
    "Amta",
    "BInt",
    "BTree",
    "Boundary",
    "Daba",
    "DabaLite",
    "Fiba",
    "FlatFat",
    "FlatFit",
    "KeyedWindows",
    "Pba",
    "Recalc",
    "Sba",
    "SlickDeque",
    "SubtractOnEvict",
    "Tree",
    "TwoStacks",
    "TwoStacksLite",
    "optimal_chunk_rows",
    "optimal_chunk_time",
]


def __getattr__(name: str) -> Any:
    if name == "KeyedWindows":  # a face of the engine, which is in a higher layer
        from slidefold.live.keyed import KeyedWindows

        return KeyedWindows
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
