"""Every operator with every dtype: its values, its truth, and when a result counts as right."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

import slidefold as sf
from slidefold.operators import Operator
from tests.support import truth as true
from tests.support import user_operators as user

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
Draw = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Kind:
    """A kind of values: how to draw them, and how a column of them is laid out."""

    strategy: st.SearchStrategy[Any]
    draw: Draw
    column: Callable[[Sequence[Any]], Any]


def array_of(dtype: str) -> Callable[[Sequence[Any]], Any]:
    """Return a function that lays values out as an array."""
    return lambda values: np.array(values, dtype=dtype)


def either(*few: Any) -> Draw:
    """Return a function that draws one of few values."""
    return lambda rng: rng.choice(few)


# Few distinct numbers, so that ties, equal extremes and repeated values are common.
FLOATS = Kind(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, 0.1, 1e-3, -7.25, 1e6])
    | st.floats(-1e6, 1e6, allow_nan=False),
    lambda rng: rng.choice([0.0, 1.0, -1.0, 2.5, rng.uniform(-1e6, 1e6), rng.gauss(0, 1)]),
    array_of("float64"),
)
WILD = Kind(  # floats with everything that IEEE has
    FLOATS.strategy | st.sampled_from([math.inf, -math.inf, math.nan]) | st.floats(-1e300, 1e300),
    either(0.0, -0.0, 1.0, -1.0, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324),
    array_of("float64"),
)
RARELY_WILD = Kind(  # sums that are mostly finite
    st.one_of([FLOATS.strategy] * 8 + [st.sampled_from([math.inf, -math.inf, math.nan])]),
    lambda rng: math.inf if rng.random() < 0.02 else FLOATS.draw(rng),
    array_of("float64"),
)
POSITIVE = Kind(
    st.one_of([st.floats(1e-300, 1e300)] * 6 + [st.sampled_from([0.0, -1.0, math.inf, 5e-324])]),
    lambda rng: 0.0 if rng.random() < 0.02 else math.exp(rng.uniform(-600, 600)),
    array_of("float64"),
)
INTS = Kind(
    st.integers(-3, 3) | st.integers(-(2**50), 2**50),
    lambda rng: rng.choice([0, 1, -1, 2, rng.randint(-(2**50), 2**50)]),
    array_of("int64"),
)
ALL_INTS = Kind(
    st.integers(-3, 3) | st.integers(INT_MIN, INT_MAX) | st.sampled_from([INT_MIN, INT_MAX]),
    either(0, 1, -1, 2, INT_MIN, INT_MAX, 2**53 + 1),
    array_of("int64"),
)
COUNTS = Kind(st.integers(0, 5), either(0, 1, 2, 3, 1000), array_of("int64"))
WORDS = Kind(
    st.text("abé\0\U0001f600", max_size=3),
    either("", "a", "b", "ab", "é", "\0", "\U0001f600"),
    list,
)
PLAIN_COUNTS = Kind(COUNTS.strategy, COUNTS.draw, list)  # as a user's operator takes them
PLAIN_PAIRS = Kind(
    st.tuples(COUNTS.strategy, COUNTS.strategy), lambda rng: (COUNTS.draw(rng), 1), list
)
OBJECTS = Kind(
    st.sampled_from([None, 1, "x", (2, 3), 4.5]), either(None, 1, "x", (2, 3), 4.5), list
)


def pairs_of(arg: Kind, key: Kind) -> Kind:
    """Return the kind of pairs (argument, key); a column of them is a pair of columns."""
    return Kind(
        st.tuples(arg.strategy, key.strategy),
        lambda rng: (arg.draw(rng), key.draw(rng)),
        lambda pairs: (arg.column([a for a, _ in pairs]), key.column([k for _, k in pairs])),
    )


@dataclass(frozen=True)
class Case:
    """An operator, the values it is tried on, and its truth."""

    id: str
    operator: Operator
    kind: Kind
    truth: Callable[[list[Any]], Any]
    agrees: Callable[[Any, Any, Sequence[Any]], bool] = true.exact
    same_everywhere: bool = True  # no rounding: every algorithm gives the same bits

    def right(self, got: Any, values: list[Any]) -> bool:
        """Tell whether `got` is the fold of the values."""
        return self.agrees(got, self.truth(values), values)

    def stream(self, length: int, seed: int = 0) -> list[Any]:
        """Return so many values, always the same ones."""
        rng = random.Random(seed)
        return [self.kind.draw(rng) for _ in range(length)]

    def __str__(self) -> str:
        return self.id


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
    Case("count", sf.count(), OBJECTS, len),
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
    *_positional(),
    Case("concat", sf.concat(), WORDS, lambda words: "".join(words) if words else None),
    *_blooms(),
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
        "user-product",
        "user-reversible",
        "user-compose",
        "user-longest",
    )
]
