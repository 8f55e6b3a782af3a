"""A whole column, against recomputation row by row, in both implementations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from tests.support.algorithms import STEPPING, fitting, make
from tests.support.cases import BY_ID, CASES, SHORT, Case
from tests.support.implementations import build, codes_of, column_of

ROWS = 12


COUNTING = ("count", "max_count", "min_count", "approx_distinct")
LISTING = (
    "collect",
    "collect_distinct",
    "bloom",
    "histogram",
    "m4",
    "top_k",
    "count_min",
    "moments",
    "naive_bayes",
)


def gives_array(case: Case) -> bool:
    """Tell whether results are numbers, which come as an array; all others come as a list."""
    operator = case.operator
    if operator.name in COUNTING:
        return True
    numbers = operator.dtype in ("float64", "int64", "bool")
    return numbers and operator.name not in LISTING and not operator.keeps_nulls


def seen_by(row: int, window: int, drain: bool) -> int:
    """Return the first row that the window at `row` sees."""
    return row - row % window if drain else max(0, row - window + 1)


@cache
def windows_of(case_id: str, window: int, drain: bool) -> list[tuple[list[Any], Any]]:
    """Return what each row sees, and its truth."""
    case = BY_ID[case_id]
    values = case.stream(ROWS)
    parts = [values[seen_by(row, window, drain) : row + 1] for row in range(ROWS)]
    return [(part, case.truth(part)) for part in parts]


def results_of(case: Case, result: Any) -> list[Any]:
    """Return the rows of a result as Python objects, after a look at its type."""
    if not gives_array(case) or type(result) is list:
        # An array of integers has no room for rows without a result.
        assert not gives_array(case) or None in result
        assert type(result) is list
        return result
    assert isinstance(result, np.ndarray)
    assert result.ndim == 1
    assert result.dtype in (np.dtype("float64"), np.dtype("int64"), np.dtype("bool"))
    rows: list[Any] = result.tolist()
    return rows


def implementations(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the implementations of all algorithms that take the operator, with their names."""
    for code in codes_of(case):
        for name in fitting(case.operator):
            yield code, name


