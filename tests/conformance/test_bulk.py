"""Amta's bulk evict beside a plain list, in both implementations."""

from __future__ import annotations

import random

import pytest

from slidefold.errors import EmptyWindowError, ValueTypeError, WindowError
from tests.support.cases import BY_ID, SHORT, Case
from tests.support.implementations import IMPLEMENTATIONS, build, every


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("code", "name", "case"), every(SHORT, ["amta"]))
def test_bulk_evict(code: str, name: str, case: Case, counted: bool) -> None:
    rng = random.Random(7)
    if code == "reference" and counted:
        return  # the reference is the same code
    window = build(code, name, case, checked=True, counted=counted)
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


@pytest.mark.parametrize("code", IMPLEMENTATIONS)
def test_bulk_evict_of_too_many(code: str) -> None:
    window = build(code, "amta", BY_ID["concat"], checked=True)
    for letter in "abc":
        window.insert(letter)
    sentence = r"bulk_evict\(4\) from a window of 3|cannot evict 4 values from a window of 3"
    with pytest.raises(EmptyWindowError, match=sentence):
        window.bulk_evict(4)
    with pytest.raises((ValueTypeError, WindowError), match="-1"):
        window.bulk_evict(-1)
    window.check()
    assert (len(window), window.query()) == (3, "abc")
    window.bulk_evict(0)
    assert window.query() == "abc"
    window.bulk_evict(3)
    assert window.query() is None
