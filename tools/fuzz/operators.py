"""The operators under test, each with the functions that the oracle needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from random import Random
from typing import Any

import slidefold as sf

PRIME = 10007
Map = tuple[int, int]  # x -> (a x + b) modulo PRIME


class Blown(Exception):  # noqa: N818 - it is what a fuse is
    """Raised by the user operator when its fuse blows."""


class Fuse:
    """Makes the user operator raise at its n-th next combine; 0 means never."""

    left = 0


def then(older: Map, newer: Map) -> Map:
    """Compose two maps, the older one first; this is not commutative."""
    return older[0] * newer[0] % PRIME, (older[1] * newer[0] + newer[1]) % PRIME


@sf.operator
class Composed:
    """A user operator that composes maps in time order."""

    @staticmethod
    def identity() -> Map:
        return 1, 0

    @staticmethod
    def lift(value: Map) -> Map:
        return value

    @staticmethod
    def combine(older: Map, newer: Map) -> Map:
        if Fuse.left:
            Fuse.left -= 1
            if not Fuse.left:
                raise Blown
        return then(older, newer)

    @staticmethod
    def lower(state: Map) -> Map:
        return state


@dataclass(frozen=True)
class Kind:
    """An operator, and its values, combine and fold in plain Python."""

    source: str  # the code that creates it
    make: Callable[[], Any]
    draw: Callable[[Random], Any]
    combine: Callable[[Any, Any], Any]
    fold: Callable[[Iterable[Any]], Any]
    raises: bool = False


def _add(older: Any, newer: Any) -> Any:
    return older + newer


KINDS = {
    "concat": Kind(
        "sf.concat()", sf.concat, lambda rng: "abcdefghijklmnop"[rng.getrandbits(4)], _add, "".join
    ),
    "sum": Kind(
        'sf.sum(dtype="int64")',
        lambda: sf.sum(dtype="int64"),
        lambda rng: rng.getrandbits(20) - 2**19,
        _add,
        sum,
    ),
    "max": Kind("sf.max()", sf.max, lambda rng: rng.getrandbits(10) / 8 - 64, max, max),
    "user": Kind(
        "Composed()",
        Composed,
        lambda rng: (rng.getrandbits(13) + 1, rng.getrandbits(13)),
        then,
        lambda states: reduce(then, states),
        raises=True,
    ),
}
