"""What a fold must give, said again without any algorithm: exact arithmetic over a plain list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

ROUNDING = 1e-12


def ieee_sum(values: Sequence[float]) -> float | None:
    """Return the sum: exact, then rounded once; infinities and NaN as IEEE has them."""
    if not values:
        return None
    if all(map(math.isfinite, values)):
        return float(sum(map(Fraction, values)))
    return math.fsum(x for x in values if not math.isfinite(x)) if not _clash(values) else math.nan


def _clash(values: Sequence[float]) -> bool:
    return math.inf in values and -math.inf in values


def mean(values: Sequence[float]) -> float | None:
    """Return the mean: exact, then rounded once."""
    if not values:
        return None
    if all(map(math.isfinite, values)):
        return float(sum(map(Fraction, values)) / len(values))
    return ieee_sum(values)


def variance(values: Sequence[float], ddof: int) -> float | None:
    """Return the variance: exact, then rounded once; NaN if a value is not finite."""
    if len(values) <= ddof:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    exact = [Fraction(x) for x in values]
    center = sum(exact) / len(exact)
    return float(sum((x - center) ** 2 for x in exact) / (len(exact) - ddof))


def deviation(values: Sequence[float], ddof: int) -> float | None:
    """Return the root of the variance."""
    found = variance(values, ddof)
    return None if found is None else math.sqrt(found)


def geometric_mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean by logarithms; 0 if a value is 0, NaN if one is negative."""
    if not values:
        return None
    if any(math.isnan(x) or x < 0 for x in values):
        return math.nan
    if 0 in values:
        return math.nan if math.inf in values else 0.0
    if math.inf in values:
        return math.inf
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _rank(value: float) -> tuple[bool, float]:
    """Order numbers with NaN above all others, and equal to itself."""
    return (True, 0.0) if value != value else (False, value)


def largest(values: Sequence[Any]) -> Any:
    """Return the largest value; NaN if any is."""
    return max(values, key=_rank) if values else None


def smallest(values: Sequence[Any]) -> Any:
    """Return the smallest value; NaN only if all are."""
    return min(values, key=_rank) if values else None


def arg_of_largest(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Return the argument of the largest key, of the oldest such."""
    return max(pairs, key=lambda pair: _rank(pair[1]))[0] if pairs else None


def arg_of_smallest(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Return the argument of the smallest key, of the oldest such."""
    return min(pairs, key=lambda pair: _rank(pair[1]))[0] if pairs else None


def times_largest(values: Sequence[Any]) -> int | None:
    """Return how often the largest value occurs."""
    ranks = [_rank(value) for value in values]
    return ranks.count(max(ranks)) if ranks else None


def times_smallest(values: Sequence[Any]) -> int | None:
    """Return how often the smallest value occurs."""
    ranks = [_rank(value) for value in values]
    return ranks.count(min(ranks)) if ranks else None


# ---- when a result counts as right


def exact(got: Any, truth: Any, values: Sequence[Any] = ()) -> bool:
    """Tell whether two results are the same: type and value; NaN is itself, -0.0 is 0.0."""
    if type(got) is not type(truth):
        return False
    if isinstance(got, list | tuple):
        return len(got) == len(truth) and all(map(exact, got, truth))
    return bool(got == truth) or (got != got and truth != truth)


def within(got: Any, truth: Any, slack: float) -> bool:
    """Tell whether two floats differ by no more than `slack`; None, NaN and infinity exactly."""
    if got is None or truth is None or not math.isfinite(truth):
        return exact(got, truth)
    return isinstance(got, float) and abs(got - truth) <= slack


def near_sum(got: Any, truth: Any, values: Sequence[Any]) -> bool:
    """Compare sums: within 1e-12 of the sum of absolute inputs."""
    return within(got, truth, ROUNDING * _finite_sum(abs, values))


def near_mean(got: Any, truth: Any, values: Sequence[Any]) -> bool:
    """Compare means: within 1e-12 of the mean of absolute inputs."""
    return within(got, truth, ROUNDING * _finite_sum(abs, values) / max(len(values), 1))


def near_variance(got: Any, truth: Any, values: Sequence[Any]) -> bool:
    """Compare variances: within 1e-12 of the squared inputs."""
    return within(got, truth, ROUNDING * _finite_sum(lambda x: float(x) * x, values))


def near_deviation(got: Any, truth: Any, values: Sequence[Any]) -> bool:
    """Compare deviations by their squares."""
    if got is None or truth is None:
        return got is None and truth is None
    return near_variance(got * got, truth * truth, values)


def near_relative(got: Any, truth: Any, values: Sequence[Any]) -> bool:
    """Compare within 1e-12 of the result itself."""
    return within(got, truth, ROUNDING * abs(truth) if truth is not None else 0.0)


def _finite_sum(size: Any, values: Sequence[Any]) -> float:
    return math.fsum(size(x) for x in values if math.isfinite(x))
