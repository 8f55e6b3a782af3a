"""Time and rows windows in one pass, against frames that are made and folded one by one."""

from __future__ import annotations

import math
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
TIMES = st.tuples(st.integers(1, 60) | st.sampled_from([MOST]), st.booleans(), st.booleans())
ROWS = st.tuples(st.sampled_from([1, 2, 3, 30, 1000, 2**62 - 1]), st.booleans())


@st.composite
def sorted_times(draw: Any) -> tuple[Any, Any]:
    """Groups of times in order, with peers, gaps and the ends of the range; longer than a block."""
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 9, 700, 1500]), min_size=1, max_size=4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = draw(st.sampled_from([3, 50, 5000]))
    first = draw(st.sampled_from([0, LEAST, MOST - 5000]))
    groups = [np.sort(random.integers(0, spread, size)) + first for size in sizes]
    return np.cumsum([0, *sizes]), np.concatenate(groups).astype(np.int64)


def frames_of(starts: Any, times: Any, window: Any) -> tuple[Any, Any]:
    if len(window) == 3:
        return _native.time_frames(starts, times, *window)
    rows, keeps_end = window
    hi = np.arange(len(times)) + keeps_end
    return np.maximum(hi - rows, np.repeat(starts[:-1], np.diff(starts))), hi


def placed(how: str, starts: Any, times: Any, random: Any) -> tuple[dict[str, Any], Any]:
    """What the pass is told of where rows are, and the place of each row of the input."""
    rows = len(times)
    places = np.arange(rows, dtype=np.uint32)
    if how == "moved":  # some peers change places
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        some = np.flatnonzero(random.random(rows) < 0.3)
        places[some] = some[np.lexsort((random.random(len(some)), times[some], group[some]))]
        return {"moved": (some.astype(np.uint32), places[some])}, places
    if how != "as they were":
        places = random.permutation(places)
    order = np.argsort(places).astype(np.uint32)
    told = {"places": {"places": places}, "order": {"order": order}}
    return told.get(how, {}), places


OPERATORS: list[Any] = [  # what it folds of whole numbers w
    (sf.sum("x", dtype="int64"), lambda w: w),
    (sf.mean("x", dtype="int64"), lambda w: w),
    (sf.max("x", dtype="int64"), lambda w: w),
    (sf.min("x", dtype="int64"), lambda w: w),
    (sf.std("x", dtype="int64"), lambda w: w),
    (sf.sum("x"), lambda w: w / 4),  # exact in floats, however they are added
    (sf.mean("x"), lambda w: w / 4),
    (sf.min("x"), lambda w: np.where(w < 0, np.nan, w / 4)),
    (sf.max("x"), lambda w: np.where(w < 0, -math.inf, w / 4)),
    (sf.var("x", ddof=0), lambda w: w / 4),
    (sf.geomean("x"), np.exp2),
    (sf.covariance("x", "y"), lambda w: (w / 4, w[::-1] / 2)),
    (sf.correlation("x", "y", dtype="int64"), lambda w: (w, w[::-1] / 2)),
    (sf.trend("x", "y", key_dtype="int64"), lambda w: (w / 4, w[::-1].copy())),
    (sf.max_by("x", "y", dtype="int64"), lambda w: w / 4),
    (sf.min_by("x", "y", dtype="int64", key_dtype="int64"), lambda w: w),
    (sf.count("x"), None),
    (sf.first("x"), None),
    (sf.last("x"), None),
    (sf.nth("x", 3), None),
]
ROUNDED = ("mean", "std", "var", "geomean", "covariance", "correlation", "trend")


def expected(operator: Any, values: Any, present: Any, lo: Any, hi: Any) -> tuple[Any, Any]:
    """Fold frames of the rows that are present."""
    rows = np.flatnonzero(present)
    before = np.concatenate(([0], np.cumsum(present)))
    lo, hi = before[lo], before[hi]
    every = np.ones(len(lo), np.bool_)
    if operator.name == "count":
        return hi - lo, every
    if operator.name in ("first", "last", "nth"):
        at = {"first": lo, "last": hi - 1, "nth": hi - 3}[operator.name]
        held = (at >= lo) & (hi > lo)
        return rows[np.where(held, at, 0)] if len(rows) else lo, held
    if operator.name in ("max_by", "min_by"):
        values = (np.arange(len(present)), values)
    pair = isinstance(values, tuple)
    chosen = tuple(np.ascontiguousarray(v)[rows] for v in (values if pair else (values,)))
    given_values = chosen if pair else chosen[0]
    return _native.fold_frames("two_stacks_lite", operator, given_values, lo, hi)


