"""The cases of truth, bits, ranges, pairs of columns, nulls and sketches."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial, reduce
from operator import and_, or_, xor
from typing import Any

import slidefold as sf
from tests.support import truth as true
from tests.support.kinds import (
    ALL_INTS,
    BOOLS,
    FLOATS,
    INTS,
    NULLABLE,
    OBJECTS,
    RARELY_WILD,
    WILD,
    WORDS,
    Case,
    Kind,
    either,
    or_null,
    pairs_of,
)

# Squares of spreads below 1e-150 are below the range of floats.
TAME = Kind(FLOATS.strategy.map(lambda x: round(x, 6)), FLOATS.draw, FLOATS.column)
# What must be said of operators that have no default.
REQUIRED: dict[str, dict[str, Any]] = {
    "histogram": {"edges": (0, 1)},
    "decayed_mean": {"half_life": 1},
    "decayed_sum": {"half_life": 1},
}
EDGES = (-1.0, 0.0, 0.5, 2.5, math.inf)


def all_cases() -> list[Case]:
    """Return all of them."""
    return [*_logic(), *_ranges(), *_shapes(), *_ordered(), *_pairs(), *_sketches()]


def unless_empty(truth: Any) -> Any:
    """Return a truth that says None of nothing."""
    return lambda values: truth(values) if values else None


def _logic() -> list[Case]:
    cases = []
    for dtype, kind in (("bool", BOOLS), ("float64", WILD), ("int64", ALL_INTS)):
        cases += [
            Case(f"any-{dtype}", sf.any(dtype=dtype), kind, unless_empty(any)),
            Case(f"all-{dtype}", sf.all(dtype=dtype), kind, unless_empty(all)),
        ]
    for make, fold in ((sf.bit_and, and_), (sf.bit_or, or_), (sf.bit_xor, xor)):
        truth = unless_empty(partial(reduce, fold))
        cases.append(Case(f"{make.__name__}-int64", make(), ALL_INTS, truth))
    for dtype, kind in (("float64", WILD), ("int64", ALL_INTS)):
        operator = sf.histogram(edges=EDGES, dtype=dtype)
        cases.append(Case(f"histogram-{dtype}", operator, kind, unless_empty(bins)))
    return cases


def bins(values: Sequence[float]) -> list[int]:
    """Count the values in each bin; the last edge is infinite, so the last bin has no end."""
    counts = [0] * (len(EDGES) - 1)
    for value in values:
        for i in range(len(counts)):
            if EDGES[i] <= value and (value < EDGES[i + 1] or i == len(counts) - 1):
                counts[i] += 1
    return counts


def _ranges() -> list[Case]:
    cases = []
    for dtype, kind in (("float64", WILD), ("int64", INTS)):
        spread = sf.relative_variation(dtype=dtype)
        tame: Kind = kind if dtype == "int64" else FLOATS
        cases += [
            Case(f"range-{dtype}", sf.range(dtype=dtype), kind, unless_empty(distance)),
            Case(f"relative_variation-{dtype}", spread, tame, variation, near_variation, False),
            Case(f"m4-{dtype}", sf.m4(dtype=dtype), kind, unless_empty(corners)),
            Case(f"top_k-{dtype}", sf.top_k(k=3, dtype=dtype), kind, unless_empty(top_three)),
        ]
    compensated = sf.sum(compensated=True)
    cases.append(
        Case("sum-compensated", compensated, RARELY_WILD, true.ieee_sum, near_exact, False)
    )
    return cases


def _shapes() -> list[Case]:
    cases = [Case("longest_gap-int64", sf.longest_gap(), INTS, longest_gap)]
    for dtype, kind in (("float64", TAME), ("int64", INTS)):
        skewed, peaked = sf.skewness(dtype=dtype), sf.kurtosis(dtype=dtype)
        cases += [
            Case(f"skewness-{dtype}", skewed, kind, partial(shape, power=3), near_shape, False),
            Case(f"kurtosis-{dtype}", peaked, kind, partial(shape, power=4), near_shape, False),
        ]
    return cases


def longest_gap(values: Sequence[int]) -> int | None:
    """Return the longest distance between neighbours."""
    gaps = [abs(b - a) for a, b in itertools.pairwise(values)]
    return max(gaps, default=None)


def shape(values: Sequence[Any], power: int) -> float | None:
    """Return the skewness or the kurtosis, corrected for bias; exact until the last division."""
    n = len(values)
    if n < power:
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / n
    square, higher = (sum(((x - mean) ** p for x in exact), Fraction()) for p in (2, power))
    if not square:
        return -3.0 if power == 4 else 0.0
    if power == 3:
        ratio = float(higher) / float(square) / math.sqrt(float(square))
        return n * math.sqrt(n - 1) / (n - 2) * ratio
    peak = float(n * (n + 1) * higher / square**2 - 3 * (n - 1))
    return peak * (n - 1) / ((n - 2) * (n - 3))


def near_shape(got: Any, truth: Any, values: Sequence[Any]) -> bool:
    """Compare within 1e-9; values that hardly differ have too few digits for that."""
    if truth is None or len({*values}) == 1:
        return bool(got == truth)
    spread = max(values) - min(values)
    lost = max(abs(float(value)) for value in values) / float(spread)
    return true.within(got, truth, (1e-9 + 1e-13 * lost) * (1 + abs(truth)))


def distance(values: Sequence[Any]) -> Any:
    """Return the largest less the smallest value."""
    high, low = true.largest(values), true.smallest(values)
    return math.nan if high == low and not math.isfinite(high) else high - low


def variation(values: Sequence[Any]) -> tuple[Fraction, Fraction] | None:
    """Return the exact range and mean."""
    if not values:
        return None
    exact = [Fraction(value) for value in values]
    return max(exact) - min(exact), sum(exact, Fraction()) / len(exact)


def near_variation(got: Any, truth: Any, values: Sequence[Any]) -> bool:
    """Compare got * mean with the range; the mean is known within 1e-12 of the inputs."""
    if truth is None:
        return got is None
    width, mean = truth
    slack = sum(map(abs, map(Fraction, values)), Fraction()) / len(values) * Fraction(1e-12)
    if abs(mean) <= slack:  # a mean that may be 0
        return isinstance(got, float)
    off = abs(Fraction(got) * mean - width)
    return bool(off <= abs(Fraction(got)) * slack + width * Fraction(1e-12))


def corners(values: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Return the first, the last, the smallest and the largest value."""
    return values[0], values[-1], true.smallest(values), true.largest(values)


