"""Amta's bulk evict, beside a plain list."""

from __future__ import annotations

import random

import pytest

import slidefold as sf
from slidefold.algorithms import Amta
from tests.support.cases import SHORT, Case


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("case", SHORT, ids=str)
def test_bulk_evict(case: Case, counted: bool) -> None:
    rng = random.Random(7)
    window = Amta(case.operator, checked=True, counted=counted)
    held: list[object] = []
    values = iter(case.stream(3000))
    for _ in range(120):
        for _ in range(rng.randint(0, 20)):
            value = next(values)
            window.insert(value)
            held.append(value)
        if rng.random() < 0.3:
            assert case.right(window.query(), held)
        gone = rng.randint(0, len(held)) if rng.random() < 0.9 else len(held)
        window.bulk_evict(gone)
        del held[:gone]
        window.check()
        assert len(window) == len(held)
        if rng.random() < 0.7:
            assert case.right(window.query(), held)
            window.check()
        if rng.random() < 0.1:
            window = window.copy()


def test_bulk_evict_of_too_many() -> None:
    window = Amta(sf.concat(), checked=True)
    for letter in "abc":
        window.insert(letter)
    with pytest.raises(sf.errors.EmptyWindowError, match=r"bulk_evict\(4\) from a window of 3"):
        window.bulk_evict(4)
    with pytest.raises(sf.errors.ValueTypeError, match="-1"):
        window.bulk_evict(-1)
    window.check()
    assert (len(window), window.query()) == (3, "abc")
    window.bulk_evict(0)
    assert window.query() == "abc"
    window.bulk_evict(3)
    assert window.query() is None