@settings(deadline=None, max_examples=60)
@given(
    sorted_times(),
    st.lists(TIMES | ROWS, min_size=1, max_size=3),
    st.sampled_from(["as they were", "moved", "places", "order"]),
    st.sampled_from([None, 0.1, 0.9, 1.0]),
    st.integers(1, 3),
)
def test_windows_fold_what_their_frames_hold(
    given_times: Any, windows: Any, how: str, nulls: float | None, threads: int
) -> None:
    starts, times = given_times
    rows = len(times)
    random = np.random.default_rng(rows)
    whole = random.integers(-9, 9, rows)
    valid = None if nulls is None else random.random(rows) >= nulls
    present = np.ones(rows, np.bool_) if valid is None else valid
    told, places = placed(how, starts, times, random)
    asked: list[Any] = [
        (window, operator, None if read is None else read(whole), valid, least)
        for window in range(len(windows))
        for operator, read in OPERATORS
        for least in (0, 3)
    ]
    found = _native.fold_windows(starts, times, windows, asked, **told, threads=threads)
    for (window, operator, values, _, least), (data, known) in zip(asked, found, strict=True):
        lo, hi = frames_of(starts, times, windows[window])
        due, defined = expected(operator, values, present, lo, hi)
        before = np.concatenate(([0], np.cumsum(present)))
        defined = defined & (before[hi] - before[lo] >= least)
        due, defined = due[places], defined[places]
        assert defined.all() if known is None else np.array_equal(known, defined), operator
        if operator.name in ROUNDED:
            np.testing.assert_allclose(data[defined], due[defined], rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(data[defined], due[defined], str(operator))


# ---- definitions against rows that are looked at one by one -------------------------------------

CLOSED = ("right", "left", "both", "neither")


def by_hand(table: pa.Table, window: Any, least: int) -> list[dict[str, Any]]:
    """Each row's window, found by looking at all rows: what it holds, in order."""
    rows = table.to_pylist()

    def key(row: dict[str, Any]) -> Any:
        return tuple((row[c] is not None, row[c] or 0) for c in ("x", "y"))

    results = []
    for row in rows:
        group = [r for r in rows if r["k"] == row["k"]]
        group.sort(key=lambda r: (r["t"], *key(r)))
        if isinstance(window, int):
            held = [r for r in group if (r["t"], *key(r)) <= (row["t"], *key(row))][-window:]
        else:
            closed, span = window
            held = [
                r
                for r in group
                if row["t"] - span < r["t"] + (closed in ("left", "both"))
                and r["t"] < row["t"] + (closed in ("right", "both"))
            ]
        results.append(_answers(held, least))
    return results


def _answers(held: list[dict[str, Any]], least: int) -> dict[str, Any]:
    xs = [r["x"] for r in held if r["x"] is not None]
    both = [(r["x"], r["y"]) for r in held if r["x"] is not None and r["y"] is not None]
    enough, pairs = len(xs) >= max(least, 1), len(both) >= max(least, 1)
    most = max((x for x, _ in both), default=None)
    return {
        "n": len(xs) if len(xs) >= least else None,
        "total": sum(xs) if enough else None,
        "low": min(xs) if enough else None,
        "first": xs[0] if enough else None,
        "last": xs[-1] if enough else None,
        "of_most": next(y for x, y in both if x == most) if pairs else None,
    }


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32),
    st.integers(0, 60),
    st.sampled_from([3, 40]),
    st.sampled_from([1, 4]),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_definitions_as_by_hand(
    seed: int, rows: int, spread: int, keys: int, least: int | None, in_order: bool
) -> None:
    random = np.random.default_rng(seed)
    times = random.integers(0, spread, rows)
    x = random.permutation(rows)  # rows differ, so that their order is known
    table = pa.table(
        {
            "t": np.sort(times) if in_order else times,
            "k": pa.array(random.integers(0, keys, rows), mask=random.random(rows) < 0.1),
            "x": pa.array(x // 2, mask=random.random(rows) < 0.2),
            "y": pa.array(x, pa.int32()),
        }
    )
    windows: list[Any] = [1, 3, *((closed, 5) for closed in CLOSED)]
    for window in windows:
        over: Any = window if isinstance(window, int) else sf.time(window[1], closed=window[0])
        columns: dict[str, Any] = {
            "n": sf.count("x"),
            "total": sf.sum("x"),
            "low": sf.min("x"),
            "first": sf.first("x"),
            "last": sf.last("x"),
            "of_most": sf.max_by("y", "x"),
        }
        definition = sf.rolling(
            on="t",
            by="k",
            order=("x", "y"),
            columns={name: op.over(over, min_count=least) for name, op in columns.items()},
        )
        found = definition.run(table).select(list(columns)).to_pylist()
        assert found == by_hand(table, window, least or 0), window


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
            "key": sf.last("k").over(2, closed="left"),
            "kept": sf.first("y", nulls="keep").over(2, min_count=1),
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
    assert found["key"].to_pylist() == ["a", None, None, "a", "b", "a"]
    assert found["kept"].to_pylist() == [4, None, 3, 3, None, 1]


KINDS = {
    "int8": pa.array([3, None, -1, 7], pa.int8()),
    "uint64": pa.array([3, None, 2**63 + 1, 0], pa.uint64()),
    "float32": pa.array([1.5, None, -2.5, math.inf], pa.float32()),
    "float16": pa.array(np.array([1.5, 0, -2.5, 3], np.float16), mask=np.arange(4) == 1),
    "bool": pa.array([True, None, False, True]),
    "date32": pa.array([3, None, -1, 7], pa.date32()),
    "time32": pa.array([3, None, 1, 7], pa.time32("ms")),
    "timestamp": pa.array([3, None, -1, 7], pa.timestamp("ns", "UTC")),
    "duration": pa.array([3, None, -1, 7], pa.duration("s")),
    "decimal": pa.array([3, None, -1, 7], pa.decimal128(9, 2)),
    "string": pa.array(["c", None, "a", "d"]),
    "dictionary": pa.array(["c", None, "a", "d"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", ["in order", "shuffled", "nearly in order", "by key", "sliced"])
def test_columns_of_any_type_travel_with_their_nulls(kind: str, layout: str) -> None:
    """Values and nulls go to the order of rows and back, whatever their width."""
    random = np.random.default_rng(2)
    rows = 400
    picked = random.integers(0, 4, rows)
    times = np.arange(rows)
    if layout == "shuffled":
        times = random.permutation(rows)
    elif layout == "nearly in order":
        times[[17, 200]] = times[[200, 17]]
    keys = random.integers(0, 3, rows) if layout == "by key" else np.zeros(rows, np.int64)
    table = pa.table({"t": times, "k": keys, "v": KINDS[kind].take(pa.array(picked))})
    if layout == "sliced":
        table = table.slice(13, 350)
    ordered = table.append_column("row", pa.array(np.arange(len(table)))).sort_by("t").to_pylist()
    expected: list[Any] = [None] * len(table)
    for i, row in enumerate(ordered):
        before = [r["v"] for r in ordered[: i + 1] if r["k"] == row["k"]][-3:]
        known = [v for v in before if v is not None]
        most, last = (max(known), known[-1]) if known else (None, None)
        expected[row["row"]] = {"most": most, "last": last, "kept": before[0]}
    by = "k" if layout == "by key" else ()
    found = sf.rolling(
        on="t",
        by=by,
        most=sf.max("v").over(3),
        last=sf.last("v").over(3),
        kept=sf.first("v", nulls="keep").over(3),
    ).run(table)
    assert found.select(["most", "last", "kept"]).to_pylist() == expected
    assert found["last"].type == table["v"].type


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("moved", [0.02, 1.0])
def test_results_go_to_the_rows_of_the_input(moved: float, threads: int) -> None:
    """Rows in any order, with peers and nulls, get the results that they get in order."""
    random = np.random.default_rng(4)
    rows = 100_000
    place = np.arange(rows, dtype=np.float64)
    away = random.random(rows) < moved
    place[away] = random.uniform(0, rows, away.sum())
    order = pa.array(np.argsort(place, kind="stable"))
    x = pa.array(random.integers(0, 1000, rows), mask=random.random(rows) < 0.3)
    y = pa.array(random.permutation(rows))
    table = pa.table({"t": np.sort(random.integers(0, 3 * rows, rows)), "x": x, "y": y})
    windows: list[Any] = [3, sf.rows(5, closed="left"), sf.time(6), sf.time(6, closed="left")]
    made = (sf.count("x"), sf.sum("x"), sf.first("x"), sf.max_by("y", "x"), sf.median("x"))
    columns = {
        f"{operator.name}{i}": operator.over(window, min_count=2 if i % 2 else None)
        for operator in made
        for i, window in enumerate(windows)
    }
    definition = sf.rolling(on="t", order=["y"], **columns)
    found = definition.run(table.take(order), threads=threads)
    assert found.equals(definition.run(table).take(order))
    assert found["sum1"].null_count > 0


# ---- results that do not fit --------------------------------------------------------------------


@pytest.mark.parametrize("over", [2, sf.time(5)])
def test_a_sum_that_does_not_fit_names_the_row_of_the_input(over: Any) -> None:
    large = 2**62
    table = pa.table({"t": [1, 2, 1, 2], "k": [1, 1, 0, 0], "x": [1, 1, large, large]})
    with pytest.raises(ResultOverflowError, match="at row 3"):
        sf.rolling(on="t", by="k", r=sf.sum("x").over(over)).run(table)
    # The other way round it is the row that comes last in time.
    with pytest.raises(ResultOverflowError, match="at row 0"):
        sf.rolling(on="t", by="k", r=sf.sum("x").over(over)).run(table.take([3, 2, 1, 0]))


def test_only_whole_windows_have_to_fit() -> None:
    """A window that holds too few values may not fit, nor may one without all peers of its row."""
    large = 2**63 - 1
    table = pa.table({"t": [1, 2, 2, 3], "x": [large, 1, -5, None]})
    for order in ([0, 1, 2, 3], [0, 2, 1, 3]):
        given_rows = table.take(order)
        total = sf.rolling(on="t", r=sf.sum("x").over(sf.time(9))).run(given_rows)["r"]
        assert total.to_pylist() == [large, large - 4, large - 4, large - 4]
    with pytest.raises(ResultOverflowError, match="at row 1"):
        sf.rolling(on="t", order="input", r=sf.sum("x").over(9)).run(table)
    fine = sf.rolling(on="t", order="input", r=sf.sum("x").over(2, min_count=3)).run(table)["r"]
    assert fine.null_count == 4
    peers = pa.table({"t": [1, 2, 2, 2], "x": [large, 0, 0, 1]})
    with pytest.raises(ResultOverflowError, match="at row 1"):  # of the three the first
        sf.rolling(on="t", r=sf.sum("x").over(sf.time(9))).run(peers)


@pytest.mark.parametrize("over", [2, sf.time(2)])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_overflow_far_away_names_its_row(over: Any, threads: int) -> None:
    rows = 100_000
    x = np.zeros(rows, np.int64)
    x[70_000:70_002] = 2**62
    table = pa.table({"t": np.arange(rows), "x": pa.array(x, mask=np.arange(rows) % 7 == 3)})
    with pytest.raises(ResultOverflowError, match="at row 70001"):
        sf.rolling(on="t", r=sf.sum("x").over(over)).run(table, threads=threads)
    order = np.arange(rows)
    order[[500, 70_001]] = order[[70_001, 500]]
    with pytest.raises(ResultOverflowError, match="at row 500"):
        sf.rolling(on="t", r=sf.sum("x").over(over)).run(table.take(order), threads=threads)


def test_peers_are_moved_back_and_so_is_the_row_that_does_not_fit() -> None:
    large = 2**62
    t = np.arange(1000)
    t[600] = t[599]
    x = np.zeros(1000, np.int64)
    x[598:601] = large, 7, large  # in order of x the row 600 comes last, and before 599 here
    x[599], x[600] = large, 7
    with pytest.raises(ResultOverflowError, match="at row 599"):
        sf.rolling(on="t", r=sf.sum("x").over(3)).run(pa.table({"t": t, "x": x}))


def test_the_kernel_refuses_what_does_not_fit() -> None:
    starts, times, values = np.array([0, 3]), np.arange(3), np.zeros(3)
    window, column = (5, False, True), (0, sf.sum("x"), values, None, 0)
    fold: Any = _native.fold_windows
    with pytest.raises(ValueTypeError, match="from 0 to the number of rows"):
        fold(np.array([0, 2]), times, [window], [column])
    with pytest.raises(ValueTypeError, match="starts of groups that never decrease"):
        fold(np.array([0, 4, 3]), times, [window], [column])
    with pytest.raises(ValueTypeError, match="times of a group that never decrease"):
        fold(starts, times[::-1].copy(), [window], [column])
    beyond = np.full(3, 3, np.uint32)
    for told in ({"places": beyond}, {"order": beyond}, {"moved": (beyond, beyond)}):
        with pytest.raises(ValueTypeError, match="places of the rows"):
            fold(starts, times, [window], [column], **told)
    with pytest.raises(ValueTypeError, match="longer than 0"):
        fold(starts, times, [(0, True, True)], [column])
    with pytest.raises(ValueTypeError, match="index of a window"):
        fold(starts, times, [window], [(1, *column[1:])])
    with pytest.raises(ValueTypeError, match="array of 3 values of type float64"):
        fold(starts, times, [window], [(0, sf.sum("x"), values[:2], None, 0)])
    with pytest.raises(ValueTypeError, match="array of 3 bools"):
        fold(starts, times, [window], [(0, sf.sum("x"), values, values, 0)])
    with pytest.raises(ValueTypeError, match="pair of columns"):
        fold(starts, times, [window], [(0, sf.correlation("x", "y"), values, None, 0)])
    with pytest.raises(ValueTypeError, match="no kernel"):
        fold(starts, times, [window], [(0, sf.median("x"), values, None, 0)])


def test_rows_without_groups_and_groups_without_rows() -> None:
    none = np.empty(0, np.int64)
    column = (0, sf.sum("x"), np.empty(0), None, 0)
    for window in ((3, True), (5, True, True)):
        for starts in (np.array([0]), np.array([0, 0, 0])):
            ((data, valid),) = _native.fold_windows(starts, none, [window], [column], threads=2)
            assert (len(data), valid) == (0, None)
