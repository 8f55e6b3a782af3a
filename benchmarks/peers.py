"""Peers of slidefold, event by event: river, `rolling`, plain Python.

A peer creates a `Drive(operator, window)`: a function that feeds values one by one, takes the
result after each, and returns the last result. All peers do the same work, each in its fastest way.
The numba loop over whole columns is in `numba_peer.py`.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any

Drive = Callable[[Sequence[float]], float | None]


def each(push: Callable[[float], float | None]) -> Drive:
    """Return a plain loop over a `push` method."""

    def drive(values: Sequence[float]) -> float | None:
        result = None
        for value in values:
            result = push(value)
        return result

    return drive


# ---- river and rolling ------------------------------------------------------------------------


def river_rolling(operator: str, window: int) -> Drive:
    """Use river's rolling statistics; max has its own class, since it cannot be reverted."""
    stats, utils = import_module("river.stats"), import_module("river.utils")
    if operator == "max":
        statistic = stats.RollingMax(window_size=window)
    else:
        statistic = utils.Rolling(
            {"sum": stats.Sum, "mean": stats.Mean}[operator], window_size=window
        )
    update, get = statistic.update, statistic.get

    def drive(values: Sequence[float]) -> float | None:
        result = None
        for value in values:
            update(value)
            result = get()
        return result

    return drive


def _rolling_class(operator: str) -> Any:
    return getattr(import_module("rolling"), operator.capitalize())


def rolling_iterator(operator: str, window: int) -> Drive:
    """Use `rolling` as intended: an iterator over existing values."""
    make = _rolling_class(operator)

    def drive(values: Sequence[float]) -> float | None:
        result = None
        for answer in islice(make(values, window, window_type="variable"), len(values)):
            result = answer
        return result

    return drive


def rolling_live(operator: str, window: int) -> Drive:
    """Feed `rolling` one value at a time, through an endless iterator."""
    waiting: list[float] = []
    source = iter(waiting.pop, None)
    roller = _rolling_class(operator)(source, window, window_type="variable")
    put, step = waiting.append, roller.__next__

    def drive(values: Sequence[float]) -> float | None:
        result = None
        for value in values:
            put(value)
            result = step()
        return result

    return drive


# ---- plain Python -----------------------------------------------------------------------------


class RunningSum:
    """A running sum over a deque."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.values: deque[float] = deque()
        self.total = 0.0

    def push(self, value: float) -> float:
        self.values.append(value)
        self.total += value
        if len(self.values) > self.window:
            self.total -= self.values.popleft()
        return self.total


class RunningMean(RunningSum):
    """The running sum divided by the number of values."""

    def push(self, value: float) -> float:
        return super().push(value) / len(self.values)


class MonotonicMax:
    """A deque of the values that may still become the maximum, largest first, with positions."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.best: deque[tuple[int, float]] = deque()
        self.row = 0

    def push(self, value: float) -> float:
        best = self.best
        while best and best[-1][1] <= value:
            best.pop()
        best.append((self.row, value))
        if best[0][0] <= self.row - self.window:
            best.popleft()
        self.row += 1
        return best[0][1]


def python_class(operator: str, window: int) -> Drive:
    """Use a small class with a `push` method."""
    kinds: dict[str, Any] = {"sum": RunningSum, "mean": RunningMean, "max": MonotonicMax}
    return each(kinds[operator](window).push)


def python_inlined(operator: str, window: int) -> Drive:
    """Use the tightest loop of plain Python, which calls only methods of the deque."""

    def running_sum(values: Sequence[float]) -> float:
        held = deque([0.0] * window, maxlen=window)
        append, total = held.append, 0.0
        for value in values:
            total += value - held[0]
            append(value)
        return total

    def running_mean(values: Sequence[float]) -> float:
        held = deque([0.0] * window, maxlen=window)
        append, total, count, result = held.append, 0.0, 0, 0.0
        for value in values:
            total += value - held[0]
            append(value)
            if count < window:
                count += 1
            result = total / count
        return result

    def monotonic_max(values: Sequence[float]) -> float | None:
        rows: deque[int] = deque()
        best: deque[float] = deque()
        result = None
        for row, value in enumerate(values):
            while best and best[-1] <= value:
                best.pop()
                rows.pop()
            best.append(value)
            rows.append(row)
            if rows[0] <= row - window:
                rows.popleft()
                best.popleft()
            result = best[0]
        return result

    loops: dict[str, Drive] = {
        "sum": running_sum,
        "mean": running_mean,
        "max": monotonic_max,
    }
    return loops[operator]


def available() -> dict[str, Callable[[str, int], Drive]]:
    """Return the peers whose packages are installed, by their reported name."""
    peers: dict[str, Callable[[str, int], Drive]] = {
        "python inlined": python_inlined,
        "python class": python_class,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of other packages
        if find_spec("river") is not None:
            import_module("river.stats")
            peers["river"] = river_rolling
        if find_spec("rolling") is not None:
            import_module("rolling")
            peers["rolling iterator"] = rolling_iterator
            peers["rolling live"] = rolling_live
    return peers
