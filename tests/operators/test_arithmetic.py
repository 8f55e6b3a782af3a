"""Count, sum and mean against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.errors import ResultOverflowError
from tests.support.algorithms import WINDOWS, fitting, make, takes
from tests.support.cases import INT_MAX, INT_MIN
from tests.support.folds import fold, folds, slid

INT_SUM = sf.sum(dtype="int64")
INT_MEAN = sf.mean(dtype="int64")


class TestCount:
    def test_counts_anything(self) -> None:
        assert fold(sf.count(), [None, "x", 1, math.nan, object()]) == 5

    def test_an_empty_window_has_none(self) -> None:
        for name in fitting(sf.count()):
            window = make(name, sf.count())
            assert window.query() == 0
            window.insert(None)
            window.evict()
            assert window.query() == 0
        assert sf.Window(sf.count(), sf.rows(3)).query() == 0

    def test_slides_over_anything_with_a_length(self) -> None:
        for name in fitting(sf.count()):
            window = make(name, sf.count())
            for column in (np.zeros(4), np.zeros(4, dtype="M8[s]"), "abcd", [None] * 4):
                assert window.slide(column, 2).tolist() == [1, 2, 2, 2]


class TestFloatSum:
    def test_an_empty_window_has_no_sum(self) -> None:
        assert set(folds(sf.sum(), []).values()) == {None}

    @pytest.mark.parametrize(
        ("values", "total"),
        [
            ([math.inf, 1.0], math.inf),
            ([1.0, -math.inf], -math.inf),
            ([math.inf, -math.inf], math.nan),
            ([1.0, math.nan, 2.0], math.nan),
            ([1e308, 1e308], math.inf),
            ([0.1], 0.1),
            ([5e-324, 5e-324], 1e-323),
        ],
    )
    def test_follows_ieee(self, values: list[float], total: float) -> None:
        result = fold(sf.sum(), values)
        assert result == total or (math.isnan(result) and math.isnan(total))

    def test_minus_zero(self) -> None:
        assert fold(sf.sum(), [-0.0]) == 0.0
        assert fold(sf.sum(), [-0.0, -0.0]) == 0.0

    @pytest.mark.parametrize("operator", [sf.sum(), sf.mean()], ids=str)
    def test_a_large_value_leaves_no_trace(self, operator: Any) -> None:
        for name in fitting(operator):
            assert slid(operator, [1e16, 1.0, 1.0, 1.0], 2, algorithm=name)[-1] in (2.0, 1.0)
            assert slid(operator, [1e300, -1e300, 0.1], 1, algorithm=name)[-1] == 0.1
            algorithm = make(name, operator)
            assert algorithm.slide(np.array([1e16, 1.0, 1.0]), 1)[-1] == 1.0

    @pytest.mark.parametrize("wild", [math.inf, -math.inf, math.nan])
    def test_infinity_and_nan_leave_no_trace(self, wild: float) -> None:
        for operator in (sf.sum(), sf.mean(), sf.var(), sf.std(), sf.max(), sf.min()):
            for name in fitting(operator):
                clean = slid(operator, [1.0, 2.0, 4.0], 3, algorithm=name)[-1]
                passed = slid(operator, [wild, 1.0, 2.0, 4.0], 3, algorithm=name)[-1]
                assert passed == clean

    def test_integers_and_numpy_numbers_are_floats_too(self) -> None:
        values = [1, True, np.float32(0.5), np.int8(-1), np.uint64(2**63), np.float64(0.25)]
        assert fold(sf.sum(), values) == 1.75 + 2**63
        assert fold(sf.sum(), [Fraction(1, 4)]) == 0.25


class TestIntSum:
    def test_limits(self) -> None:
        assert fold(INT_SUM, [INT_MAX]) == INT_MAX
        assert fold(INT_SUM, [INT_MIN]) == INT_MIN
        assert fold(INT_SUM, [INT_MAX, INT_MIN]) == -1
        assert fold(INT_SUM, [INT_MAX, 1, -1]) == INT_MAX
        assert fold(INT_SUM, [True, np.int64(2), np.uint8(3)]) == 6

    def test_128_bits_hold_what_passes_64(self) -> None:
        values = [INT_MAX] * 1000 + [-INT_MAX] * 1000 + [5]
        assert fold(INT_SUM, values) == 5
        values = [INT_MIN] * 1000 + [INT_MAX] * 1000 + [995]
        assert fold(INT_SUM, values) == -5

    @pytest.mark.parametrize("far", [INT_MAX, INT_MIN])
    def test_overflow_is_judged_in_lower_only(self, far: int) -> None:
        """Too much is an error when it is asked for, not when it is inserted; nothing is lost."""
        for name in fitting(INT_SUM):
            window = make(name, INT_SUM, checked=True)
            window.insert(far)
            window.insert(far)
            for _ in range(2):
                with pytest.raises(ResultOverflowError, match="64 bits") as caught:
                    window.query()
                assert isinstance(caught.value, OverflowError)
                window.check()
                assert len(window) == 2
            window.evict()
            assert window.query() == far
            window.insert(-1 if far > 0 else 1)
            assert window.query() == far + (-1 if far > 0 else 1)
            window.check()

    @pytest.mark.parametrize("algorithm", [None, *WINDOWS])
    def test_a_push_that_overflows_changes_nothing(self, algorithm: str | None) -> None:
        if algorithm is not None and not takes(algorithm, INT_SUM):
            return
        rows = sf.Window(INT_SUM, sf.rows(2), algorithm=algorithm, checked=True)
        assert rows.push(1) == 1
        assert rows.push(INT_MAX - 1) == INT_MAX
        with pytest.raises(ResultOverflowError, match="64 bits"):
            rows.push(INT_MAX)
        assert (len(rows), rows.query()) == (2, INT_MAX)
        rows.check()
        assert rows.push(1) == INT_MAX  # the 1 left, not the refused value
        timed = sf.Window(INT_SUM, sf.time(10), algorithm=algorithm, checked=True)
        assert timed.push(0, 1) == 1
        with pytest.raises(ResultOverflowError):
            timed.push(5, INT_MAX)
        assert (len(timed), timed.query()) == (1, 1)
        timed.check()
        assert timed.push(2, INT_MAX - 1) == INT_MAX  # time 5 was refused with its value
        with pytest.raises(ResultOverflowError):
            timed.push(10, 2)  # the 1 would have left: it stays
        assert (len(timed), timed.query()) == (2, INT_MAX)
        timed.check()

    def test_an_insert_beyond_64_bits(self) -> None:
        """Whether it is refused or taken, the window stays whole."""
        window = sf.Window(INT_SUM, sf.rows(2), checked=True)
        window.insert(INT_MAX)
        try:
            window.insert(INT_MAX)
        except ResultOverflowError:
            assert (len(window), window.query()) == (1, INT_MAX)
        else:
            with pytest.raises(ResultOverflowError):
                window.query()
        window.check()

    @given(st.lists(st.integers(INT_MIN, INT_MAX), min_size=1, max_size=12), st.integers(1, 5))
    def test_against_python(self, values: list[int], n: int) -> None:
        for name in fitting(INT_SUM):
            window = make(name, INT_SUM)
            for at, value in enumerate(values):
                window.insert(value)
                if len(window) > n:
                    window.evict()
                total = sum(values[max(0, at + 1 - n) : at + 1])
                if INT_MIN <= total <= INT_MAX:
                    assert window.query() == total
                else:
                    with pytest.raises(ResultOverflowError):
                        window.query()


class TestMean:
    def test_negative_integers(self) -> None:
        assert fold(INT_MEAN, [-1, -2]) == -1.5
        assert fold(INT_MEAN, [-3, -3, -3]) == -3.0
        assert slid(INT_MEAN, [-5, -7, -9], 2) == [-5.0, -6.0, -8.0]

    def test_limits(self) -> None:
        assert fold(INT_MEAN, [INT_MAX] * 4) == float(INT_MAX)
        assert fold(INT_MEAN, [INT_MIN] * 4) == float(INT_MIN)
        assert fold(INT_MEAN, [INT_MIN, INT_MAX]) == -0.5

    def test_nothing(self) -> None:
        assert set(folds(INT_MEAN, []).values()) == {None}
        assert set(folds(sf.mean(), []).values()) == {None}

    @given(st.lists(st.integers(INT_MIN, INT_MAX), min_size=1, max_size=20))
    def test_against_fractions(self, values: list[int]) -> None:
        exact = Fraction(sum(values), len(values))
        result = fold(INT_MEAN, values)
        assert isinstance(result, float)
        assert abs(Fraction(result) - exact) <= abs(exact) * Fraction(1, 2**51)

    @given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=20))
    def test_floats_against_fractions(self, values: list[float]) -> None:
        exact = sum(map(Fraction, values), Fraction()) / len(values)
        slack = Fraction(1e-12) * sum(map(abs, map(Fraction, values)), Fraction()) / len(values)
        for name, result in folds(sf.mean(), values).items():
            assert abs(Fraction(result) - exact) <= slack + Fraction(5e-324), name
