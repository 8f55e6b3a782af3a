"""Variance, standard deviation and the geometric mean against exact arithmetic."""

from __future__ import annotations

import math
import random
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.algorithms import KeyedWindows
from tests.support.algorithms import fitting, make
from tests.support.exact import hard_columns, moments_of
from tests.support.folds import fold, folds, slid

HARD = hard_columns(200)
JOINT = (sf.covariance, sf.correlation, sf.trend)


def exact_variance(values: list[float], ddof: int) -> Fraction:
    center = sum(map(Fraction, values), Fraction()) / len(values)
    apart = [Fraction(x) - center for x in values]
    return sum((x * x for x in apart), Fraction()) / (len(values) - ddof)


class TestVariance:
    @pytest.mark.parametrize("ddof", [0, 1, 2])
    def test_too_few_values_have_none(self, ddof: int) -> None:
        for n in range(5):
            for result in folds(sf.var(ddof=ddof), [1.5] * n).values():
                assert (result is None) == (n <= ddof)
                assert n <= ddof or result == 0.0

    def test_far_from_zero(self) -> None:
        """1e9 plus noise in [0, 1): relative error below 1e-12, where subtraction has none left."""
        rng = random.Random(1)
        for n in (2, 10, 1000):
            values = [1e9 + rng.random() for _ in range(n)]
            for ddof in (0, 1):
                exact = exact_variance(values, ddof)
                for name, result in folds(sf.var(ddof=ddof), values).items():
                    assert abs(Fraction(result) / exact - 1) < 1e-12, name
                for name, result in folds(sf.std(ddof=ddof), values).items():
                    assert abs(Fraction(result) ** 2 / exact - 1) < 1e-12, name

    def test_far_from_zero_while_sliding(self) -> None:
        rng = random.Random(2)
        values = [1e9 + rng.random() for _ in range(400)]
        for name in fitting(sf.var()):
            column = make(name, sf.var()).slide(np.array(values), 50)
            events = slid(sf.var(), values, 50, algorithm=name)
            for row in (49, 50, 51, 99, 100, 237, 399):
                exact = exact_variance(values[row - 49 : row + 1], 1)
                assert abs(Fraction(column[row]) / exact - 1) < 1e-12
                assert abs(Fraction(events[row]) / exact - 1) < 1e-12

    @pytest.mark.parametrize("hard", HARD)
    def test_hard_columns_in_every_algorithm(self, hard: str) -> None:
        """Event by event, late too: relative errors below 1e-12, whatever combines the parts."""
        xs, ys = HARD[hard]
        dtype = str(xs.dtype)
        pairs = list(zip(xs.tolist(), ys.tolist(), strict=True))
        joint = [make(dtype=dtype, key_dtype=dtype) for make in JOINT]
        for operator in (sf.var(dtype=dtype), sf.std(dtype=dtype), *joint):
            events: list[Any] = pairs if operator in joint else xs.tolist()
            found: dict[str, Any] = {
                name: slid(operator, events, 50, algorithm=name) for name in fitting(operator)
            }
            late = sf.Window(operator, sf.time(50), lateness=3)
            for time in range(0, len(events), 2):
                late.push(time + 1, events[time + 1])
                late.push(time, events[time])
            keyed = KeyedWindows(operator, sf.time(50))
            columns = (xs, ys) if operator in joint else xs
            found["keyed"] = keyed.push(["a"] * len(xs), np.arange(len(xs)), columns).to_pylist()
            found["late"] = {len(xs) - 1: late.query()}
            for row in (49, 50, 51, 150, len(xs) - 1):
                exact = moments_of(*(c[row - 49 : row + 1].tolist() for c in (xs, ys)))
                for name, results in found.items():
                    if name != "late" or row in results:
                        assert exact.right(operator.name, results[row]), (operator, name, row)

    @pytest.mark.parametrize("wild", [math.inf, -math.inf, math.nan])
    @pytest.mark.parametrize("operator", [sf.var(ddof=0), sf.std(ddof=0)], ids=str)
    def test_what_is_not_finite_has_no_spread(self, operator: sf.Operator, wild: float) -> None:
        for values in ([wild], [wild, 1.0], [1.0, wild, 2.0], [wild, wild]):
            assert math.isnan(fold(operator, values)), values

    @pytest.mark.parametrize("dtype", ["float64", "int64"])
    @given(values=st.lists(st.integers(-1000, 1000), min_size=2, max_size=20))
    def test_against_statistics(self, dtype: str, values: list[int]) -> None:
        for result in folds(sf.var(dtype=dtype), values).values():
            assert result == pytest.approx(statistics.variance(values), rel=1e-12, abs=1e-9)
        for result in folds(sf.std(ddof=0, dtype=dtype), values).values():
            assert result == pytest.approx(statistics.pstdev(values), rel=1e-9, abs=1e-6)

    def test_never_negative(self) -> None:
        for value in (0.1, 1e9 + 0.1, 1 / 3):
            assert fold(sf.var(), [value] * 100) == 0.0
            assert fold(sf.std(ddof=0), [value] * 100) == 0.0


class TestGeomean:
    def test_zero_and_negative(self) -> None:
        assert fold(sf.geomean(), [2.0, 0.0, 8.0]) == 0.0
        assert fold(sf.geomean(), [0.0]) == 0.0
        assert fold(sf.geomean(), [-0.0, 5.0]) == 0.0
        assert math.isnan(fold(sf.geomean(), [2.0, -8.0]))
        assert math.isnan(fold(sf.geomean(), [0.0, -8.0]))
        assert math.isnan(fold(sf.geomean(), [math.nan, 1.0]))
        assert fold(sf.geomean(), [math.inf, 1.0]) == math.inf

    def test_huge_and_tiny(self) -> None:
        """Products that would over- or underflow by far."""
        for value in (1e300, 1e-300, 1.7e308, 2.3e-308):
            for result in folds(sf.geomean(), [value] * 50).values():
                assert result == pytest.approx(value, rel=1e-12)
        for result in folds(sf.geomean(), [1e300, 1e-300] * 20).values():
            assert result == pytest.approx(1.0, rel=1e-12)

    def test_zero_leaves_no_trace(self) -> None:
        assert slid(sf.geomean(), [0.0, -1.0, 3.0, 3.0], 1)[2] == pytest.approx(3.0, rel=1e-12)
        assert slid(sf.geomean(), [0.0, 3.0, 3.0], 2)[-1] == pytest.approx(3.0, rel=1e-12)

    def test_nothing(self) -> None:
        assert set(folds(sf.geomean(), []).values()) == {None}

    @given(st.lists(st.integers(1, 10**6), min_size=1, max_size=20))
    def test_against_statistics(self, values: list[int]) -> None:
        for dtype in ("float64", "int64"):
            for result in folds(sf.geomean(dtype=dtype), values).values():
                assert result == pytest.approx(statistics.geometric_mean(values), rel=1e-12)
