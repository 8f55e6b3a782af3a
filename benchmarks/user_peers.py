"""User operators, and the same folds without slidefold: by hand and with libraries.

The two operators are (n, sum, sumsq), whose result is the variance, and the longest rise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import slidefold as sf
from benchmarks.workloads import Array

Peer = Callable[[Array, int], Any]


@sf.operator(
    state={"n": "i8", "sum": "f8", "sumsq": "f8"},
    returns="f8",
    commutative=True,
)
class Moments(sf.Fold):
    """The variance of the values in the window, from three sums."""

    @staticmethod
    def identity() -> Any:
        return (0, 0.0, 0.0)

    @staticmethod
    def lift(x: float) -> Any:
        return (1, x, x * x)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        return (older.n + newer.n, older.sum + newer.sum, older.sumsq + newer.sumsq)

    @staticmethod
    def lower(state: Any) -> Any:
        return state.sumsq / state.n - (state.sum / state.n) ** 2


@sf.operator(
    state={"n": "i8", "best": "i8", "head": "i8", "tail": "i8", "first": "f8", "last": "f8"},
    returns="i8",
)
class LongestRise(sf.Fold):
    """The length of the longest run of rising values."""

    @staticmethod
    def identity() -> Any:
        return (0, 0, 0, 0, 0.0, 0.0)

    @staticmethod
    def lift(x: float) -> Any:
        return (1, 1, 1, 1, x, x)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        if older.n == 0:
            return newer
        if newer.n == 0:
            return older
        n, best = older.n + newer.n, max(older.best, newer.best)
        if older.last >= newer.first:
            return (n, best, older.head, newer.tail, older.first, newer.last)
        run = older.tail + newer.head
        head = older.n + newer.head if older.head == older.n else older.head
        tail = newer.n + older.tail if newer.tail == newer.n else newer.tail
        return (n, max(best, run), head, tail, older.first, newer.last)

    @staticmethod
    def lower(state: Any) -> Any:
        return state.best


OPERATORS: dict[str, Callable[[], sf.Operator]] = {"moments": Moments, "longest_rise": LongestRise}


# ---- two-stacks by hand, in numba -------------------------------------------------------------


def moments_loop(values: Array, window: int) -> Array:
    """Compute the variance with three rings, where `numba_peer.two_stacks` has one."""
    capacity = 1
    while capacity < window:
        capacity *= 2
    mask = capacity - 1
    sums, squares = np.empty(capacity), np.empty(capacity)
    counts = np.empty(capacity, np.int64)
    out = np.empty(len(values))
    front, middle = 0, 0
    back_n, back_sum, back_squares = 0, 0.0, 0.0
    for row in range(len(values)):
        if row - front == window:
            if front == middle:
                n, total, square = 0, 0.0, 0.0
                for i in range(row - 1, front - 1, -1):
                    at = i & mask
                    n += counts[at]
                    total = sums[at] + total
                    square = squares[at] + square
                    counts[at], sums[at], squares[at] = n, total, square
                middle = row
                back_n, back_sum, back_squares = 0, 0.0, 0.0
            front += 1
        x = values[row]
        at = row & mask
        counts[at], sums[at], squares[at] = 1, x, x * x
        back_n += 1
        back_sum += x
        back_squares += x * x
        n, total, square = back_n, back_sum, back_squares
        if front < middle:
            at = front & mask
            n += counts[at]
            total = sums[at] + total
            square = squares[at] + square
        out[row] = square / n - (total / n) ** 2
    return out


def joined(older: Any, newer: Any) -> Any:
    """Combine two runs: (n, best, head, tail, first, last)."""
    if older[0] == 0:
        return newer
    if newer[0] == 0:
        return older
    n, best = older[0] + newer[0], max(older[1], newer[1])
    if older[5] >= newer[4]:
        return (n, best, older[2], newer[3], older[4], newer[5])
    run = older[3] + newer[2]
    head = older[0] + newer[2] if older[2] == older[0] else older[2]
    tail = newer[0] + older[3] if newer[3] == newer[0] else newer[3]
    return (n, max(best, run), head, tail, older[4], newer[5])


def rise_loop(join: Callable[[Any, Any], Any]) -> Peer:
    """Return the loop for the longest rise, with four integers and two floats per row."""

    def loop(values: Array, window: int) -> Array:
        capacity = 1
        while capacity < window:
            capacity *= 2
        mask = capacity - 1
        runs, ends = np.empty((capacity, 4), np.int64), np.empty((capacity, 2))
        out = np.empty(len(values), np.int64)
        front, middle = 0, 0
        nothing = (0, 0, 0, 0, 0.0, 0.0)
        back = nothing
        for row in range(len(values)):
            if row - front == window:
                if front == middle:
                    fold = nothing
                    for i in range(row - 1, front - 1, -1):
                        run, end = runs[i & mask], ends[i & mask]
                        fold = join((run[0], run[1], run[2], run[3], end[0], end[1]), fold)
                        run[0], run[1], run[2], run[3], end[0], end[1] = fold
                    middle, back = row, nothing
                front += 1
            x = values[row]
            run, end = runs[row & mask], ends[row & mask]
            run[0], run[1], run[2], run[3], end[0], end[1] = 1, 1, 1, 1, x, x
            back = join(back, (1, 1, 1, 1, x, x))
            fold = back
            if front < middle:
                run, end = runs[front & mask], ends[front & mask]
                fold = join((run[0], run[1], run[2], run[3], end[0], end[1]), back)
            out[row] = fold[1]
        return out

    return loop


@cache
def by_hand(operator: str) -> Peer:
    """Return the compiled loop."""
    njit = import_module("numba").njit
    loop: Peer = njit(moments_loop if operator == "moments" else rise_loop(njit(joined)))
    loop(np.ones(4), 2)  # compile before the timing starts
    return loop


# ---- libraries, which call a function for each window -----------------------------------------


def moments_of(window: Array) -> float:
    total, square = 0.0, 0.0
    for x in window:
        total += x
        square += x * x
    return square / len(window) - (total / len(window)) ** 2


def rise_of(window: Array) -> float:
    best, run = 1, 1
    for i in range(1, len(window)):
        run = run + 1 if window[i] > window[i - 1] else 1
        best = max(best, run)
    return float(best)


FUNCTIONS: dict[str, Any] = {"moments": moments_of, "longest_rise": rise_of}


def pandas_numba(operator: str) -> Peer:
    """Use `rolling.apply` with engine="numba"."""
    pandas = import_module("pandas")

    def run(values: Array, window: int) -> Any:
        rolling = pandas.Series(values).rolling(window, min_periods=1)
        return rolling.apply(FUNCTIONS[operator], raw=True, engine="numba")

    run(np.ones(4), 2)
    return run


def polars_map(operator: str) -> Peer:
    """Use `rolling_map` with a compiled function, which is its fastest way."""
    polars = import_module("polars")
    function = import_module("numba").njit(FUNCTIONS[operator])
    function(np.ones(4))

    def run(values: Array, window: int) -> Any:
        series = polars.Series(values)
        return series.rolling_map(
            lambda part: function(part.to_numpy()), window_size=window, min_samples=1
        )

    return run


def libraries(operator: str) -> dict[str, Peer]:
    """Return the installed libraries by their reported name."""
    installed = {}
    if find_spec("pandas") is not None:
        installed["pandas numba"] = pandas_numba(operator)
    if find_spec("polars") is not None:
        installed["polars rolling_map"] = polars_map(operator)
    return installed
