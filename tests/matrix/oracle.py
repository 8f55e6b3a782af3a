"""What each operator gives, from its documentation alone: plain Python over a list of values.

Integers and decimals are exact; floats are folded as fractions and rounded once. Nulls have been
dropped, and a list is never empty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from tests.matrix.values import Kind

Values = Sequence[Any]


class Overflow:
    """Stands for a `ResultOverflowError`."""


OVERFLOW = Overflow()
INTERPOLATIONS = ("linear", "midpoint", "lower", "higher", "nearest")


def finite(value: Any) -> bool:
    """Tell whether a value is neither infinite nor NaN."""
    return not isinstance(value, float) or math.isfinite(value)


# ---- adding -------------------------------------------------------------------------------------


def _ieee(values: Values) -> float | None:
    """Return what IEEE says of a sum with infinities or NaN, None if all are finite."""
    odd = [x for x in values if not finite(x)]
    if not odd:
        return None
    return math.nan if any(map(math.isnan, odd)) or len({*odd}) > 1 else float(odd[0])


def _exact_sum(values: Values) -> Any:
    if all(isinstance(value, int) for value in values):
        return sum(values)
    return sum(map(Fraction, values))


def total(values: Values, kind: Kind) -> Any:
    """Return the sum: int64 (uint64 of uint64), float64, or exact with ten more digits."""
    odd = _ieee(values)
    if odd is not None:
        return odd
    exact = _exact_sum(values)
    if kind.family == "float":
        return float(exact)
    if kind.family == "decimal":
        digits = min(38, kind.arrow.precision + 10)
        return exact if abs(exact * 10**kind.arrow.scale) < 10**digits else OVERFLOW
    low, high = (0, 2**64) if kind.name == "uint64" else (-(2**63), 2**63)
    return int(exact) if low <= exact < high else OVERFLOW


def mean(values: Values, kind: Kind) -> Any:
    """Return the mean, a float; of durations a duration."""
    odd = _ieee(values)
    exact = None if odd is not None else Fraction(_exact_sum(values), len(values))
    if exact is not None and kind.family == "duration":
        return exact
    return odd if exact is None else float(exact)


def geomean(values: Values, kind: Kind) -> float:
    """Return the geometric mean: 0 if a value is 0, NaN if one is negative."""
    if any(math.isnan(x) or x < 0 for x in values):
        return math.nan
    if 0 in values:
        return math.nan if math.inf in values else 0.0
    if math.inf in values:
        return math.inf
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def central(xs: Values, ys: Values) -> Fraction | None:
    """Return the sum of the products of distances to the means, None if a value is not finite."""
    if not all(map(finite, (*xs, *ys))):
        return None
    if not all(isinstance(value, int) for value in (*xs, *ys)):
        xs, ys = [*map(Fraction, xs)], [*map(Fraction, ys)]
    n = len(xs)
    product = sum(x * y for x, y in zip(xs, ys, strict=True))
    return Fraction(n * product - sum(xs) * sum(ys), n)


def variance(values: Values, kind: Kind, ddof: int) -> float | None:
    """Return the variance; None of `ddof` values or fewer, NaN if a value is not finite."""
    if len(values) <= ddof:
        return None
    spread = central(values, values)
    return math.nan if spread is None else float(spread / (len(values) - ddof))


def deviation(values: Values, kind: Kind, ddof: int) -> float | None:
    """Return the root of the variance."""
    found = variance(values, kind, ddof)
    return found if found is None else math.sqrt(found)


# ---- comparing values ---------------------------------------------------------------------------


def rank(value: Any) -> Any:
    """Return by what values are ordered: NaN is the largest."""
    if isinstance(value, float) and math.isnan(value):
        return (1, 0.0)
    return (0, value)


def largest(values: Values, kind: Kind) -> Any:
    """Return the largest value, NaN if any is."""
    return max(values, key=rank)


def smallest(values: Values, kind: Kind) -> Any:
    """Return the smallest value, NaN only if all are."""
    return min(values, key=rank)


def apart(values: Values, kind: Kind) -> Any:
    """Return the largest less the smallest."""
    if any(isinstance(x, float) and math.isnan(x) for x in values):
        return math.nan
    most, least = max(values), min(values)
    if kind.family == "float":
        if math.isinf(most) or math.isinf(least):
            return most - least
        return float(Fraction(most) - Fraction(least))
    found = Fraction(most) - Fraction(least)
    if kind.family == "decimal":
        return found
    return int(found) if found < (2**64 if kind.name == "uint64" else 2**63) else OVERFLOW


def relative_variation(values: Values, kind: Kind) -> float:
    """Return the range divided by the mean; infinity for a mean of 0, NaN if all values are 0."""
    if not all(map(finite, values)):
        high, low = largest(values, kind), smallest(values, kind)
        if any(isinstance(x, float) and math.isnan(x) for x in values):
            return math.nan
        return _divided(high - low, _ieee(values))
    width = Fraction(max(values)) - Fraction(min(values))
    center = sum(map(Fraction, values)) / len(values)
    if center == 0:
        return math.nan if width == 0 else math.inf
    return float(width / center)


def _divided(top: float, bottom: float | None) -> float:
    return math.nan if bottom is None or (math.isinf(bottom) and math.isinf(top)) else top / bottom


def by(values: Values, kinds: Any, sign: int) -> Any:
    """Return the argument beside the largest (1) or smallest (-1) key, of equal ones the older."""
    keys = [rank(key) for _, key in values]
    best = max(keys) if sign > 0 else min(keys)
    return values[keys.index(best)][0]


def m4(values: Values, kind: Kind) -> dict[str, Any]:
    """Return first, last, min and max."""
    low, high = smallest(values, kind), largest(values, kind)
    return {"first": values[0], "last": values[-1], "min": low, "max": high}


def times(values: Values, kind: Kind, pick: Callable[[Any], Any]) -> int:
    """Return how often the extreme occurs."""
    keys = [rank(value) for value in values]
    return keys.count(pick(keys))


def top(values: Values, kind: Kind, k: int) -> list[Any]:
    """Return the k largest, the largest first."""
    return sorted(values, key=rank, reverse=True)[:k]


def quantile(values: Values, kind: Kind, q: float, how: str) -> Any:
    """Return the value at place q * (n - 1) of the sorted ones, as numpy interpolates."""
    ordered = sorted(values, key=rank)
    place = Fraction(q * (len(ordered) - 1))
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    share = place - math.floor(place)
    if how == "lower" or (how == "nearest" and share < Fraction(1, 2)):
        return low
    if how == "nearest" and share == Fraction(1, 2):
        return ordered[2 * round(place / 2)]  # of two equally near the even place, as numpy
    if how in ("higher", "nearest"):
        return high
    if not (finite(low) and finite(high)):
        return float(low) if share == 0 else _between(low, high)
    share = share if how == "linear" else Fraction(1, 2) if share else share
    between = Fraction(low) + (Fraction(high) - Fraction(low)) * share
    return math.floor(between) if kind.steps_per_second else float(between)


def _between(low: float, high: float) -> float:
    return (
        math.nan
        if math.isnan(high) or (low != high and math.isinf(low) and math.isinf(high))
        else low + high
    )


# ---- truth, bits, bins, order -------------------------------------------------------------------


def truth(values: Values, kind: Kind, how: Callable[[Any], bool]) -> bool:
    """Tell whether any or all values are not 0."""
    return how(bool(value) for value in values)


def bits(values: Values, kind: Kind, how: Callable[[int, int], int]) -> int:
    """Return the integers folded bit by bit."""
    found = values[0]
    for value in values[1:]:
        found = how(found, value)
    return int(found)


def bins(values: Values, kind: Kind, edges: Sequence[float]) -> list[int]:
    """Return how many values lie in each bin; only the last bin has its upper edge."""
    found = [0] * (len(edges) - 1)
    for value in values:
        for i in range(len(found)):
            last = i == len(found) - 1 and value == edges[-1]
            if last or edges[i] <= value < edges[i + 1]:
                found[i] += 1
    return found


def nth(values: Values, kind: Kind, n: int) -> Any:
    """Return the n-th youngest."""
    return values[-n] if len(values) >= n else None


def distinct(values: Values, kind: Kind) -> list[Any]:
    """Return each value once, in the order in which they first occur; NaN is one value."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(rank(value), value)
    return [*found.values()]


