"""Operators as users write them; none of them commutes."""

from __future__ import annotations

from functools import reduce
from typing import Any

import slidefold as sf

PRIME = 10007
Square = tuple[int, int, int, int]  # a 2x2 matrix, row by row


def times(left: Square, right: Square) -> Square:
    """Multiply two matrices, modulo PRIME."""
    a, b, c, d = left
    e, f, g, h = right
    return (
        (a * e + b * g) % PRIME,
        (a * f + b * h) % PRIME,
        (c * e + d * g) % PRIME,
        (c * f + d * h) % PRIME,
    )


def square(n: int) -> Square:
    """Return a matrix whose determinant is -1, so that it has an inverse."""
    return (n % PRIME, 1, 1, 0)


def inverse(matrix: Square) -> Square:
    """Return the inverse, modulo PRIME."""
    a, b, c, d = matrix
    scale = pow(a * d - b * c, -1, PRIME)
    return (d * scale % PRIME, -b * scale % PRIME, -c * scale % PRIME, a * scale % PRIME)


@sf.operator
class Product:
    """The product of matrices, in time order, with an identity."""

    @staticmethod
    def identity() -> Square:
        return (1, 0, 0, 1)

    @staticmethod
    def lift(n: int) -> Square:
        return square(n)

    @staticmethod
    def combine(older: Square, newer: Square) -> Square:
        return times(older, newer)

    @staticmethod
    def lower(state: Square) -> Square:
        return state


@sf.operator
class Reversible:
    """The same product, invertible: the oldest factor is divided away on the left."""

    identity = staticmethod(lambda: (1, 0, 0, 1))
    lift = staticmethod(square)
    combine = staticmethod(times)
    lower = staticmethod(lambda state: state)

    @staticmethod
    def remove(whole: Square, older: Square) -> Square:
        return times(inverse(older), whole)


@sf.operator
class Compose:
    """Functions x -> a * x + b, the older one applied first; no identity of its own."""

    @staticmethod
    def lift(pair: tuple[int, int]) -> tuple[int, int]:
        return pair

    @staticmethod
    def combine(older: tuple[int, int], newer: tuple[int, int]) -> tuple[int, int]:
        (a, b), (c, d) = older, newer
        return (a * c % PRIME, (c * b + d) % PRIME)

    @staticmethod
    def lower(state: tuple[int, int]) -> str:
        return "{}x+{}".format(*state)


@sf.operator
class Longest:
    """The longest word, of equal lengths the older one: selective."""

    lift = staticmethod(lambda word: word)
    lower = staticmethod(lambda word: word)

    @staticmethod
    def combine(older: str, newer: str) -> str:
        return newer if len(newer) > len(older) else older

    @staticmethod
    def newer_wins(older: str, newer: str) -> bool:
        return len(newer) > len(older)


def made(factory: Any, *columns: str) -> Any:
    """Make a user's operator; mypy takes a decorated class for what it was before."""
    return factory(*columns)


def product_of(numbers: list[int]) -> Square | None:
    """Fold what Product and Reversible fold, without either."""
    return reduce(times, map(square, numbers)) if numbers else None


def composition_of(pairs: list[tuple[int, int]]) -> str | None:
    """Apply the functions one after the other: at 0 for b, and at 1 for a + b."""
    if not pairs:
        return None

    def at(x: int) -> int:
        for a, b in pairs:
            x = (a * x + b) % PRIME
        return x

    return f"{(at(1) - at(0)) % PRIME}x+{at(0)}"


def longest_of(words: list[str]) -> Any:
    """Return the first of the longest words."""
    return max(words, key=len) if words else None


@sf.operator
class Joined(sf.Fold):
    """Concatenation in Python: it does not commute, and its states are objects."""

    identity = staticmethod(lambda: "")
    lift = staticmethod(lambda text: text)
    combine = staticmethod(lambda older, newer: older + newer)
    lower = staticmethod(lambda text: text)
