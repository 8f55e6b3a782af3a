"""The native kernels over whole columns against the plainest way to do the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidefold as sf
from slidefold import _native
from slidefold.columns.threads import fold_frames
from slidefold.errors import DefinitionError, ResultOverflowError, ValueTypeError

LEAST, MOST = -(2**63), 2**63 - 1
TIMES = st.one_of(st.integers(-5, 5), st.integers(LEAST, MOST), st.sampled_from([LEAST, MOST]))


@given(st.lists(st.tuples(st.integers(0, 3), TIMES), max_size=40), st.booleans())
def test_rows_come_in_the_stable_order_of_group_and_time(rows: Any, keyed: bool) -> None:
    _, first = np.unique([group for group, _ in rows], return_inverse=True)
    groups = first.astype(np.int32) if keyed and rows else None
    times = np.array([time for _, time in rows], np.int64)
    count = int(groups.max()) + 1 if groups is not None else 0
    due = np.lexsort((times, groups if groups is not None else np.zeros(len(times))))
    order, in_order, starts, places, tied = _native.order_rows(groups, count, times, peers=True)
    if order is None:
        assert due.tolist() == list(range(len(times)))
    else:
        assert order.tolist() == due.tolist()
        assert in_order.tolist() == times[due].tolist()
        values = np.arange(len(times))
        assert places is None or places[due].tolist() == values.tolist()
    pairs = [(0 if groups is None else int(groups[i]), int(times[i])) for i in range(len(times))]
    counts = Counter(pairs)
    peers = [place for place, row in enumerate(due) if counts[pairs[row]] > 1]
    if not peers:
        assert tied is None
    else:
        assert tied is not None
        assert tied[0].tolist() == peers
        sizes = [counts[pairs[due[place]]] for place in peers]
        assert np.diff(tied[1]).tolist() == [sizes[first] for first in tied[1][:-1]]
    assert _native.order_rows(groups, count, times)[4] is None
    if groups is not None:
        assert starts.tolist() == [*np.searchsorted(groups[due], range(count)), len(times)]


@given(
    st.lists(st.integers(0, 255), max_size=40),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.randoms(use_true_random=False),
)
def test_rows_of_any_width_are_moved(values: list[int], width: int, random: Any) -> None:
    data = np.repeat(np.array(values, np.uint8), width)
    rows = list(range(len(values)))
    random.shuffle(rows)
    order = np.array(rows, np.uint32)
    taken = _native.take_rows(data, width, order)
    assert taken.tolist() == [values[row] for row in rows for _ in range(width)]
    assert _native.place_rows(taken, width, order).tolist() == data.tolist()
    some = np.sort(order[: len(rows) // 2])
    other = some[np.array(random.sample(range(len(some)), len(some)), np.int64)]
    moved = _native.move_rows(data, width, some, other).reshape(-1, width)
    due = np.array(values, np.uint8)
    due[other] = due[some]
    assert (moved == due[:, None]).all()


@pytest.mark.parametrize("rows", [0, 1, 2, 5000])
@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
def test_rows_nearly_in_order_are_put_in_order(rows: int, share: float) -> None:
    random = np.random.default_rng(rows)
    times = np.sort(random.integers(0, 3 * rows + 1, rows))
    moved = random.random(rows) < share
    times[moved] = random.permutation(times[moved])
    order, in_order, *_ = _native.order_rows(None, 0, times)
    due = np.argsort(times, kind="stable")
    assert (np.arange(rows) if order is None else order).tolist() == due.tolist()
    assert (times if order is None else in_order).tolist() == times[due].tolist()


@given(st.lists(st.one_of(st.integers(-20, 20), st.integers(LEAST, MOST)), max_size=30))
def test_keys_are_numbered_in_order_of_appearance(keys: list[int]) -> None:
    found = _native.number_keys(np.array(keys, np.int64))
    if found is None:
        assert not keys or max(keys) - min(keys) >= 1024
        return
    seen = list(dict.fromkeys(keys))
    assert found[0].tolist() == [seen.index(key) for key in keys]
    assert found[1] == len(seen)


@given(
    st.lists(TIMES, max_size=30).map(sorted),
    st.integers(1, 8) | st.integers(1, MOST),
    st.booleans(),
    st.booleans(),
)
def test_frames_hold_the_times_of_their_range(
    times: list[int], span: int, keeps_start: bool, keeps_end: bool
) -> None:
    starts = np.array([0, len(times)] if times else [0], np.int64)
    lo, hi = _native.time_frames(starts, np.array(times, np.int64), span, keeps_start, keeps_end)
    for row, end in enumerate(times):
        inside = [
            i
            for i, time in enumerate(times)
            if (end - span <= time if keeps_start else end - span < time)
            and (time <= end if keeps_end else time < end)
        ]
        assert list(range(lo[row], hi[row])) == inside


FRAMES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=30)


def _frames(steps: list[tuple[int, int]]) -> tuple[Any, Any, int]:
    """Frames that never go back: both ends move on by steps, the start stays below the end."""
    lo, hi = [], []
    low = high = 0
    for first, second in steps:
        high += second
        low = min(low + first, high) if first < 3 else high  # a jump empties the window
        lo.append(low)
        hi.append(high)
    return np.array(lo, np.int64), np.array(hi, np.int64), high + 2


@pytest.mark.parametrize("algorithm", [name for name, *_ in _native.algorithms()])
@given(steps=FRAMES)
@settings(max_examples=40)
def test_folds_of_frames_are_those_of_their_rows(algorithm: str, steps: Any) -> None:
    lo, hi, rows = _frames(steps)
    operator: Any = sf.concat()
    values: Any = [chr(97 + i % 26) for i in range(rows)]
    if algorithm in ("subtract_on_evict", "slick_deque"):
        operator = sf.sum(dtype="int64") if algorithm == "subtract_on_evict" else sf.max()
        values = np.arange(rows)[::-1] * (1 if algorithm == "subtract_on_evict" else 1.0)
        values = np.ascontiguousarray(values)
    data, valid = _native.fold_frames(algorithm, operator, values, lo, hi)
    for i, (low, high) in enumerate(zip(lo, hi, strict=True)):
        held = list(values[low:high])
        assert valid[i] == bool(held)
        if held and algorithm == "subtract_on_evict":
            assert data[i] == sum(held)
        elif held and algorithm == "slick_deque":
            assert data[i] == max(held)
        elif held:
            assert data[i] == "".join(held)


@pytest.mark.parametrize("algorithm", [name for name, *_ in _native.algorithms()])
@given(lengths=st.lists(st.integers(1, 12), max_size=6), window=st.integers(1, 14))
@settings(max_examples=40)
def test_rows_windows_start_anew_with_each_group(
    algorithm: str, lengths: list[int], window: int
) -> None:
    ends = np.cumsum(lengths, dtype=np.int64)
    starts = np.repeat(ends - lengths, lengths)
    rows = np.arange(len(starts))
    lo = np.maximum(rows + 1 - window, starts)
    values = np.random.default_rng(4).integers(0, 9, len(rows))
    operators = {"subtract_on_evict": sf.sum(dtype="int64"), "slick_deque": sf.max(dtype="int64")}
    operator = operators.get(algorithm, sf.std(dtype="int64"))
    data, valid = _native.fold_frames(algorithm, operator, values, lo, rows + 1)
    for i in range(len(rows)):
        held = values[lo[i] : i + 1]
        if operator.name == "std":
            assert valid[i] == (len(held) > 1)
            assert not valid[i] or data[i] == pytest.approx(held.std(ddof=1), abs=1e-12)
        else:
            assert valid[i]
            assert data[i] == (held.sum() if operator.name == "sum" else held.max())


class Ends:
    """The oldest and the newest number: plain states, and an order that matters."""

    @staticmethod
    def lift(x: float) -> tuple[float, float]:
        return (x, x)

    @staticmethod
    def combine(older: Any, newer: Any) -> tuple[float, float]:
        return (older.first, newer.last)

    @staticmethod
    def lower(state: Any) -> float:
        return float(state.first * 1000 + state.last)


ENDS: Any = sf.operator(state={"first": "f8", "last": "f8"}, returns="f8")(Ends)


@given(steps=FRAMES)
@settings(max_examples=40, deadline=None)
def test_the_kernel_for_plain_states_keeps_the_order(steps: Any) -> None:
    lo, hi, rows = _frames(steps)
    values = np.arange(rows, dtype=np.float64)
    data, valid = _native.fold_frames("two_stacks_lite", ENDS("x"), values, lo, hi)
    bounds = zip(lo, hi, strict=True)
    due = [1000.0 * low + high - 1 if low < high else None for low, high in bounds]
    assert [x if ok else None for x, ok in zip(data, valid, strict=True)] == due


@pytest.mark.parametrize("operator", [sf.sum("x"), sf.max("x"), sf.std("x"), sf.top_k("x", 2)])
def test_threads_change_nothing(operator: Any) -> None:
    random = np.random.default_rng(3)
    table = pa.table(
        {
            "t": np.sort(random.integers(0, 10**6, 100_000)),
            "k": random.integers(0, 3, 100_000),
            "x": random.integers(0, 10**6, 100_000).astype(np.float64),
        }
    )
    definition = sf.rolling(on="t", by="k", r=operator.over(sf.time(1000)))
    one, three = definition.run(table)["r"], definition.run(table, threads=3)["r"]
    if pa.types.is_floating(one.type):
        np.testing.assert_allclose(one.to_numpy(), three.to_numpy(), rtol=1e-12)
    else:
        assert one.equals(three)


def test_an_overflow_in_a_thread_names_the_row_of_the_whole_column() -> None:
    values = np.ones(200_000, np.int64)
    values[150_000:150_002] = MOST
    rows = np.arange(len(values))
    operator = sf.sum(dtype="int64")
    with pytest.raises(ResultOverflowError, match="at row 150000"):
        fold_frames("two_stacks_lite", operator, values, np.maximum(rows - 5, 0), rows + 1, 2)


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_a_wrong_number_of_threads_is_refused(threads: Any) -> None:
    definition = sf.rolling(on="t", r=sf.count().over(2))
    with pytest.raises(DefinitionError, match="expected threads to be an integer"):
        definition.run(pa.table({"t": [1]}), threads=threads)


def test_kernels_refuse_what_does_not_fit() -> None:
    times = np.arange(3)
    with pytest.raises(ValueTypeError, match="differ in length"):
        _native.order_rows(np.zeros(2, np.int32), 1, times)
    for group in (1, -1):
        with pytest.raises(ValueTypeError, match="numbered below 1"):
            _native.order_rows(np.full(3, group, np.int32), 1, times)
    data, rows = np.zeros(12, np.uint8), np.full(3, 7, np.uint32)
    for move in (_native.take_rows, _native.place_rows):
        with pytest.raises(ValueTypeError, match="expected rows of the column, got 7 of 3"):
            move(data, 4, rows)
    with pytest.raises(ValueTypeError, match="differ in length"):
        _native.place_rows(data, 4, np.zeros(2, np.uint32))
    with pytest.raises(ValueTypeError, match="of 1, 2, 4, 8 or 16 bytes, got 3"):
        _native.take_rows(data, 3, np.zeros(2, np.uint32))
    with pytest.raises(ValueTypeError, match="of 1, 2, 4, 8 or 16 bytes, got 0"):
        _native.take_rows(data, 0, np.zeros(0, np.uint32))
    with pytest.raises(ValueTypeError, match="whole values"):
        _native.take_rows(data, 8, np.zeros(1, np.uint32))
    with pytest.raises(ValueTypeError, match="expected rows of the column"):
        _native.move_rows(data, 4, np.zeros(3, np.uint32), rows)
    with pytest.raises(ValueTypeError, match="runs of the rows"):
        _native.order_ties(times, np.array([0, 2], np.uint32))