# ---- two columns --------------------------------------------------------------------------------


def _seconds(values: Values, kind: Kind) -> list[Any]:
    per = kind.steps_per_second
    return [*values] if per is None else [Fraction(value) / Fraction(per) for value in values]


def pair(values: Values, kinds: Any) -> tuple[list[Any], list[Any]]:
    """Return two columns, times in seconds."""
    return tuple(_seconds([row[i] for row in values], kinds[i]) for i in (0, 1))  # type: ignore[return-value]


def covariance(values: Values, kinds: Any, ddof: int) -> float | None:
    """Return the covariance; None if there are not more than `ddof` rows."""
    if len(values) <= ddof:
        return None
    both = central(*pair(values, kinds))
    return math.nan if both is None else float(both / (len(values) - ddof))


def correlation(values: Values, kinds: Any) -> float | None:
    """Return Pearson's correlation; None if a column does not vary."""
    xs, ys = pair(values, kinds)
    if len(values) < 2:
        return None
    both, xx, yy = central(xs, ys), central(xs, xs), central(ys, ys)
    if both is None or xx is None or yy is None:
        return math.nan
    if xx == 0 or yy == 0:
        return None
    sign = -1 if both < 0 else 1
    return sign * math.sqrt(both * both / (xx * yy))


def trend(values: Values, kinds: Any) -> float | None:
    """Return the slope of the best line, per unit of the second column."""
    xs, ys = pair(values, kinds)
    both, yy = central(xs, ys), central(ys, ys)
    if len(values) < 2 or yy == 0:
        return None if len(values) < 2 or both is not None else math.nan
    return math.nan if both is None or yy is None else float(both / yy)


