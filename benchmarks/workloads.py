"""Columns and operators for several figures, and functions that run an algorithm on a column."""

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

# The operators of the throughput figure by their reported name.
OPERATORS: dict[str, Callable[[], sf.Operator]] = {
    "sum": sf.sum,
    "max": sf.max,
    "mean": sf.mean,
    "geomean": sf.geomean,
    "sum_int64": lambda: sf.sum(dtype="int64"),
    "bloom": lambda: sf.bloom(dtype="int64"),
}
INTEGERS = ("sum_int64", "bloom")

# The algorithms that run a fixed range over a whole column, not event by event.
BOUNDARY = ("Sba", "Pba")


def column(rows: int, operator: str = "sum") -> Array:
    """Return random values for an operator: positive floats, or integers."""
    random = np.random.default_rng(SEED)
    if operator in INTEGERS:
        return random.integers(0, 1_000_000, rows)
    return random.random(rows) + 0.5


def event_algorithms(operator: sf.Operator) -> dict[str, type[Any]]:
    """Return the event-by-event algorithms that support `operator`, by name."""
    supported: dict[str, type[Any]] = {}
    for name, algorithm in algorithms.REGISTRY.items():
        if algorithm.__name__ in BOUNDARY:
            continue
        try:
            algorithm(operator)
        except PairError:
            continue
        supported[name] = algorithm
    return supported


def boundary_algorithms() -> dict[str, type[Any]]:
    """Return Sba and Pba by name, if they exist."""
    classes = {name: getattr(algorithms, name, None) for name in BOUNDARY}
    return {name.lower(): algorithm for name, algorithm in classes.items() if algorithm is not None}


def sliders(operator: sf.Operator, *, drain: bool) -> dict[str, Slide]:
    """Return every algorithm that supports `operator`, as a function of values and window."""
    functions: dict[str, Slide] = {}
    for name, algorithm in event_algorithms(operator).items():
        functions[name] = _slider(algorithm(operator), drain)
    if not drain:
        for name, algorithm in boundary_algorithms().items():
            functions[name] = _boundary_slider(algorithm, operator)
    return functions


def _slider(ready: Any, drain: bool) -> Slide:
    if drain:
        return lambda values, window: ready.slide(values, window, drain=True)
    slide: Slide = ready.slide
    return slide


def _boundary_slider(algorithm: type[Any], operator: sf.Operator) -> Slide:
    return lambda values, window: algorithm(operator, range=window, slide=1).slide(values)
