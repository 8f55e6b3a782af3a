"""Find smaller examples that still fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

Example = tuple[tuple[Any, ...], ...]


def shrunk(
    example: Example, fails: Callable[[Example], object], values: list[Any], *, free: bool
) -> Example:
    """Drop and simplify values while the example still fails.

    A value is replaced by an earlier one of `values`, which are sorted simplest first. If `free`,
    it may also be replaced by any simpler value of its type.

    >>> shrunk(((5, 3), (4,)), lambda e: sum(map(sum, e)) > 3, [0, 1, 2, 3, 4, 5], free=False)
    ((0,), (4,))
    """
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(example, values, free):
            if fails(candidate):
                example, smaller = candidate, True
                break
    return example


def _candidates(example: Example, values: list[Any], free: bool) -> Iterator[Example]:
    for place, state in enumerate(example):
        for gone in range(len(state) if len(state) > 1 else 0):
            yield _with(example, place, state[:gone] + state[gone + 1 :])
    for place, state in enumerate(example):
        for at, value in enumerate(state):
            for simple in _simpler(value, values, free):
                yield _with(example, place, (*state[:at], simple, *state[at + 1 :]))


def _with(example: Example, place: int, state: tuple[Any, ...]) -> Example:
    return (*example[:place], state, *example[place + 1 :])


def _simpler(value: Any, values: list[Any], free: bool) -> Iterator[Any]:
    """Yield the values before this one, and if `free` simpler values of its type."""
    place = next((i for i, known in enumerate(values) if _equal(known, value)), 0)
    yield from values[:place]
    if free:
        yield from _reduced(value)


def simplest_first(values: list[Any]) -> list[Any]:
    """Sort numbers by size and strings by length; leave other values in their order.

    >>> simplest_first([-5, 3, 0]), simplest_first(["abc", "b"])
    ([0, 3, -5], ['b', 'abc'])
    """
    if all(isinstance(value, (int, float)) and value == value for value in values):
        return sorted(values, key=lambda value: (abs(value), value < 0))
    if all(isinstance(value, str) for value in values):
        return sorted(values, key=lambda value: (len(value), value))
    return values


def _reduced(value: Any) -> Iterator[Any]:
    """Yield strictly simpler values, so that shrinking terminates."""
    if isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, float):
        if math.isfinite(value) and value != math.trunc(value):
            yield float(math.trunc(value))
        elif math.isfinite(value) and abs(value) > 1:
            yield float(math.trunc(value / 2))
    elif isinstance(value, int):
        if abs(value) > 1:
            yield int(value / 2)
    elif isinstance(value, tuple):
        for at, part in enumerate(value):
            for simple in _reduced(part):
                yield (*value[:at], simple, *value[at + 1 :])


def _equal(a: Any, b: Any) -> bool:
    try:
        return a is b or (type(a) is type(b) and bool(a == b))
    except (TypeError, ValueError):  # comparing arrays does not give a single bool
        return False
