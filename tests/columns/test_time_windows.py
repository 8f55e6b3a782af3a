"""Several time windows in one pass, against frames that are made and folded one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidefold as sf
from slidefold import _native
from slidefold.errors import ResultOverflowError, ValueTypeError

LEAST, MOST = -(2**63), 2**63 - 1
WINDOWS = st.tuples(st.integers(1, 60) | st.sampled_from([MOST]), st.booleans(), st.booleans())


@st.composite
def sorted_times(draw: Any) -> tuple[Any, Any]:
    """Groups of times in order, with peers, gaps and the ends of the range; longer than a block."""
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 9, 700, 1500]), min_size=1, max_size=4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = draw(st.sampled_from([3, 50, 5000]))
    first = draw(st.sampled_from([0, LEAST, MOST - 5000]))
    groups = [np.sort(random.integers(0, spread, size)) + first for size in sizes]
    return np.cumsum([0, *sizes]), np.concatenate(groups).astype(np.int64)


@settings(deadline=None, max_examples=40)
@given(sorted_times(), st.lists(WINDOWS, min_size=1, max_size=3), st.booleans(), st.integers(1, 3))
def test_windows_fold_what_their_frames_hold(
    given_times: Any, windows: Any, moved: bool, threads: int
) -> None:
    starts, times = given_times
    rows = len(times)
    random = np.random.default_rng(rows)
    whole = random.integers(-9, 9, rows)
    places = random.permutation(rows).astype(np.uint32) if moved else None
    operators: Any = [
        (sf.sum("x", dtype="int64"), whole),
        (sf.max("x", dtype="int64"), whole),
        (sf.min("x"), whole / 4),
        (sf.sum("x"), whole / 4),  # exact in floats, however they are added
        (sf.std("x"), whole / 4),
        (sf.count(), None),
    ]
    asked = [
        (window, operator, values, least)
        for window in range(len(windows))
        for operator, values in operators
        for least in (0, 3)
    ]
    found = _native.fold_time_windows(starts, times, places, windows, asked, threads)
    for (window, operator, values, least), (data, valid) in zip(asked, found, strict=True):
        lo, hi = _native.time_frames(starts, times, *windows[window])
        if values is None:
            due, defined = hi - lo, np.ones(rows, np.bool_)
        else:
            due, defined = _native.fold_frames("two_stacks_lite", operator, values, lo, hi)
        defined = defined & (hi - lo >= least)
        if places is not None:
            due, defined = due[places], defined[places]
        assert defined.all() if valid is None else np.array_equal(valid, defined), operator
        if operator.name == "std":
            assert np.allclose(data[defined], due[defined], rtol=1e-12, atol=1e-12)
        else:
            assert np.array_equal(data[defined], due[defined]), operator


def test_a_definition_mixes_columns_that_go_together_with_others() -> None:
    table = pa.table(
        {
            "ts": [3, 1, 2, 2, 5, 4],
            "k": ["a", "b", "a", "a", "b", "a"],
            "x": pa.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], pa.float32()),
            "y": pa.array([1, None, 3, 4, 5, 6], pa.int8()),
        }
    )
    definition = sf.rolling(
        on="ts",
        by="k",
        columns={
            "largest": sf.max("x").over(2),
            "median": sf.median("x").over(sf.time(2)),
            "total": sf.sum("x").over(sf.time(2)),
            "several": sf.sum("x").over(sf.time(2), min_count=3),
            "peak": sf.max("x").over(sf.time(2, closed="left")),
            "rows": sf.count().over(sf.time(2)),
            "known": sf.count("y").over(sf.time(2)),
            "both": sf.struct(n=sf.count(), low=sf.min("x")).over(sf.time(3)),
        },
    )
    found = definition.run(table)
    assert found.column_names == [*table.column_names, *definition.columns]
    assert found["total"].to_pylist() == [13.0, 2.0, 12.0, 12.0, 16.0, 33.0]
    assert found["several"].to_pylist() == [13.0, None, None, None, None, None]
    assert found["peak"].to_pylist() == [8.0, None, None, None, None, 8.0]
    assert found["peak"].type == pa.float32()
    assert found["rows"].to_pylist() == [3, 1, 2, 2, 1, 2]
    assert found["known"].to_pylist() == [3, 0, 2, 2, 1, 2]
    assert found["both"].to_pylist()[5] == {"n": 4, "low": 1.0}
    assert found["median"].to_pylist() == [4.0, 2.0, 6.0, 6.0, 16.0, 16.5]


def test_a_sum_that_does_not_fit_names_the_row_of_the_input() -> None:
    large = 2**62
    table = pa.table({"t": [1, 2, 1, 2], "k": [1, 1, 0, 0], "x": [1, 1, large, large]})
    with pytest.raises(ResultOverflowError, match="at row 3"):
        sf.rolling(on="t", by="k", r=sf.sum("x").over(sf.time(5))).run(table)


def test_the_kernel_refuses_what_does_not_fit() -> None:
    starts, times, values = np.array([0, 3]), np.arange(3), np.zeros(3)
    window, column = (5, False, True), (0, sf.sum("x"), values, 0)
    fold: Any = _native.fold_time_windows
    with pytest.raises(ValueTypeError, match="from 0 to the number of rows"):
        fold(np.array([0, 2]), times, None, [window], [column])
    with pytest.raises(ValueTypeError, match="starts of groups go up"):
        fold(np.array([0, 4, 3]), times, None, [window], [column])
    with pytest.raises(ValueTypeError, match="times of a group go up"):
        fold(starts, times[::-1].copy(), None, [window], [column])
    with pytest.raises(ValueTypeError, match="places are those"):
        fold(starts, times, np.full(3, 3, np.uint32), [window], [column])
    with pytest.raises(ValueTypeError, match="longer than 0"):
        fold(starts, times, None, [(0, True, True)], [column])
    with pytest.raises(ValueTypeError, match="names its window"):
        fold(starts, times, None, [window], [(1, sf.sum("x"), values, 0)])
    with pytest.raises(ValueTypeError, match="array of 3 values"):
        fold(starts, times, None, [window], [(0, sf.sum("x"), values[:2], 0)])
    with pytest.raises(ValueTypeError, match="no kernel"):
        fold(starts, times, None, [window], [(0, sf.first("x"), values, 0)])
    with pytest.raises(ValueTypeError, match="places are those"):
        _native.put_in_order(times, np.full(3, 3, np.uint32))
    with pytest.raises(ValueTypeError, match="differ in length"):
        _native.put_in_order(times, np.zeros(2, np.uint32))
