"""Truth, ranges, bins and sums at their limits."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.errors import OperatorError, ResultOverflowError
from tests.support.algorithms import fitting, make
from tests.support.cases import INT_MAX, INT_MIN
from tests.support.folds import fold, slid


class TestCompensatedSum:
    def test_does_not_depend_on_the_number_of_values(self) -> None:
        values = [0.1] * 20_000
        exact = float(sum(map(Fraction, values)))
        window = make("daba_lite", sf.sum(compensated=True))
        assert window.slide(np.array(values), 20_000)[-1] == exact
        assert make("daba_lite", sf.sum()).slide(np.array(values), 20_000)[-1] != exact

    def test_what_cancels(self) -> None:
        for values in ([1e16, 1.0, -1e16], [1.0, 1e100, 1.0, -1e100], [1e300, 1e-300, -1e300]):
            assert fold(sf.sum(compensated=True), values) == float(sum(map(Fraction, values)))

    def test_against_fractions(self) -> None:
        rng = random.Random(1)
        values = [rng.choice([-1, 1]) * 10.0 ** rng.uniform(-20, 20) for _ in range(300)]
        for name in fitting(sf.sum(compensated=True)):
            for at, got in enumerate(slid(sf.sum(compensated=True), values, 50, algorithm=name)):
                held = values[max(0, at - 49) : at + 1]
                exact = sum(map(Fraction, held), Fraction())
                slack = sum(map(abs, map(Fraction, held)), Fraction()) / 2**98 + abs(exact) / 2**52
                assert abs(Fraction(got) - exact) <= slack

    def test_integers_need_none(self) -> None:
        with pytest.raises(OperatorError, match="exact without it"):
            sf.sum(dtype="int64", compensated=True)


class TestRange:
    def test_integers_beyond_64_bits(self) -> None:
        window = make("daba_lite", sf.range(dtype="int64"), checked=True)
        window.insert(INT_MIN)
        window.insert(-1)
        assert window.query() == INT_MAX
        window.insert(0)
        with pytest.raises(ResultOverflowError, match="range needs more than 64 bits"):
            window.query()
        window.evict()
        assert window.query() == 1

    def test_relative_variation(self) -> None:
        assert fold(sf.relative_variation(), [1.0, 3.0]) == 1.0
        assert fold(sf.relative_variation(), [-1.0, 1.0]) == math.inf
        assert math.isnan(fold(sf.relative_variation(), [0.0]))
        wide = fold(sf.relative_variation(dtype="int64"), [INT_MIN, INT_MAX, INT_MAX])
        assert wide == pytest.approx(6.0)

    def test_m4_of_nan(self) -> None:
        first, last, low, high = fold_once(sf.m4(), [1.0, math.nan, 2.0])
        assert (first, last, low) == (1.0, 2.0, 1.0)
        assert math.isnan(high)


def fold_once(operator: Any, values: list[Any]) -> Any:
    window = make("two_stacks", operator)
    for value in values:
        window.insert(value)
    return window.query()


class TestHistogram:
    def test_against_numpy(self) -> None:
        rng = np.random.default_rng(2)
        values = np.round(rng.normal(size=300), 1)
        edges = [-1.5, -0.5, 0.0, 0.1, 2.0]
        operator = sf.histogram(edges=edges)
        for name in fitting(operator):
            result = make(name, operator).slide(values, 40)
            for row in (0, 39, 40, 200, 299):
                part = values[max(0, row - 39) : row + 1]
                assert result[row] == np.histogram(part, edges)[0].tolist()

    def test_integers_are_not_rounded(self) -> None:
        operator = sf.histogram(edges=[0, 2**53, 2**54], dtype="int64")
        assert fold_once(operator, [2**53 - 1, 2**53, 2**53 + 1]) == [1, 2]
        halves = sf.histogram(edges=[-0.5, 0.5, 1.5], dtype="int64")
        assert fold_once(halves, [-1, 0, 1, 2]) == [1, 1]
        wide = sf.histogram(edges=[-math.inf, 0, math.inf], dtype="int64")
        assert fold_once(wide, [INT_MIN, -1, 0, INT_MAX]) == [2, 2]

    def test_outside(self) -> None:
        assert fold_once(sf.histogram(edges=[0, 1]), [-1.0, 2.0, math.nan]) == [0]
        assert fold_once(sf.histogram(edges=[0, 1]), [1.0, 0.0]) == [2]

    @pytest.mark.parametrize(
        "edges", [[], [1], [1, 1], [2, 1], [0, math.nan], "ab", 3, None, ["a"]]
    )
    def test_wrong_edges(self, edges: Any) -> None:
        with pytest.raises(OperatorError, match="edge"):
            sf.histogram(edges=edges)

    def test_edges_as_an_array(self) -> None:
        assert sf.histogram(edges=np.array([0.0, 1.0])) == sf.histogram(edges=[0, 1])  # type: ignore[arg-type]


class TestPairs:
    def test_trend_of_nanoseconds(self) -> None:
        start = 1_700_000_000_000_000_000
        window = sf.Window(sf.trend(key_dtype="int64"), sf.rows(100))
        for i in range(300):
            slope = window.push((2.5 * i, start + i))
        assert slope == pytest.approx(2.5, rel=1e-12)
        extremes = sf.Window(sf.trend(dtype="int64", key_dtype="int64"), sf.rows(2))
        extremes.push((INT_MIN, INT_MIN))
        assert extremes.push((INT_MAX, INT_MAX)) == 1.0

    @pytest.mark.parametrize("wild", [math.inf, -math.inf, math.nan])
    def test_wild_values_leave_no_trace(self, wild: float) -> None:
        for operator in (
            sf.covariance(),
            sf.correlation(),
            sf.trend(),
            sf.decayed_mean(half_life=1),
        ):
            tame = [(1.0, 1.0), (2.0, 3.0), (4.0, 4.0)]
            for name in fitting(operator):
                clean = slid(operator, tame, 3, algorithm=name)[-1]
                passed = slid(operator, [(wild, 1.0), *tame], 3, algorithm=name)
                assert not math.isfinite(passed[1])
                assert passed[-1] == pytest.approx(clean, rel=1e-14)

    def test_decay_in_any_order_of_times(self) -> None:
        rows = [(1.0, 1e15), (2.0, 0.0), (3.0, 1e15 - 5)]
        results = {
            round(fold_once(sf.decayed_mean(half_life=5), [rows[i] for i in order]), 12)
            for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0))
        }
        assert results == {round((1.0 + 3.0 / 2) / 1.5, 12)}
        huge = [(1e308, 0.0), (1e308, 1.0), (1e308, 2.0)]
        assert fold_once(sf.decayed_mean(half_life=1), huge) == pytest.approx(1e308)

    @pytest.mark.parametrize("wrong", [0, -1, math.inf, math.nan, "1", None, True], ids=repr)
    def test_half_life(self, wrong: Any) -> None:
        with pytest.raises(OperatorError, match="half_life of decayed_mean must be"):
            sf.decayed_mean(half_life=wrong)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "1", None, True], ids=repr)
def test_whole_numbers(wrong: Any) -> None:
    for make_operator, name in ((sf.nth, "n"), (sf.top_k, "k")):
        with pytest.raises(OperatorError, match=f"integer {name} >= 1"):
            make_operator(**{name: wrong})


def test_distinct_of_many() -> None:
    rng = random.Random(5)
    values = [rng.choice([math.nan, -0.0, 0.0, *map(float, range(60))]) for _ in range(300)]
    for name in fitting(sf.collect_distinct()):
        result = slid(sf.collect_distinct(), values, 100, algorithm=name)[-1]
        expected = list(dict.fromkeys("nan" if x != x else x for x in values[-100:]))
        assert ["nan" if x != x else x for x in result] == expected