def top_three(values: Sequence[Any]) -> list[Any]:
    """Return the three largest values, NaN first."""
    return sorted(values, key=lambda x: (x != x, x if x == x else 0), reverse=True)[:3]


def near_exact(got: Any, truth: Any, values: Sequence[Any]) -> bool:
    """Compare sums: rounded once, but for what cancels."""
    if truth is None or not math.isfinite(truth):
        return true.exact(got, truth)
    slack = math.fsum(map(abs, values)) * 2.0**-95 + math.ulp(truth)
    return isinstance(got, float) and abs(got - truth) <= slack


def _ordered() -> list[Case]:
    cases = []
    kinds = {"float64": WILD, "int64": ALL_INTS, "str": WORDS, "object": OBJECTS}
    for dtype, kind in kinds.items():
        cases.append(Case(f"nth-{dtype}", sf.nth(n=2, dtype=dtype), kind, second))
        if dtype != "object":
            operator = sf.collect_distinct(dtype=dtype)
            cases.append(Case(f"collect_distinct-{dtype}", operator, kind, unless_empty(distinct)))
        kept = NULLABLE if dtype == "object" else or_null(kind)
        for name, make, truth in (
            ("first", sf.first, lambda values: values[0]),
            ("last", sf.last, lambda values: values[-1]),
            ("nth", sf.nth, lambda values: values[-1]),
            ("collect", sf.collect, list),
        ):
            operator = make(dtype=dtype, nulls="keep")
            cases.append(Case(f"{name}-{dtype}-keep", operator, kept, unless_empty(truth)))
    for case_id, operator, kind in (
        ("count-skip", sf.count("x"), OBJECTS),
        ("max-skip", sf.max(dtype="int64"), ALL_INTS),
        ("concat-skip", sf.concat(), WORDS),
    ):
        truths: dict[str, Any] = {
            "count-skip": len,
            "max-skip": unless_empty(max),
            "concat-skip": unless_empty("".join),
        }
        truth = skipping(truths[case_id])
        cases.append(Case(case_id, operator, or_null(kind), truth))
    return cases


def skipping(truth: Any) -> Any:
    """Return the truth of what is left without nulls."""
    return lambda values: truth([value for value in values if value is not None])


def second(values: Sequence[Any]) -> Any:
    """Return the second youngest value."""
    return values[-2] if len(values) > 1 else None


def distinct(values: Sequence[Any]) -> list[Any]:
    """Return the distinct values in order of first occurrence; NaN is one."""
    found: list[Any] = []
    for value in values:
        if not any(value == other or (value != value and other != other) for other in found):
            found.append(value)
    return found


