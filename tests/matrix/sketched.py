"""Results that are defined by an algorithm: what may be known of them without running it.

A sketch is a function of the values alone. So the first one that any engine gave for some values
is kept, and all later ones must equal it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import slidefold as sf
from tests.matrix.comparing import same
from tests.matrix.oracle import Values, rank
from tests.matrix.values import Kind, unread

FIRST: dict[Hashable, Any] = {}


def _key(value: Any) -> Any:
    return rank(0.0 if value == 0 and isinstance(value, float) else value)


def values_once(values: Values, kind: Kind) -> Any:
    """Return the distinct values."""
    return (str(kind), frozenset(map(_key, values)))


def values_all(values: Values, kind: Kind) -> Any:
    """Return the values with how often each occurs."""
    return (str(kind), frozenset(Counter(map(_key, values)).items()))


def _first(what: str, values: Any, got: Any) -> bool:
    return bool(FIRST.setdefault((what, values), got) == got)


def same_filter(got: Any, expected: Any, values: Values) -> bool:
    """Compare the bytes of Bloom filters, which set at most three bits a value."""
    ones = sum(byte.bit_count() for byte in got)
    return 0 < ones <= 3 * len(expected[1]) and _first("bloom", expected, got)


def same_sketch(got: Any, expected: Any, values: Values) -> bool:
    """Compare the bytes of count-min sketches."""
    return _first("count_min", expected, got)


def of_events(got: Any, events: Sequence[Any]) -> Any:
    """Return the bytes of a filter or sketch, None if it misses one of these events."""
    if isinstance(got, sf.BloomFilter):
        return got.to_bytes() if all(event in got for event in events) else None
    if isinstance(got, sf.CountMinSketch):
        counted = all(got.estimate(event) >= events.count(event) for event in events)
        return got.to_bytes() if counted and got.total == len(events) else None
    return got


def same_distinct(got: Any, expected: Any, values: Values) -> bool:
    """Compare a count of distinct values: of some dozens at most one is taken for another."""
    near = isinstance(got, int) and abs(got - len(expected[1])) <= 1
    return near and _first("approx_distinct", expected, got)


def same_theta(got: Any, expected: Any, values: Values) -> bool:
    """Compare a theta sketch by its estimate, which is exact for a few values."""
    from datasketches import compact_theta_sketch

    if isinstance(got, bytes):
        got = compact_theta_sketch.deserialize(got)
    there = [value for value in expected[1] if value != (0, "")]  # which the package leaves out
    return bool(got.get_estimate() == len(there))


def summary(values: Values, kind: Kind) -> dict[str, Any]:
    """Return what moments know beside quantiles; NaN if a value is not finite or beyond 1e300."""
    numbers = [float(value) for value in values]
    if not all(math.isfinite(x) and abs(x) <= 1e300 for x in numbers):
        return {"count": len(values), "min": math.nan, "max": math.nan, "mean": math.nan}
    mean = math.fsum(numbers) / len(numbers)
    return {"count": len(values), "min": min(numbers), "max": max(numbers), "mean": mean}


def same_summary(got: Any, expected: Any, values: Values) -> bool:
    """Compare moments by count, min, max and mean."""
    found = got if isinstance(got, dict) else {name: getattr(got, name) for name in expected}
    for name in ("count", "min", "max"):
        if not same(found[name], expected[name]):
            return False
    scale = max(abs(float(value)) for value in values)
    mean, due = found["mean"], expected["mean"]
    return same(mean, due) or abs(mean - due) <= 1e-12 * scale


def same_counts(got: Any, expected: Any, values: Values) -> bool:
    """Compare the counts of naive Bayes classifiers, in whatever order they come."""
    if isinstance(got, list):
        rows = [tuple(row.values()) for row in got]
    else:
        rows = [(label, None, None, n) for label, n in got.labels.items()]
        rows += [(label, "f", value, n) for label, _, value, n in got.counts]
    named = [
        (unread(label), feature and "f", unread(value), n) for label, feature, value, n in rows
    ]
    return bool(sorted(named, key=repr) == expected)


def frequent(values: Values, kind: Kind) -> list[tuple[str, int]]:
    """Return how often each string occurs, most frequent first."""
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))


def same_items(got: Any, expected: Any, values: Values) -> bool:
    """Compare frequent items: structs of columns, pairs of live windows."""
    pairs = [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in got]
    return bool(pairs == expected)
