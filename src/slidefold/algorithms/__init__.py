"""The algorithms themselves, for people who study them.

Each keeps a window of values in order: `insert(value)` at the young end, `evict()` at the old
end, `query()` for the fold of what is there (None when it is empty). `slide(values, window)` runs a
whole column in native code. `check()` verifies the algorithm's numbered invariants; with
`checked=True` the contents are kept beside it and every aggregate is verified too. With
`counted=True`, `combines` says how often the operator was called.

`Sba` and `Pba` are different: range and slide are fixed, values leave by themselves, and `push`
returns a result at each slide.

`Fiba` and `BTree` order values by time, which may come late: `insert(time, value)`, `evict(time)`,
`bulk_insert(times, values)`, `bulk_evict(time)`, `query()` and `query(since, until)`.
`KeyedWindows` keeps such a window for each of many keys.
"""

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
    Daba,
    DabaLite,
    FlatFit,
    Recalc,
    SlickDeque,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
)
from slidefold.algorithms.keyed import KeyedWindows
from slidefold.algorithms.trees import BTree, Fiba, Tree

# Those with insert, evict and query, by their native names.
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
        FlatFit,
        Amta,
        SlickDeque,
    )
}

# Those by time.
TREES: dict[str, type[Tree]] = {cls.name: cls for cls in (Fiba, BTree)}

__all__ = [
    "REGISTRY",
    "TREES",
    "Algorithm",
    "Amta",
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
