"""Every operator with every dtype: its values, its truth, and when a result counts as right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import slidefold as sf
from tests.support import more_cases
from tests.support import truth as true
from tests.support import user_operators as user
from tests.support.kinds import (
    ALL_INTS,
    COUNTS,
    INT_MAX,
    INT_MIN,
    INTS,
    NULLABLE,
    OBJECTS,
    PLAIN_COUNTS,
    PLAIN_PAIRS,
    POSITIVE,
    RARELY_WILD,
    WILD,
    WORDS,
    Case,
    pairs_of,
)

__all__ = ["BUILT_IN", "BY_ID", "CASES", "INT_MAX", "INT_MIN", "SHORT", "USERS", "Case"]


def holds_all(got: Any, values: Sequence[Any], _: Sequence[Any]) -> bool:
    """Tell whether a Bloom filter says yes to every value it was given."""
    if not values:
        return got is None
    return isinstance(got, sf.BloomFilter) and all(value in got for value in values)


def _first(values: list[Any]) -> Any:
    return values[0] if values else None


def _last(values: list[Any]) -> Any:
    return values[-1] if values else None


def _list(values: list[Any]) -> Any:
    return list(values) or None


def _sum(values: list[int]) -> int | None:
    return sum(values) if values else None


def _spreads() -> list[Case]:
    cases = []
    for dtype, kind in (("float64", RARELY_WILD), ("int64", INTS)):
        for ddof in (0, 1):
            var, std = sf.var(ddof=ddof, dtype=dtype), sf.std(ddof=ddof, dtype=dtype)
            spread = partial(true.variance, ddof=ddof)
            root = partial(true.deviation, ddof=ddof)
            cases += [
                Case(f"var-{dtype}-{ddof}", var, kind, spread, true.near_variance, False),
                Case(f"std-{dtype}-{ddof}", std, kind, root, true.near_deviation, False),
            ]
    return cases


def _by() -> list[Case]:
    cases = []
    kinds = {"float64": WILD, "int64": ALL_INTS, "str": WORDS, "object": OBJECTS}
    for dtype, arg in kinds.items():
        for key_dtype in ("float64", "int64"):
            kind = pairs_of(arg, kinds[key_dtype])
            largest = sf.max_by(dtype=dtype, key_dtype=key_dtype)
            smallest = sf.min_by(dtype=dtype, key_dtype=key_dtype)
            cases += [
                Case(f"max_by-{dtype}-{key_dtype}", largest, kind, true.arg_of_largest),
                Case(f"min_by-{dtype}-{key_dtype}", smallest, kind, true.arg_of_smallest),
            ]
    return cases


def _numeric() -> list[Case]:
    cases = []
    for dtype, kind in (("float64", WILD), ("int64", ALL_INTS)):
        cases += [
            Case(f"max-{dtype}", sf.max(dtype=dtype), kind, true.largest),
            Case(f"min-{dtype}", sf.min(dtype=dtype), kind, true.smallest),
            Case(f"max_count-{dtype}", sf.max_count(dtype=dtype), kind, true.times_largest),
            Case(f"min_count-{dtype}", sf.min_count(dtype=dtype), kind, true.times_smallest),
        ]
    return cases


def _texts() -> list[Case]:
    pairs = pairs_of(ALL_INTS, WORDS)
    by = sf.max_by(dtype="int64", key_dtype="str")
    return [
        Case("max-str", sf.max(dtype="str"), WORDS, true.largest),
        Case("min_count-str", sf.min_count(dtype="str"), WORDS, true.times_smallest),
        Case("max_by-int64-str", by, pairs, true.arg_of_largest),
        Case("top_k-str", sf.top_k(k=3, dtype="str"), WORDS, _top_3),
    ]


def _top_3(words: list[str]) -> list[str] | None:
    return sorted(words, reverse=True)[:3] or None


def _positional() -> list[Case]:
    cases = []
    kinds = {"float64": WILD, "int64": ALL_INTS, "str": WORDS, "object": OBJECTS}
    for dtype, kind in kinds.items():
        cases += [
            Case(f"first-{dtype}", sf.first(dtype=dtype), kind, _first),
            Case(f"last-{dtype}", sf.last(dtype=dtype), kind, _last),
            Case(f"collect-{dtype}", sf.collect(dtype=dtype), kind, _list),
        ]
    return cases


def _blooms() -> list[Case]:
    kinds = {"float64": WILD, "int64": ALL_INTS, "str": WORDS}
    return [
        Case(f"bloom-{dtype}-{bits}", sf.bloom(bits=bits, dtype=dtype), kind, _itself, holds_all)
        for dtype, kind in kinds.items()
        for bits in (64, 300, 4096)
    ]


def _itself(values: list[Any]) -> list[Any]:
    return values


BUILT_IN = [
    Case("count", sf.count(), NULLABLE, len),
    Case("sum-float64", sf.sum(), RARELY_WILD, true.ieee_sum, true.near_sum, False),
    Case("sum-int64", sf.sum(dtype="int64"), INTS, _sum),
    Case("mean-float64", sf.mean(), RARELY_WILD, true.mean, true.near_mean, False),
    Case("mean-int64", sf.mean(dtype="int64"), ALL_INTS, true.mean, true.near_mean),
    Case("geomean-float64", sf.geomean(), POSITIVE, true.geometric_mean, true.near_relative, False),
    Case(
        "geomean-int64",
        sf.geomean(dtype="int64"),
        COUNTS,
        true.geometric_mean,
        true.near_relative,
        False,
    ),
    *_spreads(),
    *_numeric(),
    *_by(),
    *_texts(),
    *_positional(),
    Case("concat", sf.concat(), WORDS, lambda words: "".join(words) if words else None),
    *_blooms(),
    *more_cases.all_cases(),
]


USERS = [
    Case("user-product", user.made(user.Product), PLAIN_COUNTS, user.product_of),
    Case("user-reversible", user.made(user.Reversible), PLAIN_COUNTS, user.product_of),
    Case("user-compose", user.made(user.Compose), PLAIN_PAIRS, user.composition_of),
    Case("user-longest", user.made(user.Longest), WORDS, user.longest_of),
]

CASES = BUILT_IN + USERS
BY_ID = {case.id: case for case in CASES}
# A few that stand for all where trying every one would take too long: hot and erased, plain states
# and states that own memory, exact and rounded, commuting and not, Python's own.
SHORT = [
    BY_ID[name]
    for name in (
        "sum-float64",
        "sum-int64",
        "max-float64",
        "mean-int64",
        "max_by-str-float64",
        "first-object",
        "last-int64",
        "concat",
        "collect-int64",
        "bloom-str-300",
        "any-bool",
        "nth-int64",
        "histogram-float64",
        "decayed_mean-float64-float64",
        "approx_distinct-int64",
        "user-product",
        "user-reversible",
        "user-compose",
        "user-longest",
    )
]
