"""What counts, shapes, weights and gaps give, from their documentation alone."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa

from tests.matrix.comparing import NEAR, same
from tests.matrix.oracle import (
    OVERFLOW,
    Values,
    _faded,
    _ieee,
    _seconds,
    compared_type,
    finite,
    rank,
)
from tests.matrix.values import Kind


def counted(values: Values) -> list[tuple[Any, int]]:
    """Return each value with how often it occurs, the most frequent and then the smallest first."""
    found = Counter(map(rank, values))
    first = {rank(value): value for value in reversed(values)}
    order = sorted(found, key=lambda key: (-found[key], key))
    return [(first[key], found[key]) for key in order]


def distinct(values: Values, kind: Kind) -> int:
    """Return how many values differ."""
    return len(counted(values))


def mode(values: Values, kind: Kind) -> Any:
    """Return the most frequent value, of equally frequent ones the smallest."""
    return counted(values)[0][0]


def most_frequent(values: Values, kind: Kind, k: int) -> list[dict[str, Any]]:
    """Return the k most frequent values with their counts."""
    return [{"value": value, "count": count} for value, count in counted(values)[:k]]


def frequent_type(kind: Kind) -> Any:
    """Return the type of the k most frequent values."""
    return pa.list_(pa.struct({"value": compared_type(kind), "count": pa.int64()}))


def entropy(values: Values, kind: Kind) -> float:
    """Return the entropy in natural units."""
    shares = [count / len(values) for _, count in counted(values)]
    return 0.0 if len(shares) == 1 else -math.fsum(share * math.log(share) for share in shares)


# ---- shapes -------------------------------------------------------------------------------------


def shape(values: Values, kind: Kind, power: int) -> float | None:
    """Return the skewness (3) or the excess kurtosis (4) of a sample, corrected for bias."""
    n = len(values)
    if n < power:
        return None
    if not all(map(finite, values)):
        return math.nan
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / n
    square, higher = (sum(((x - mean) ** p for x in exact), Fraction()) for p in (2, power))
    if square == 0:
        return 0.0 if power == 3 else -3.0
    if higher > 10**308:  # beyond floats
        return math.nan
    if power == 3:
        sign = -1.0 if higher < 0 else 1.0
        return sign * math.sqrt(higher**2 / square**3) * n * math.sqrt(n - 1) / (n - 2)
    peak = n * (n + 1) * higher / square**2 - 3 * (n - 1)
    return float(peak * (n - 1) / ((n - 2) * (n - 3)))


def near_shape(got: Any, expected: Any, values: Values) -> bool:
    """Compare within 1e-9; values that hardly differ have too few digits for that."""
    if not (finite(got) and finite(expected)) or len({*values}) == 1:
        return same(got, expected)
    numbers = [Fraction(value) for value in values]
    lost = max(map(abs, numbers)) / (max(numbers) - min(numbers))
    return bool(abs(got - expected) <= (1e-9 + 1e-13 * float(lost)) * (1 + abs(expected)))


# ---- weights ------------------------------------------------------------------------------------


def _products(xs: Values, weights: Values) -> list[Any]:
    both = zip(xs, weights, strict=True)
    return [
        Fraction(x) * Fraction(w) if finite(x) and finite(w) else float(x) * float(w)
        for x, w in both
    ]


def weighted(values: Values, kinds: Any) -> tuple[Any, Any]:
    """Return the sums of products and of weights, exact if they are finite."""
    xs, weights = zip(*values, strict=True)
    sums = []
    for added in (_products(xs, weights), weights):
        odd = _ieee(added)
        sums.append(sum(map(Fraction, added)) if odd is None else odd)
    return sums[0], sums[1]


def near_weighted(got: Any, expected: Any, values: Values) -> bool:
    """Compare got * weights with the products, within 1e-12 of the sums of absolute values."""
    if expected is None:
        return got is None
    product, weight = expected
    xs, weights = zip(*values, strict=True)
    if not (finite(product) and finite(weight)):
        if not weight:
            return got is None
        divided = math.nan if not finite(product) and not finite(weight) else product / weight
        return got is not None and same(float(got), float(divided))
    lost = Fraction(NEAR) * sum((abs(Fraction(w)) for w in weights), Fraction())
    if abs(weight) <= lost:  # weights that cancel
        return got is None or (isinstance(got, float) and weight != 0)
    if got is None or not finite(got):
        return False
    slack = Fraction(NEAR) * sum(map(abs, _products(xs, weights)), Fraction())
    return bool(abs(Fraction(got) * weight - product) <= slack + abs(Fraction(got)) * lost)


def decayed_sum(values: Values, kinds: Any, half_life: float) -> float:
    """Return the sum in which a row weighs half as much for every half-life it is old."""
    xs, ys = [row[0] for row in values], _seconds([row[1] for row in values], kinds[1])
    if len(values) == 1:
        return float(xs[0])
    if any(map(math.isnan, ys)):
        return math.nan
    return added([(x, _faded(y, max(ys), half_life)) for x, y in zip(xs, ys, strict=True)])


def added(weighed: list[tuple[Any, float]]) -> float:
    """Return a sum of values with weights."""
    odd = _ieee([x for x, _ in weighed])
    if odd is not None:
        return odd
    return float(sum(Fraction(x) * Fraction(weight) for x, weight in weighed))


# ---- gaps ---------------------------------------------------------------------------------------


def longest_gap(values: Values, kind: Kind) -> Any:
    """Return the longest distance of two neighbours, None of one value."""
    gap = max((abs(newer - older) for older, newer in pairwise(values)), default=None)
    return OVERFLOW if gap is not None and gap >= 2**63 else gap
