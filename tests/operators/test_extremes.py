"""Min, max and their relatives: NaN, zeros, limits, ties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from tests.support.algorithms import fitting, make
from tests.support.cases import INT_MAX, INT_MIN
from tests.support.folds import fold, folds, slid

NAN, INF = math.nan, math.inf


class TestMinMax:
    def test_the_identity_of_max_is_not_zero(self) -> None:
        assert fold(sf.max(), [-3.0, -5.0]) == -3.0
        assert fold(sf.max(dtype="int64"), [-3, -5]) == -3
        assert fold(sf.min(), [3.0, 5.0]) == 3.0
        assert fold(sf.min(dtype="int64"), [3, 5]) == 3
        assert fold(sf.max(), [-INF]) == -INF
        assert fold(sf.min(), [INF]) == INF

    def test_limits(self) -> None:
        for values in ([INT_MIN], [INT_MIN, INT_MIN], [INT_MIN, INT_MAX], [INT_MAX]):
            assert fold(sf.max(dtype="int64"), values) == max(values)
            assert fold(sf.min(dtype="int64"), values) == min(values)
        assert fold(sf.max(dtype="int64"), [2**53, 2**53 + 1]) == 2**53 + 1

    def test_max_is_nan_if_any_is(self) -> None:
        for values in ([NAN], [NAN, 1.0], [1.0, NAN], [NAN, INF], [1.0, NAN, 2.0], [-NAN, 1.0]):
            assert math.isnan(fold(sf.max(), values)), values

    def test_min_is_nan_only_if_all_are(self) -> None:
        for values in ([NAN], [NAN, NAN], [NAN, -NAN]):
            assert math.isnan(fold(sf.min(), values)), values
        assert fold(sf.min(), [NAN, 1.0, NAN]) == 1.0
        assert fold(sf.min(), [INF, NAN]) == INF

    def test_nan_leaves(self) -> None:
        for name in fitting(sf.max()):
            results = slid(sf.max(), [NAN, 1.0, 2.0, NAN, 0.0], 2, algorithm=name)
            assert [*map(math.isnan, results)] == [True, True, False, True, True]
            assert slid(sf.min(), [NAN, 1.0, NAN, NAN], 2, algorithm=name)[:3] == pytest.approx(
                [NAN, 1.0, 1.0], nan_ok=True
            )

    def test_minus_zero_equals_zero(self) -> None:
        for operator in (sf.max(), sf.min()):
            for values in ([0.0, -0.0], [-0.0, 0.0], [-0.0]):
                assert fold(operator, values) == 0.0

    def test_nothing(self) -> None:
        for operator in (sf.max(), sf.min(dtype="int64"), sf.max_count(), sf.max_by()):
            assert set(folds(operator, []).values()) == {None}

    @given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=30), st.integers(1, 8))
    def test_against_python(self, values: list[float], n: int) -> None:
        column = np.array(values)
        for name in fitting(sf.max()):
            for operator, truth in ((sf.max(), max), (sf.min(), min)):
                expected = [truth(values[max(0, i + 1 - n) : i + 1]) for i in range(len(values))]
                assert slid(operator, values, n, algorithm=name) == expected
                assert make(name, operator).slide(column, n).tolist() == expected


class TestCounts:
    def test_counts_equal_extremes(self) -> None:
        assert fold(sf.max_count(), [1.0, 3.0, 3.0, 2.0]) == 2
        assert fold(sf.min_count(dtype="int64"), [1, 3, 1, 1]) == 3
        assert fold(sf.max_count(), [-1.0]) == 1

    def test_nan_and_zero_are_one_value(self) -> None:
        assert fold(sf.max_count(), [NAN, 1.0, -NAN, NAN]) == 3
        assert fold(sf.min_count(), [NAN, NAN]) == 2
        assert fold(sf.min_count(), [NAN, 1.0, NAN]) == 1
        assert fold(sf.max_count(), [0.0, -0.0, -1.0]) == 2
        assert fold(sf.min_count(), [-0.0, 0.0, 1.0]) == 2

    def test_limits_are_values_like_others(self) -> None:
        for operator in (sf.max_count(dtype="int64"), sf.min_count(dtype="int64")):
            for limit in (INT_MIN, INT_MAX):
                assert fold(operator, [limit, limit]) == 2
        assert fold(sf.max_count(), [-INF, -INF]) == 2
        assert fold(sf.min_count(), [INF, INF]) == 2


class TestBy:
    @pytest.mark.parametrize("make_by", [sf.max_by, sf.min_by])
    def test_ties_go_to_the_older(self, make_by: Any) -> None:
        for key in (1.0, 0.0, NAN, INF, -INF):
            assert fold(make_by(dtype="str"), [("old", key), ("new", key)]) == "old"
        for key in (INT_MIN, 0, INT_MAX):
            operator = make_by(dtype="str", key_dtype="int64")
            assert fold(operator, [("old", key), ("new", key)]) == "old"
        assert fold(make_by(dtype="str"), [("old", -0.0), ("new", 0.0)]) == "old"
        assert fold(make_by(dtype="str"), [("old", 0.0), ("new", -0.0)]) == "old"
        assert fold(make_by(dtype="str"), [("old", NAN), ("new", -NAN)]) == "old"

    def test_the_next_older_follows(self) -> None:
        pairs = [("a", 5.0), ("b", 5.0), ("c", 5.0), ("d", 1.0), ("e", 1.0)]
        for name in fitting(sf.max_by(dtype="str")):
            results = slid(sf.max_by(dtype="str"), pairs, 2, algorithm=name)
            assert results == ["a", "a", "b", "c", "d"]

    def test_nan_is_the_largest_key(self) -> None:
        pairs = [("a", 1.0), ("b", NAN), ("c", INF)]
        assert fold(sf.max_by(dtype="str"), pairs) == "b"
        assert fold(sf.min_by(dtype="str"), pairs) == "a"

    def test_arguments_of_any_kind(self) -> None:
        thing = object()
        assert fold(sf.max_by(dtype="object"), [(thing, 2.0), ((), 1.0)]) is thing
        assert fold(sf.min_by(dtype="object"), [((), 2.0), (thing, 1.0)]) is thing
        assert fold(sf.max_by(dtype="int64", key_dtype="int64"), [(INT_MIN, 1), (2, 0)]) == INT_MIN
        assert math.isnan(fold(sf.max_by(), [(NAN, 2.0), (0.0, 1.0)]))

    def test_columns_come_as_a_pair(self) -> None:
        operator = sf.max_by(dtype="str", key_dtype="int64")
        columns = (["x", "y", "z"], np.array([3, 1, 2]))
        for name in fitting(operator):
            assert make(name, operator).slide(columns, 2) == ["x", "x", "z"]
