"""The columns and operators that the figures share, and how an algorithm is run on a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import slidefold as sf
from slidefold import algorithms
from slidefold.errors import PairError

Array = NDArray[Any]
Slide = Callable[[Array, int], object]

SEED = 20_130_101

# The operators of the throughput figure by the name under which they are reported.
OPERATORS: dict[str, Callable[[], sf.Operator]] = {
    "sum": sf.sum,
    "max": sf.max,
    "mean": sf.mean,
    "geomean": sf.geomean,
    "sum_int64": lambda: sf.sum(dtype="int64"),
    "bloom": lambda: sf.bloom(dtype="int64"),
}
INTEGERS = ("sum_int64", "bloom")

# The algorithms that run a fixed range over a whole column, not single events.
BOUNDARY = ("Sba", "Pba")


def column(rows: int, operator: str = "sum") -> Array:
    """Random values that suit an operator: positive floats, or integers."""
    random = np.random.default_rng(SEED)
    if operator in INTEGERS:
        return random.integers(0, 1_000_000, rows)
    return random.random(rows) + 0.5


def event_algorithms(operator: sf.Operator) -> dict[str, type[Any]]:
    """The algorithms that take single events and can run `operator`, by name."""
    found: dict[str, type[Any]] = {}
    for name, algorithm in algorithms.REGISTRY.items():
        if algorithm.__name__ in BOUNDARY:
            continue
        try:
            algorithm(operator)
        except PairError:
            continue
        found[name] = algorithm
    return found


def boundary_algorithms() -> dict[str, type[Any]]:
    """Sba and Pba where they exist, by name."""
    found = {name: getattr(algorithms, name, None) for name in BOUNDARY}
    return {name.lower(): algorithm for name, algorithm in found.items() if algorithm is not None}


def sliders(operator: sf.Operator, *, drain: bool) -> dict[str, Slide]:
    """Every algorithm that can run `operator` over a column, as a function of values and window."""
    found: dict[str, Slide] = {}
    for name, algorithm in event_algorithms(operator).items():
        found[name] = _slider(algorithm(operator), drain)
    if not drain:
        for name, algorithm in boundary_algorithms().items():
            found[name] = _boundary_slider(algorithm, operator)
    return found


def _slider(ready: Any, drain: bool) -> Slide:
    if drain:
        return lambda values, window: ready.slide(values, window, drain=True)
    slide: Slide = ready.slide
    return slide


def _boundary_slider(algorithm: type[Any], operator: sf.Operator) -> Slide:
    return lambda values, window: algorithm(operator, range=window, slide=1).slide(values)
