"""Two-Stacks Lite written by hand with numba, one row after another.

The ring holds the window. Slots from `front` to `middle` hold folds up to `middle`. Slots from
`middle` on hold values, whose fold is `back`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.workloads import Array

Peer = Callable[[Array, int], Array]


def _add(older: float, newer: float) -> float:
    return older + newer


def _larger(older: float, newer: float) -> float:
    return older if older > newer else newer


def _total(fold: float, count: int) -> float:
    return fold


def _mean(fold: float, count: int) -> float:
    return fold / count


# identity, combine, lower. The mean has no count in its state, since the loop knows the count.
PARTS: dict[str, tuple[float, Any, Any]] = {
    "sum": (0.0, _add, _total),
    "max": (-np.inf, _larger, _total),
    "mean": (0.0, _add, _mean),
}


def available() -> bool:
    """Tell whether numba is installed."""
    return find_spec("numba") is not None


@cache
def two_stacks(operator: str, *, drain: bool = False) -> Peer:
    """Return the compiled loop: a result after each insert, over at most `window` values."""
    njit = import_module("numba").njit
    identity, plain_combine, plain_lower = PARTS[operator]
    combine, lower = njit(plain_combine), njit(plain_lower)

    def loop(values: Array, window: int) -> Array:
        capacity = 1
        while capacity < window:
            capacity *= 2
        mask = capacity - 1
        ring = np.empty(capacity)
        out = np.empty(len(values))
        front, middle, back = 0, 0, identity
        for row in range(len(values)):
            evictions = 0
            if row - front == window:
                evictions = window if drain else 1
            for _ in range(evictions):
                if front == middle:
                    fold = identity
                    for i in range(row - 1, front - 1, -1):
                        fold = combine(ring[i & mask], fold)
                        ring[i & mask] = fold
                    middle, back = row, identity
                front += 1
            ring[row & mask] = values[row]
            back = combine(back, values[row])
            whole = combine(ring[front & mask], back) if front < middle else back
            out[row] = lower(whole, row + 1 - front)
        return out

    compiled: Peer = njit(loop)
    compiled(np.ones(4), 2)  # compile before the timing starts
    return compiled
