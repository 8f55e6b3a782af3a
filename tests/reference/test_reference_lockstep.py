"""Every algorithm agrees with Recalc after every step, and holds its invariants."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slidefold.reference import Amta, Pba, Recalc, Sba, SlickDeque
from slidefold.reference import operators as ops
from tests.reference.reference_cases import ALL, WITH_ANY, WITH_CONCAT, Make, interleavings, letters


def lockstep(made: Any, op: Any, steps: list[bool], values: Any) -> None:
    oracle: Recalc[Any, Any, Any] = Recalc(op)
    for insert in steps:
        if insert or not len(oracle):
            value = next(values)
            oracle.insert(value)
            made.insert(value)
        else:
            oracle.evict()
            made.evict()
        made.check()
        assert len(made) == len(oracle)
        assert made.query() == oracle.query()
        made.check()  # a query may rearrange (FlatFit) or settle (FlatFat)


@pytest.mark.parametrize("make", WITH_CONCAT)
@pytest.mark.parametrize("seed", range(3))
def test_concat_in_any_interleaving(make: Make, seed: int) -> None:
    lockstep(make(ops.Concat()), ops.Concat(), list(interleavings(seed, 300)), letters())


@pytest.mark.parametrize("make", WITH_CONCAT)
@settings(max_examples=25, deadline=None)
@given(steps=st.lists(st.booleans(), max_size=60))
def test_concat_in_the_interleavings_of_hypothesis(make: Make, steps: list[bool]) -> None:
    lockstep(make(ops.Concat()), ops.Concat(), steps, letters())


@pytest.mark.parametrize("make", [*WITH_ANY, SlickDeque])
@pytest.mark.parametrize("op", [ops.MaxBy(), ops.MinBy(), ops.First(), ops.Last()])
def test_selective_operators_that_do_not_commute(make: Make, op: Any) -> None:
    chance = random.Random(7)
    pairs = ((number, chance.randint(0, 4)) for number in range(10**6))  # many ties
    lockstep(make(op), op, list(interleavings(11, 250)), pairs)


@pytest.mark.parametrize("make", [*WITH_ANY, SlickDeque])
@pytest.mark.parametrize("op", [ops.Max(), ops.Min()])
def test_nan_comes_and_goes(make: Make, op: Any) -> None:
    chance = random.Random(3)
    pool = [1.0, 2.0, -0.0, 0.0, float("nan"), float("inf"), float("-inf")]
    made, oracle = make(op), Recalc(op)
    for insert in interleavings(5, 250):
        if insert or not len(oracle):
            value = chance.choice(pool)
            made.insert(value)
            oracle.insert(value)
        else:
            made.evict()
            oracle.evict()
        made.check()
        assert repr(made.query()) == repr(oracle.query())


@pytest.mark.parametrize("make", WITH_ANY)
@pytest.mark.parametrize("op", [ops.Sum(), ops.Mean(), ops.Var(), ops.Geomean()])
def test_floats_within_rounding(make: Make, op: Any) -> None:
    chance = random.Random(9)
    made, oracle = make(op), Recalc(op)
    for insert in interleavings(13, 200):
        if insert or not len(oracle):
            value = chance.uniform(0.1, 100) * 10 ** chance.randint(0, 4)
            made.insert(value)
            oracle.insert(value)
        else:
            made.evict()
            oracle.evict()
        made.check()
        expected = oracle.query()
        assert made.query() == (expected if expected is None else pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize("make", WITH_ANY)
def test_a_large_value_leaves_no_trace(make: Make) -> None:
    assert make(ops.Sum()).slide([1.0, 1e16, 1.0, 2.0, 3.0], 2)[-2:] == [3.0, 5.0]


@pytest.mark.parametrize("make", WITH_CONCAT)
@pytest.mark.parametrize("window", [1, 2, 3, 7, 64, 500])
@pytest.mark.parametrize("drain", [False, True])
def test_slide(make: Make, window: int, drain: bool) -> None:
    column = [next(source) for source in [letters()] for _ in range(200)]
    expected: list[str] = []
    held = ""
    for value in column:
        if len(held) == window:
            held = "" if drain else held[1:]
        held += value
        expected.append(held)
    assert make(ops.Concat()).slide(column, window, drain=drain) == expected


@pytest.mark.parametrize("make", [Sba, Pba])
@pytest.mark.parametrize("window", [1, 2, 3, 7, 64, 500])
def test_slide_of_the_boundary_aggregators(make: Any, window: int) -> None:
    column = [next(source) for source in [letters()] for _ in range(200)]
    assert make(ops.Concat(), window).slide(column) == Recalc(ops.Concat()).slide(column, window)
    assert make(ops.Concat(), 9).slide(column, window) == Recalc(ops.Concat()).slide(column, window)


@pytest.mark.parametrize("make", ALL)
def test_slide_leaves_the_window_alone(make: Make) -> None:
    op = ops.Max() if make is SlickDeque else ops.Concat()
    window = make(op)
    window.insert("z")
    window.slide("abc", 2)
    assert len(window) == 1
    assert window.query() == "z"


@pytest.mark.parametrize("make", ALL)
def test_a_copy_is_a_window_of_its_own(make: Make) -> None:
    op = ops.Max() if make is SlickDeque else ops.Concat()
    window = make(op)
    for value in "hgfedcba":
        window.insert(value)
    window.query()
    window.evict()
    twin = window.copy()
    before = window.query()
    for value in "xyz":
        twin.evict()
        twin.insert(value)
    twin.check()
    window.check()
    assert window.query() == before
    assert twin.query() == ("z" if make is SlickDeque else "dcbaxyz")


@pytest.mark.parametrize("make", ALL)
def test_emptied_and_refilled_for_ever(make: Make) -> None:
    op = ops.Max() if make is SlickDeque else ops.Concat()
    window = make(op)
    kept = set()
    for _ in range(50):
        for value in "abcdefg":
            window.insert(value)
        window.query()
        for _ in range(7):
            window.evict()
        window.check()
        assert window.query() is None
        kept.add(window.states_kept())
    assert len(kept) <= 2


@settings(max_examples=60, deadline=None)
@given(moves=st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=30))
def test_amta_bulk_evict(moves: list[tuple[bool, int]]) -> None:
    made, oracle, source = Amta(ops.Concat()), Recalc(ops.Concat()), letters()
    for insert, m in moves:
        if insert:
            for _ in range(m):
                value = next(source)
                made.insert(value)
                oracle.insert(value)
        else:
            made.bulk_evict(min(m, len(oracle)))
            for _ in range(min(m, len(oracle))):
                oracle.evict()
        made.check()
        assert made.query() == oracle.query()