@pytest.mark.sampled(4)
@pytest.mark.parametrize("drain", [False, True], ids=["slide", "drain"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_recomputation(case: Case, drain: bool) -> None:
    for code, name in implementations(case):
        column = column_of(code, case, case.stream(ROWS))
        algorithm = build(code, name, case)
        for window in range(1, ROWS + 4):
            result = algorithm.slide(column, window, drain=drain)
            result = results_of(case, result) if code == "native" else result
            assert len(result) == ROWS
            for got, (part, truth) in zip(result, windows_of(case.id, window, drain), strict=True):
                missing = truth is None and isinstance(got, float)
                right = math.isnan(got) if missing else case.agrees(got, truth, part)
                assert right, (code, name, window, part, got, truth)


def stepped(algorithm: Any, column: Any, window: int, drain: bool) -> Any:
    """Return what the algorithm answers event by event; None, which is no result, as NaN."""
    results = []
    for value in column:
        if len(algorithm) == window:
            for _ in range(window if drain else 1):
                algorithm.evict()
        algorithm.insert(value)
        results.append(algorithm.query())
    return np.array([math.nan if result is None else result for result in results])


@pytest.mark.parametrize("drain", [False, True], ids=["slide", "drain"])
@pytest.mark.parametrize("operator", [sf.sum, sf.mean, sf.var, sf.geomean, sf.max, sf.min])
@pytest.mark.parametrize("name", STEPPING)
def test_the_same_bits_as_event_by_event(name: str, operator: Any, drain: bool) -> None:
    """Floats round by the order of combines, and a column has the order of its events."""
    if name not in fitting(operator()):
        pytest.skip(f"{name} does not take it")
    random = np.random.default_rng(7)
    column = random.normal(size=150) * 10.0 ** random.integers(-9, 9, 150)
    column[60:80] = -0.0
    column[90:] = random.choice([*column[:8], 0.0, -0.0, math.inf, -math.inf, math.nan], 60)
    for window in (1, 2, 3, 4, 7, 8, 16, 17, 31, 32, 50, 75, 149, 150, 151):
        result = make(name, operator()).slide(column, window, drain=drain)
        due = stepped(make(name, operator()), column.tolist(), window, drain)
        np.testing.assert_array_equal(result, due)
        known = ~np.isnan(due)  # the sign of a NaN is nobody's
        np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(due[known]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_empty_column_and_one_row(case: Case) -> None:
    values = case.stream(1)
    for name in fitting(case.operator):
        algorithm = make(name, case.operator)
        for drain in (False, True):
            for window in (1, 2, 1000, 2**40):
                nothing = algorithm.slide(case.kind.column([]), window, drain=drain)
                assert results_of(case, nothing) == [], name
                column = case.kind.column(values)
                [result] = results_of(case, algorithm.slide(column, window, drain=drain))
                if case.truth(values) is None and isinstance(result, float):  # a spread of one
                    assert math.isnan(result), name
                else:
                    assert case.right(result, values), name


@pytest.mark.parametrize("case", SHORT, ids=str)
def test_long_columns(case: Case) -> None:
    """Columns that fill several chunks of a queue, and windows around their ends."""
    rows = 1300
    values = case.stream(rows, seed=1)
    column = case.kind.column(values)
    slow = case.operator.native_name == "object"
    heavy = case.operator.name in ("concat", "collect")  # quadratic by nature
    for drain in (False, True):
        for window in (100,) if heavy else (100, 255, 256, 257, 510, 511, 1000):
            chosen = {*range(0, rows, 97), window - 1, window, 2 * window, rows - 1}
            truths = {}
            for row in chosen & {*range(rows)}:
                part = values[seen_by(row, window, drain) : row + 1]
                truths[row] = case.truth(part), part
            for name in fitting(case.operator):
                if name == "recalc" and slow and window > 100:
                    continue
                column_result = make(name, case.operator).slide(column, window, drain=drain)
                result = results_of(case, column_result)
                for row, (truth, part) in truths.items():
                    assert case.agrees(result[row], truth, part), (name, window, drain, row)


@pytest.mark.parametrize("case", SHORT, ids=str)
def test_slide_leaves_the_window_alone(case: Case) -> None:
    values = case.stream(5)
    for code, name in implementations(case):
        algorithm = build(code, name, case, checked=True)
        for value in values:
            algorithm.insert(value)
        algorithm.slide(column_of(code, case, case.stream(40, seed=2)), 7)
        algorithm.check()
        assert len(algorithm) == 5, (code, name)
        assert case.right(algorithm.query(), values), (code, name)
        with pytest.raises(sf.errors.WindowError, match=r"\b0\b"):
            algorithm.slide(column_of(code, case, values), 0)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_latencies(case: Case) -> None:
    column = case.kind.column(case.stream(ROWS))
    for name in fitting(case.operator):
        algorithm = make(name, case.operator)
        for window, steps in ((1, ROWS - 1), (5, ROWS - 5), (ROWS, 0), (ROWS + 1, 0), (2**40, 0)):
            measured = algorithm.latencies(column, window)
            assert measured.dtype == np.int64
            assert measured.shape == (steps,), (name, window)
            assert (measured >= 0).all()
        assert algorithm.latencies(case.kind.column([]), 1).shape == (0,), name


def test_rows_without_a_result_are_nan() -> None:
    for name in fitting(sf.var()):
        result = make(name, sf.var(ddof=2)).slide(np.array([1.0, 3.0, 5.0, 5.0]), 3)
        assert np.isnan(result[:2]).all(), name
        np.testing.assert_allclose(result[2:], [8.0, 8.0 / 3], rtol=1e-12)


def test_an_overflow_names_its_row() -> None:
    column = np.array([2**62, 1, 2**62, 2**62, 2**62], dtype=np.int64)
    for name in fitting(sf.sum(dtype="int64")):
        algorithm = make(name, sf.sum(dtype="int64"))
        with pytest.raises(sf.errors.ResultOverflowError, match=r"row 2$"):
            algorithm.slide(column, 3)
        assert algorithm.slide(column, 1).tolist() == column.tolist()