def decayed_mean(values: Values, kinds: Any, half_life: float) -> float:
    """Return the mean in which a row weighs half as much for every half-life it is old."""
    xs, ys = [row[0] for row in values], _seconds([row[1] for row in values], kinds[1])
    if len(values) == 1:
        return float(xs[0])
    if any(map(math.isnan, ys)):
        return math.nan
    weights = [_faded(y, max(ys), half_life) for y in ys]
    odd = _ieee([x for x, weight in zip(xs, weights, strict=True)])
    if odd is not None:
        return odd
    top = sum(Fraction(x) * Fraction(w) for x, w in zip(xs, weights, strict=True))
    return float(top / sum(map(Fraction, weights)))


def _faded(time: Any, newest: Any, half_life: float) -> float:
    """Return the weight of a row; what is infinitely old has none."""
    if time == newest or not (finite(time) and finite(newest)):
        return float(time == newest)
    return math.exp2(-float((Fraction(newest) - Fraction(time)) / Fraction(half_life)))


# ---- sketches -----------------------------------------------------------------------------------


def counts(values: Values, kinds: Any) -> list[tuple[Any, ...]]:
    """Return the counts of a naive Bayes classifier, sorted: labels, and values beside each."""
    labels = Counter(row[0] for row in values)
    beside = Counter(values)
    found: list[tuple[Any, ...]] = [(label, None, None, n) for label, n in labels.items()]
    found += [(label, "f", value, n) for (label, value), n in beside.items()]
    return sorted(found, key=repr)


def kll(values: Values, kind: Kind, q: float) -> float | None:
    """Return the quantile of a few values, which a sketch keeps as they are; NaN is left out."""
    numbers = sorted(float(value) for value in values if value == value)
    return numbers[max(0, math.ceil(q * len(numbers)) - 1)] if numbers else None


def pick_type(kind: Kind) -> Any:
    """Return the type of what is picked from a column: that of the column."""
    return kind.arrow


def compared_type(kind: Kind) -> Any:
    """Return the type of what is found by comparing: that of the values, without a dictionary."""
    return kind.arrow.value_type if pa.types.is_dictionary(kind.arrow) else kind.arrow


def text_type(kind: Kind) -> Any:
    """Return the type of texts that are put together."""
    return pa.string() if kind.family == "null" else compared_type(kind)


def mean_type(kind: Kind) -> Any:
    """Return the type of a mean: float64, of durations a duration."""
    return {"duration": kind.arrow, "null": None}.get(kind.family, pa.float64())


def sum_type(kind: Kind) -> Any:
    """Return the type of a sum."""
    if kind.family == "decimal":
        return pa.decimal128(min(38, kind.arrow.precision + 10), kind.arrow.scale)
    names = {"float": pa.float64(), "duration": kind.arrow, "null": None}
    return names.get(kind.family, pa.uint64() if kind.name == "uint64" else pa.int64())
