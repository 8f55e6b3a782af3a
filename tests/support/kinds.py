"""Kinds of values, and what a case of an operator is."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from slidefold.definition.operators import Operator
from tests.support import truth as true

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
    st.sampled_from([b"y", 1, "x", (2, 3), 4.5]), either(b"y", 1, "x", (2, 3), 4.5), list
)
NULLABLE = Kind(
    st.sampled_from([None, 1, "x", (2, 3), 4.5]), either(None, 1, "x", (2, 3), 4.5), list
)
BOOLS = Kind(st.booleans(), either(True, False), array_of("bool"))


def or_null(kind: Kind) -> Kind:
    """Return the kind with nulls among its values; its columns are lists."""
    return Kind(
        st.none() | kind.strategy,
        lambda rng: None if rng.random() < 0.4 else kind.draw(rng),
        list,
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
