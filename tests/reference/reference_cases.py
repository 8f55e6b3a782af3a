"""What the tests of slidefold.reference share: the algorithms, values and interleavings."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from slidefold.reference import (
    Amta,
    Daba,
    DabaLite,
    FlatFat,
    FlatFit,
    Recalc,
    SlickDeque,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
)

Make = Callable[[Any], Any]


def batched(op: Any) -> Any:
    """Make a FlatFat that waits for a trigger."""
    return FlatFat(op, batch=True)


# Every algorithm that takes an invertible operator which does not commute: string concatenation.
WITH_CONCAT: list[Make] = [
    Recalc,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
    Daba,
    DabaLite,
    FlatFat,
    batched,
    FlatFit,
    Amta,
]
# Those that take any operator at all.
WITH_ANY: list[Make] = [make for make in WITH_CONCAT if make is not SubtractOnEvict]
ALL: list[Make] = [*WITH_CONCAT, SlickDeque]


def letters() -> Iterator[str]:
    """Yield a, b, ..., z, a, ... without end."""
    while True:
        yield from "abcdefghijklmnopqrstuvwxyz"


def interleavings(seed: int, steps: int) -> Iterator[bool]:
    """Yield True for insert and False for evict, with phases that grow, stay and shrink."""
    chance = random.Random(seed)
    while steps > 0:
        phase = chance.randint(1, 40)
        share = chance.choice([0.1, 0.3, 0.5, 0.5, 0.7, 0.9, 1.0])
        for _ in range(min(phase, steps)):
            yield chance.random() < share
        steps -= phase