def _pairs() -> list[Case]:
    cases = []
    kinds = {"float64": TAME, "int64": INTS}
    for dtype, x in kinds.items():
        for key_dtype, y in kinds.items():
            types: Any = {"dtype": dtype, "key_dtype": key_dtype}
            kind = pairs_of(x, y)
            for name, operator, truth, near in (
                ("covariance", sf.covariance(**types), covariance, near_covariance),
                ("correlation", sf.correlation(**types), correlation, near_correlation),
                ("trend", sf.trend(**types), trend, near_trend),
            ):
                case_id = f"{name}-{dtype}-{key_dtype}"
                cases.append(Case(case_id, operator, kind, truth, near, False))
            times = pairs_of(x, Kind(INTS.strategy, either(0, 1, 5, 90, -3), y.column))
            decayed = sf.decayed_mean(half_life=3, **types)
            case_id = f"decayed_mean-{dtype}-{key_dtype}"
            cases.append(Case(case_id, decayed, times, decayed_mean, near_first, False))
            added = sf.decayed_sum(half_life=3, **types)
            case_id = f"decayed_sum-{dtype}-{key_dtype}"
            cases.append(Case(case_id, added, times, decayed_sum, near_sum, False))
            weighted = sf.weighted_mean(**types)
            case_id = f"weighted_mean-{dtype}-{key_dtype}"
            cases.append(Case(case_id, weighted, kind, weighted_mean, near_weighted, False))
    return cases


