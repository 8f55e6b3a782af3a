"""Operators in plain Python: what each gives for the values of one window."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.support.more_cases import shape


@dataclass(frozen=True)
class Held:
    """What an operator folds: values without nulls, their times, and where the window ends."""

    values: list[Any]
    times: list[int]
    end: int
    own: Any
    params: dict[str, Any]


def rank_key(value: Any) -> Any:
    """Order numbers with NaN above all others, and equal to itself."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value + 0.0)
    return (False, value)


def _sum(h: Held) -> Any:
    if not h.values:
        return None
    if isinstance(h.values[0], int):
        return sum(h.values)
    odd = [x for x in h.values if not math.isfinite(x)]
    return math.fsum(h.values) if not odd else sum(odd)


def _mean(h: Held) -> float | None:
    if not h.values:
        return None
    if all(map(math.isfinite, h.values)):
        return float(sum(map(Fraction, h.values)) / len(h.values))
    return float(_sum(h))


def _variance(h: Held) -> float | None:
    if len(h.values) < 2:
        return None
    if not all(map(math.isfinite, h.values)):
        return math.nan
    exact = [Fraction(x) for x in h.values]
    mean = sum(exact, Fraction()) / len(exact)
    return float(sum(((x - mean) ** 2 for x in exact), Fraction()) / (len(exact) - 1))


def _shape(power: int) -> Callable[[Held], Any]:
    def folded(h: Held) -> float | None:
        if len(h.values) < power:
            return None
        if not all(map(math.isfinite, h.values)):
            return math.nan
        return shape(h.values, power)

    return folded


def counted(values: Sequence[Any]) -> list[tuple[Any, int]]:
    """Return values with their counts, the most frequent first, then the smallest."""
    names = {rank_key(value): value for value in reversed(values)}
    counts = Counter(rank_key(value) for value in values)
    return [(names[key], n) for key, n in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]


def _entropy(h: Held) -> float | None:
    n = len(h.values)
    return -math.fsum(c / n * math.log(c / n) for _, c in counted(h.values)) + 0.0 if n else None


def _rank(h: Held) -> float | None:
    if h.own is None or not h.values:
        return None
    keys, own = [rank_key(value) for value in h.values], rank_key(h.own)
    least = 1 + sum(key < own for key in keys)
    most = max(least, sum(key <= own for key in keys))
    found = {"min": least, "max": most}.get(h.params.get("method", "average"), (least + most) / 2)
    return found / len(keys) if h.params.get("pct") else float(found)


def _median(h: Held) -> float | None:
    if not h.values:
        return None
    ordered = sorted(h.values, key=rank_key)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return float(low) if low == high else (low + high) / 2


def _extreme(pick: Any, pairs: Sequence[tuple[Any, Any]]) -> Any:
    return pick(pairs, key=lambda pair: rank_key(pair[1]))[0] if pairs else None


def _weighted(h: Held) -> float | None:
    if not h.values:
        return None
    weight = sum((Fraction(w) for _, w in h.values), Fraction())
    product = sum((Fraction(x) * Fraction(w) for x, w in h.values), Fraction())
    return float(product / weight) if weight else None


def _decayed(h: Held, values: Sequence[float]) -> float | None:
    life = h.params["half_life"]
    ages = [h.end - t for t in h.times]
    return math.fsum(x * 2.0 ** (-a / life) for x, a in zip(values, ages, strict=True)) + 0.0


def _distinct(h: Held) -> list[Any] | None:
    found: dict[Any, Any] = {}
    for value in h.values:
        found.setdefault(rank_key(value), value)
    return list(found.values()) or None


FOLDS: dict[str, Callable[[Held], Any]] = {
    "count": lambda h: len(h.values),
    "sum": _sum,
    "mean": _mean,
    "var": _variance,
    "min": lambda h: min(h.values, key=rank_key) if h.values else None,
    "max": lambda h: max(h.values, key=rank_key) if h.values else None,
    "first": lambda h: h.values[0] if h.values else None,
    "last": lambda h: h.values[-1] if h.values else None,
    "nth": lambda h: h.values[-h.params["n"]] if len(h.values) >= h.params["n"] else None,
    "collect": lambda h: list(h.values) if h.values else None,
    "collect_distinct": _distinct,
    "concat": lambda h: "".join(h.values) if h.values else None,
    "any": lambda h: any(h.values) if h.values else None,
    "all": lambda h: all(h.values) if h.values else None,
    "median": _median,
    "distinct": lambda h: len(counted(h.values)) if h.values else None,
    "mode": lambda h: counted(h.values)[0][0] if h.values else None,
    "entropy": _entropy,
    "most_frequent": lambda h: (
        [{"value": v, "count": n} for v, n in counted(h.values)[: h.params.get("k", 1)]] or None
    ),
    "rank": _rank,
    "skewness": _shape(3),
    "kurtosis": _shape(4),
    "max_by": lambda h: _extreme(max, h.values),
    "min_by": lambda h: _extreme(min, h.values),
    "weighted_mean": _weighted,
    "decayed_sum": lambda h: _decayed(h, [x for x, _ in h.values]) if h.values else None,
    "decayed_count": lambda h: _decayed(h, [1.0] * len(h.values)) if h.values else None,
    "longest_gap": lambda h: max(
        (b - a for a, b in zip(h.times, h.times[1:], strict=False)), default=None
    ),
    "since_last": lambda h: h.end - max(h.times) if h.times else None,
    "since_first": lambda h: h.end - min(h.times) if h.times else None,
}
# Operators whose results are rounded; all others are compared exactly.
ROUNDED = (
    "var",
    "entropy",
    "skewness",
    "kurtosis",
    "decayed_sum",
    "decayed_count",
    "weighted_mean",
)
LISTS = ("collect", "collect_distinct", "most_frequent")
