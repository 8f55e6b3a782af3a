"""Operators with declared fields, each in two builds: compiled, and in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import slidefold as sf

BUILDS = ("require", "never")


def larger(a: Any, b: Any) -> Any:
    """Return the larger one; a helper that is compiled with its callers."""
    return a if a > b else b


class LongestRise(sf.Fold):
    """The longest run of rising values; does not commute."""

    @staticmethod
    def identity() -> Any:
        return (0, 0, 0, 0, 0.0, 0.0)

    @staticmethod
    def lift(x: float) -> Any:
        return (1, 1, 1, 1, x, x)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        if older.n == 0:
            return newer
        if newer.n == 0:
            return older
        n, best = older.n + newer.n, larger(older.best, newer.best)
        if older.last >= newer.first:
            return (n, best, older.head, newer.tail, older.first, newer.last)
        run = older.tail + newer.head
        head = n - newer.n + newer.head if older.head == older.n else older.head
        tail = n - older.n + older.tail if newer.tail == newer.n else newer.tail
        return (n, larger(best, run), head, tail, older.first, newer.last)

    @staticmethod
    def lower(state: Any) -> Any:
        return state.best


class Spread(sf.Fold):
    """Count, sum and sum of squares; no identity of its own."""

    @staticmethod
    def lift(x: float) -> Any:
        return (1, x, x * x)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        return (older.n + newer.n, older.sum + newer.sum, older.sumsq + newer.sumsq)

    @staticmethod
    def lower(state: Any) -> Any:
        return (state.sum / state.n, state.sumsq / state.n - (state.sum / state.n) ** 2, state.n)


class Chain(sf.Fold):
    """Functions x -> a * x + b modulo 7, the older one first; invertible, does not commute."""

    @staticmethod
    def identity() -> Any:
        return (1, 0)

    @staticmethod
    def lift(a: int, b: int) -> Any:
        return (1 + a % 6, b % 7)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        return (older.a * newer.a % 7, (newer.a * older.b + newer.b) % 7)

    @staticmethod
    def lower(state: Any) -> Any:
        return state.a * 10 + state.b

    @staticmethod
    def remove(whole: Any, older: Any) -> Any:
        # The inverse of a modulo 7 is a to the fifth.
        a = whole.a * older.a**5 % 7
        return (a, (whole.b - a * older.b) % 7)


class Latest(sf.Fold):
    """The value with the highest rank, of equal ranks the newer one; selective, two inputs."""

    @staticmethod
    def lift(value: float, rank: int) -> Any:
        return (value, rank)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        return newer if newer.rank >= older.rank else older

    @staticmethod
    def lower(state: Any) -> Any:
        return state.value

    @staticmethod
    def newer_wins(older: Any, newer: Any) -> Any:
        return newer.rank >= older.rank


class Narrow(sf.Fold):
    """Fields of every narrow type, and a bool."""

    @staticmethod
    def lift(flag: bool, small: int, single: float) -> Any:
        return (flag, small, small % 5, small + 300, single, 1)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        return (
            older.any or newer.any,
            larger(older.i1, newer.i1),
            older.u1,
            newer.u2,
            larger(older.f4, newer.f4),
            older.u4 + newer.u4,
        )

    @staticmethod
    def lower(state: Any) -> Any:
        return state.any and state.u4 > 1


class Hands(sf.Fold):
    """Eleven counters: a state that is too large for a slot."""

    @staticmethod
    def lift(hour: int) -> Any:
        twos = (hour, 1, hour % 2, hour % 3, hour % 4, hour % 5)
        return (*twos, hour % 6, hour % 7, hour % 8, hour % 9, hour % 10)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        return (
            older.first,
            older.n + newer.n,
            older.c2 + newer.c2,
            older.c3 + newer.c3,
            older.c4 + newer.c4,
            older.c5 + newer.c5,
            older.c6 + newer.c6,
            older.c7 + newer.c7,
            older.c8 + newer.c8,
            older.c9 + newer.c9,
            older.c10 + newer.c10,
        )

    @staticmethod
    def lower(state: Any) -> Any:
        return (state.first, state.n, state.c7 + state.c10)


OPTIONS: dict[type, dict[str, Any]] = {
    LongestRise: {
        "state": {"n": "i8", "best": "i8", "head": "i8", "tail": "i8", "first": "f8", "last": "f8"},
        "returns": "i8",
    },
    Spread: {
        "state": {"n": "i8", "sum": "f8", "sumsq": "f8"},
        "returns": {"mean": "f8", "var": "f8", "n": "i4"},
        "commutative": True,
    },
    Chain: {"state": {"a": "i8", "b": "i8"}, "returns": "u1", "inputs": ("i8", "i4")},
    Latest: {"state": {"value": "f8", "rank": "i8"}, "returns": "f8", "inputs": ("f8", "i8")},
    Narrow: {
        "state": {"any": "b1", "i1": "i1", "u1": "u1", "u2": "u2", "f4": "f4", "u4": "u4"},
        "returns": "b1",
        "inputs": ("b1", "i1", "f4"),
    },
    Hands: {
        "state": {"first": "u8", "n": "i8", **{f"c{k}": "i8" for k in range(2, 11)}},
        "returns": {"first": "u8", "n": "i8", "mixed": "i8"},
        "inputs": "u2",
    },
}


@dataclass(frozen=True)
class Declared:
    """An operator, values for it, and how columns of such values are made."""

    cls: type
    value: Callable[[int], Any]  # of a random number
    dtypes: tuple[str, ...]

    def __str__(self) -> str:
        return self.cls.__name__

    def built(self, build: str) -> sf.Operator:
        """The operator, compiled or not."""
        operator: sf.Operator = built(self.cls, build)
        return operator

    def columns(self, values: Sequence[Any]) -> Any:
        """What `slide` takes for these values."""
        import numpy as np

        if len(self.dtypes) == 1:
            return np.array(values, self.dtypes[0])
        parts = zip(*values, strict=True) if values else ((),) * len(self.dtypes)
        return tuple(np.array(part, dtype) for part, dtype in zip(parts, self.dtypes, strict=True))


@cache
def built(cls: type, build: str) -> Any:
    """Decorate a class anew; each build is compiled once in a test run."""
    return sf.operator(**OPTIONS[cls], compile=build)(cls)()


DECLARED = [
    Declared(LongestRise, lambda n: float(n % 7), ("f8",)),
    Declared(Spread, lambda n: (n % 31) / 4, ("f8",)),
    Declared(Chain, lambda n: (n % 50, n // 50 % 9), ("i8", "i4")),
    Declared(Latest, lambda n: (n / 3, n % 5), ("f8", "i8")),
    Declared(Narrow, lambda n: (n % 11 == 0, n % 100, (n % 13) / 8), ("b1", "i1", "f4")),
    Declared(Hands, lambda n: n % 1000, ("u2",)),
]