def decayed_sum(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """Return the decayed sum, from the definition."""
    if not pairs:
        return None
    newest = max(t for _, t in pairs)
    return math.fsum(x * 2.0 ** (-float(newest - t) / 3) for x, t in pairs)


def near_sum(got: Any, truth: Any, pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Compare within 1e-12 of the sum of all inputs."""
    return true.within(got, truth, 1e-12 * math.fsum(abs(float(x)) for x, _ in pairs))


def weighted_mean(pairs: Sequence[tuple[Any, Any]]) -> tuple[Fraction, Fraction] | None:
    """Return the exact sums of products and of weights."""
    if not pairs:
        return None
    product = sum((Fraction(x) * Fraction(w) for x, w in pairs), Fraction())
    return product, sum((Fraction(w) for _, w in pairs), Fraction())


def near_weighted(got: Any, truth: Any, pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Compare got * weights with the products, within 1e-12 of what was added."""
    if truth is None:
        return got is None
    product, weight = truth
    lost = Fraction(1e-12) * sum((abs(Fraction(w)) for _, w in pairs), Fraction())
    if abs(weight) <= lost:  # weights that cancel
        return got is None or isinstance(got, float)
    slack = Fraction(1e-12) * sum((abs(Fraction(x) * Fraction(w)) for x, w in pairs), Fraction())
    return bool(abs(Fraction(got) * weight - product) <= slack + abs(Fraction(got)) * lost)


def products(pairs: Sequence[tuple[Any, Any]]) -> tuple[Fraction, Fraction, Fraction]:
    """Return the sums of squares and products of deviations: xx, yy, xy."""
    xs = [Fraction(x) for x, _ in pairs]
    ys = [Fraction(y) for _, y in pairs]
    mean_x, mean_y = sum(xs, Fraction()) / len(xs), sum(ys, Fraction()) / len(ys)
    return (
        sum(((x - mean_x) ** 2 for x in xs), Fraction()),
        sum(((y - mean_y) ** 2 for y in ys), Fraction()),
        sum(((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)), Fraction()),
    )


def covariance(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """Return the covariance of a sample."""
    return float(products(pairs)[2] / (len(pairs) - 1)) if len(pairs) > 1 else None


def correlation(pairs: Sequence[tuple[Any, Any]]) -> tuple[Fraction, Fraction, Fraction] | None:
    """Return what the correlation is made of, if both columns vary."""
    found = products(pairs) if pairs else (Fraction(), Fraction(), Fraction())
    return found if found[0] and found[1] else None


def trend(pairs: Sequence[tuple[Any, Any]]) -> tuple[Fraction, Fraction, Fraction] | None:
    """Return what the slope is made of, if the times vary."""
    found = products(pairs) if pairs else (Fraction(), Fraction(), Fraction())
    return found if found[1] else None


def _scale(pairs: Sequence[tuple[Any, Any]]) -> float:
    spread_x = math.fsum(abs(float(x)) for x, _ in pairs)
    return spread_x * math.fsum(abs(float(y)) for _, y in pairs)


def near_covariance(got: Any, truth: Any, pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Compare within 1e-12 of the products of the inputs."""
    return true.within(got, truth, 1e-12 * _scale(pairs))


def near_correlation(got: Any, truth: Any, pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Compare with exact sums, within 1e-12 of them."""
    if truth is None:
        return got is None
    xx, yy, xy = map(float, truth)
    return isinstance(got, float) and abs(got - xy / math.sqrt(xx) / math.sqrt(yy)) <= 1e-9


def near_trend(got: Any, truth: Any, pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Compare with exact sums: the root of xx/yy is the scale of a slope."""
    if truth is None:
        return got is None
    xx, yy, xy = map(float, truth)
    return isinstance(got, float) and abs(got - xy / yy) <= 1e-9 * math.sqrt(xx / yy) + 1e-300


def decayed_mean(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """Return the weighted mean, from the definition."""
    if not pairs:
        return None
    newest = max(t for _, t in pairs)
    weights = [2.0 ** (-float(newest - t) / 3) for _, t in pairs]
    weighted = math.fsum(w * x for w, (x, _) in zip(weights, pairs, strict=True))
    return weighted / math.fsum(weights)


def near_first(got: Any, truth: Any, pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Compare within 1e-12 of the largest input."""
    return true.within(got, truth, 1e-12 * max((abs(float(x)) for x, _ in pairs), default=0.0))


def _sketches() -> list[Case]:
    kinds = {"float64": WILD, "int64": ALL_INTS, "str": WORDS}
    cases = []
    for dtype, kind in kinds.items():
        counts = sf.count_min(epsilon=0.1, confidence=0.9, dtype=dtype)
        cases += [
            Case(f"count_min-{dtype}", counts, kind, list, counts_all),
            Case(
                f"approx_distinct-{dtype}",
                sf.approx_distinct(dtype=dtype, precision=14),
                kind,
                unless_empty(lambda values: len(distinct(values))),
                few_distinct,
            ),
        ]
    for dtype, kind in (("float64", RARELY_WILD), ("int64", INTS)):
        cases.append(
            Case(f"moments-{dtype}", sf.moments(dtype=dtype), kind, list, summarises, False)
        )
    codes = {"int64": Kind(INTS.strategy, either(0, 1, 2), INTS.column), "str": WORDS}
    for dtype, label in codes.items():
        for key_dtype, feature in codes.items():
            operator = sf.naive_bayes(dtype=dtype, key_dtype=key_dtype)
            kind = pairs_of(label, feature)
            case_id = f"naive_bayes-{dtype}-{key_dtype}"
            cases.append(Case(case_id, operator, kind, list, classifies, False))
    return cases


def counts_all(got: Any, values: Sequence[Any], _: Sequence[Any]) -> bool:
    """Tell whether a sketch counts no value too low, nor any beyond all values."""
    if not values:
        return got is None
    return got.total == len(values) and all(
        sum(value == other or (value != value and other != other) for other in values)
        <= got.estimate(value)
        <= len(values)
        for value in values
    )


def few_distinct(got: Any, truth: Any, _: Sequence[Any]) -> bool:
    """Tell whether few distinct values are counted, give or take two that share a register."""
    if truth is None:
        return got is None
    return isinstance(got, int) and abs(got - truth) <= 2


def summarises(got: Any, values: Sequence[Any], _: Sequence[Any]) -> bool:
    """Tell whether count, extremes and mean are right, and quantiles lie between the extremes."""
    if not values:
        return got is None
    if got.count != len(values):
        return False
    if not all(map(math.isfinite, values)):
        return math.isnan(got.min) and math.isnan(got.quantile(0.5))
    mean = true.mean(values)
    return (
        got.min == min(values)
        and got.max == max(values)
        and true.near_mean(got.mean, mean, values)
        and got.quantile(0.0) == got.min
        and got.quantile(1.0) == got.max
    )


def classifies(got: Any, rows: Sequence[tuple[Any, Any]], _: Sequence[Any]) -> bool:
    """Tell whether a model has the right counts, and the likeliest label of each feature."""
    if not rows:
        return got is None
    labels = Counter(label for label, _ in rows)
    return got.labels == dict(labels) and all(
        got.predict((feature,)) in likeliest for feature, likeliest in _likeliest(tuple(rows))
    )


@lru_cache(maxsize=4)  # every algorithm is judged by the same rows
def _likeliest(rows: tuple[tuple[Any, Any], ...]) -> list[tuple[Any, set[Any]]]:
    """Return the features of rows, each with the labels that are likeliest beside it."""
    labels, pairs = Counter(label for label, _ in rows), Counter(rows)
    features = {feature for _, feature in rows}
    found = []
    for feature in features:
        shares = {
            label: n * (pairs[label, feature] + 1) / (n + len(features))
            for label, n in labels.items()
        }
        # Logarithms round: what is nearly as likely is as good.
        best = max(shares.values()) * (1 - 1e-9)
        found.append((feature, {label for label, share in shares.items() if share > best}))
    return found
