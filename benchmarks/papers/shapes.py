"""Shapes of curves, computed from numbers: flat, logarithmic, who wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np

from benchmarks.harness import Row
from benchmarks.papers.figure import where


def spread(values: Iterable[float]) -> float:
    """Return the largest value divided by the smallest.

    >>> spread([2.0, 3.0, 4.0])
    2.0
    """
    numbers = list(values)
    return max(numbers) / min(numbers)


def per_doubling(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return the least-squares growth of y per doubling of x, and r squared.

    >>> per_doubling([1, 2, 4, 8], [3, 5, 7, 9])
    (2.0, 1.0)
    """
    logs, values = np.log2(np.asarray(x, float)), np.asarray(y, float)
    slope, start = np.polyfit(logs, values, 1)
    left = values - (slope * logs + start)
    total = float(((values - values.mean()) ** 2).sum())
    fit = 1.0 if total == 0 else 1 - float((left**2).sum()) / total
    return round(float(slope), 6), round(fit, 6)


def values(rows: Sequence[Row], name: str, **keys: object) -> list[float]:
    """Return one number of each row with these keys."""
    return [float(row[name]) for row in where(rows, **keys) if name in row]


def ratios(rows: Sequence[Row], name: str, over: str, under: str, *, by: str) -> list[float]:
    """Return `over` divided by `under` at each value of `by` that both have."""
    top = {row[by]: row[name] for row in where(rows, side=over) if name in row}
    bottom = {row[by]: row[name] for row in where(rows, side=under) if name in row}
    return [top[key] / bottom[key] for key in top if key in bottom]


def typical(numbers: Sequence[float]) -> float:
    """Return the median, or NaN of nothing."""
    return float(median(numbers)) if numbers else float("nan")


def best(rows: Sequence[Row], name: str, *, largest: bool = True) -> str:
    """Return the side with the best typical number."""
    sides = dict.fromkeys(str(row["side"]) for row in rows if name in row)
    score = {side: typical(values(rows, name, side=side)) for side in sides}
    return max(score, key=lambda side: score[side] if largest else -score[side])
