"""`KeyedWindows` against the rows themselves."""

from __future__ import annotations

import pickle
import random
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.algorithms import KeyedWindows
from slidefold.errors import (
    DataError,
    OperatorError,
    StateError,
    TimeOrderError,
    ValueTypeError,
    WindowError,
)
from tests.support.user_operators import Joined
from tests.windows.test_time import CLOSED, inside

OPERATORS: dict[str, sf.Operator] = {"native": sf.concat(), "python": Joined()}


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("keys", ["integers", "texts"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_lockstep(operator: str, keys: str, closed: str) -> None:
    rng = random.Random(f"{operator}{keys}{closed}")
    windows = KeyedWindows(OPERATORS[operator], sf.time(20, closed=closed))
    names: list[Any] = list(range(-3, 9)) if keys == "integers" else ["", "ä", *"bcdefghij"]
    rows: dict[Any, list[tuple[int, str]]] = {}
    now, newest, watermark, late = 0, -1000, None, 0
    for batch in range(30):
        size = rng.choice([0, 1, 5, 40, 250])
        # No window of this batch or of a later one reaches further back.
        rows = {key: [row for row in held if row[0] > now - 40] for key, held in rows.items()}
        chosen = [rng.choice(names[: rng.choice([1, 4, 11])]) for _ in range(size)]
        times, texts = [], []
        for _ in range(size):
            now += rng.random() < 0.2
            times.append(now - rng.choice([0, 0, 1, 4, 9]))
            texts.append(rng.choice("abcdefgh"))
        accepted = [watermark is None or time > watermark for time in times]
        late += accepted.count(False)
        advance = max(watermark or 0, now - 6) if rng.random() < 0.5 else None
        results = windows.push(chosen, times, texts, watermark=advance)
        for key, time, text, ok in zip(chosen, times, texts, accepted, strict=True):
            if ok:
                rows.setdefault(key, []).append((time, text))
        ordered = {key: sorted(held, key=lambda row: row[0]) for key, held in rows.items()}
        seen: dict[Any, str] = {}
        for result, key, time, ok in zip(results.to_pylist(), chosen, times, accepted, strict=True):
            if (key, time) not in seen:
                rest = (text for at, text in ordered.get(key, []) if inside(at, time, 20, closed))
                seen[key, time] = "".join(rest)
            assert result == (seen[key, time] or None if ok else None)
        watermark = watermark if advance is None else advance
        windows.check()
        assert (windows.late, windows.watermark) == (late, watermark)
        newest = max([newest, *times])
        for key in names:
            end = max(newest, -1000 if watermark is None else watermark)
            held = ordered.get(key, [])
            expected = "".join(text for at, text in held if inside(at, end, 20, closed))
            assert windows.query(key) == (expected or None)
        if batch % 20 == 7:
            windows = windows.copy()
        if batch % 20 == 13:
            windows = KeyedWindows.from_bytes(windows.to_bytes(), OPERATORS[operator])
    windows.advance(now + 100)
    assert (len(windows), windows.entries, windows.keys()) == (0, 0, [])


@pytest.mark.footprint
def test_many_keys_of_few_entries_are_small() -> None:
    windows = KeyedWindows(sf.sum(), sf.time(100))
    keys = np.repeat(np.arange(50_000), 4)
    windows.push(keys, np.tile(np.arange(4), 50_000), np.ones(200_000))
    assert (len(windows), windows.entries) == (50_000, 200_000)
    assert windows.nbytes / 50_000 < 220


def test_keys_without_entries_are_forgotten_bit_by_bit() -> None:
    windows = KeyedWindows(sf.sum(), sf.time(10), lateness=0)
    for batch in range(200):
        keys = np.arange(batch * 50, batch * 50 + 50)
        windows.push(keys, np.full(50, batch * 5), np.ones(50))
    assert len(windows) < 400
    windows.check()


def test_results_have_their_types() -> None:
    keys, times = [1, 1], [1, 2]
    count = KeyedWindows(sf.count(), sf.time(5)).push(keys, times, ["a", "b"])
    assert (count.type, count.to_pylist()) == (pa.int64(), [1, 2])
    spread = KeyedWindows(sf.std(), sf.time(5)).push(keys, times, [1.0, 3.0])
    assert (spread.type, spread.null_count) == (pa.float64(), 1)
    whole = KeyedWindows(sf.max(dtype="int64"), sf.time(5, closed="left"))
    assert whole.push(keys, times, [7, 8]).to_pylist() == [None, 7]


def test_order_statistics_and_sketches() -> None:
    middle = KeyedWindows(sf.median(), sf.time(5)).push([1, 1, 2], [1, 2, 2], [1.0, 3.0, 9.0])
    assert middle.to_pylist() == [1.0, 2.0, 9.0]
    distinct = KeyedWindows(sf.approx_distinct(dtype="str"), sf.time(5))
    assert distinct.push([1, 1, 1], [1, 2, 3], ["a", "b", "a"]).to_pylist() == [1, 2, 2]


def test_python_objects_are_refused() -> None:
    with pytest.raises(OperatorError, match=r"needs values of an Arrow type, .*dtype='object'"):
        KeyedWindows(sf.collect(dtype="object"), sf.time(5))
    with pytest.raises(ValueTypeError, match="values must be values of one type"):
        KeyedWindows(sf.count(), sf.time(5)).push([1, 1], [1, 2], [1, "b"])


def test_keys_of_many_shapes() -> None:
    for keys in (
        pa.array(["a", "b", "a"]),
        pa.chunked_array([["a"], ["b", "a"]]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        np.array(["a", "b", "a"]),
        np.array(["a", "b", "a"], dtype=object),
        pa.array(["x", "a", "b", "a"])[1:],
    ):
        windows = KeyedWindows(sf.sum(), sf.time(5))
        assert windows.push(keys, [1, 1, 2], [1.0, 2.0, 4.0]).to_pylist() == [1.0, 2.0, 5.0]
        assert sorted(windows.keys()) == ["a", "b"]


def test_times_of_other_kinds() -> None:
    real = KeyedWindows(sf.sum(), sf.time(1.5))
    assert real.push([1, 1, 1], [0, 1, 2], [1.0, 2.0, 4.0]).to_pylist() == [1.0, 3.0, 6.0]
    with pytest.raises(ValueTypeError, match="times must be integers, got double"):
        real.push([1], [1.5], [1.0])
    days = np.array(["2024-01-01", "2024-01-02"], "datetime64[D]")
    dated = KeyedWindows(sf.sum(), sf.time("2d"), lateness="1d")
    assert dated.push([1, 1], days, [1.0, 2.0]).to_pylist() == [1.0, 3.0]
    assert dated.push([1], days[:1], [4.0]).to_pylist() == [5.0]


def test_datetimes_in_lists() -> None:
    noon = datetime(2024, 1, 1, 12)
    rome = datetime(2024, 1, 1, 13, 30, tzinfo=timezone(timedelta(hours=1)))  # 12:30 in UTC
    dated = KeyedWindows(sf.sum(), sf.time("1h"))
    assert dated.push(["a", "a"], [noon, rome], [1.0, 2.0]).to_pylist() == [1.0, 3.0]
    for wrong in ([noon, None], [noon, "now"], [1, 2]):
        with pytest.raises(ValueTypeError, match=r"expected a time|datetimes"):
            dated.push(["a", "a"], wrong, [1.0, 2.0])
    assert dated.query("a") == 3.0


def test_columns_of_other_libraries() -> None:
    table = pa.table({"k": ["a", "b", "a"], "t": [1, 1, 2], "x": [1.0, 2.0, 4.0], "y": [1, 2, 3]})
    frames: list[Any] = [table, table.to_pandas(), pl.from_arrow(table)]
    for data in frames:
        windows = KeyedWindows(sf.sum(), sf.time(5))
        assert windows.push(data["k"], data["t"], data["x"]).to_pylist() == [1.0, 2.0, 5.0]
        best = KeyedWindows(sf.max_by(dtype="str", key_dtype="int64"), sf.time(5))
        assert best.push(data["k"], data["t"], (data["k"], data["y"])).to_pylist() == [
            "a",
            "b",
            "a",
        ]
    holes = KeyedWindows(sf.sum(), sf.time(5)).push(
        [1, 1, 2], [1, 2, 2], pa.array([1.0, None, None])
    )
    assert holes.to_pylist() == [1.0, 1.0, None]


def test_products_are_refused() -> None:
    with pytest.raises(OperatorError, match=r"KeyedWindows does not accept struct\(\)"):
        KeyedWindows(sf.struct(total=sf.sum("x"), top=sf.max("y")), sf.time(5))


def test_a_batch_that_fails_leaves_no_trace() -> None:
    windows = KeyedWindows(sf.sum(dtype="int64"), sf.time(10))
    windows.push([1], [1], [2**62])
    with pytest.raises(OverflowError):
        windows.push([2, 1, 3], [2, 2, 2], [1, 2**62, 1])
    assert (windows.keys(), windows.entries, windows.query(1)) == ([1], 1, 2**62)
    windows.check()
    assert windows.push([2], [2], [7]).to_pylist() == [7]


def test_a_watermark_before_the_first_rows() -> None:
    windows = KeyedWindows(sf.sum(), sf.time(10))
    assert (windows.watermark, windows.query("a"), windows.keys(), len(windows)) == (
        None,
        None,
        [],
        0,
    )
    windows.advance(5)
    windows.advance(3)
    assert windows.copy().watermark == windows.watermark == 5
    assert len(windows.push([], [], [], watermark=7)) == 0
    assert windows.push(["a", "a"], [7, 8], [1.0, 2.0]).to_pylist() == [None, 2.0]
    assert (windows.late, windows.watermark, windows.entries) == (1, 7, 1)
    assert len(windows.push([], [], [], watermark=9)) == 0
    assert windows.watermark == 9


def test_saved_sets() -> None:
    windows = KeyedWindows(sf.sum(), sf.time(10), lateness=3, late="raise")
    windows.push(["a", "b", "a"], [1, 2, 9], [1.0, 2.0, 4.0])
    again = pickle.loads(pickle.dumps(windows))
    assert (again.keys(), again.watermark, again.query("a")) == (["a", "b"], 5, 5.0)
    with pytest.raises(TimeOrderError, match="takes 6 and later"):
        again.push(["a"], [5], [1.0])
    saved = windows.to_bytes()
    for at in range(len(saved)):
        with pytest.raises(StateError):
            KeyedWindows.from_bytes(saved[:at] + bytes([saved[at] ^ 4]) + saved[at + 1 :])
        with pytest.raises(StateError):
            KeyedWindows.from_bytes(saved[:at])
    with pytest.raises(StateError, match="sum"):
        KeyedWindows.from_bytes(saved, sf.max())
    with pytest.raises(StateError):
        sf.Window.from_bytes(saved)


def test_late_rows_can_raise() -> None:
    windows = KeyedWindows(sf.sum(), sf.time(10), lateness=2, late="raise")
    windows.push([1], [10], [1.0])
    with pytest.raises(TimeOrderError, match="row 1 at 7 is late: this set takes 8 and later"):
        windows.push([1, 1], [11, 7], [1.0, 1.0])
    assert windows.query(1) == 1.0


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (([1, 2], [1], [1.0]), "keys and times differ in length: 2 and 1"),
        (([1], [1], [1.0, 2.0]), "times and values differ in length: 1 and 2"),
        (([1.5], [1], [1.0]), "column 'key' must be int64, as in the first rows, got double"),
        ((["a"], [1], [1.0]), "column 'key' must be int64, as in the first rows, got string"),
        (([1, "a"], [1, 2], [1.0, 1.0]), "keys must be values of one type"),
        (([1], ["x"], [1.0]), "times must be integers, got string"),
        (([1], [0.5], [1.0]), "times must be integers, got double"),
        (([1], [None], [1.0]), "times must be integers, got null"),
        (([1], [1], ["x"]), "values must be double"),
        (([1], [1], [[1.0]]), "values must be double"),
    ],
)
def test_bad_batches(batch: tuple[Any, Any, Any], message: str) -> None:
    windows = KeyedWindows(sf.sum(), sf.time(10))
    windows.push([5], [1], [1.0])
    with pytest.raises(ValueTypeError, match=message):
        windows.push(*batch)
    assert (windows.keys(), windows.entries, windows.query(5)) == ([5], 1, 1.0)
    windows.check()


def test_bad_arguments() -> None:
    with pytest.raises(WindowError, match="expected a time window"):
        KeyedWindows(sf.sum(), sf.rows(3))  # type: ignore[arg-type]
    with pytest.raises(WindowError, match="late must be 'drop' or 'raise'"):
        KeyedWindows(sf.sum(), sf.time(3), late="side")
    windows = KeyedWindows(sf.sum(), sf.time(10))
    windows.push([1], [5], [1.0], watermark=20)
    with pytest.raises(DataError, match="before the watermark"):
        windows.query(1, at=12)


@pytest.mark.parametrize("how", ["arrays", "lists", "loaded"])
def test_integer_sums_that_grow_too_large_are_refused_whole(how: str) -> None:
    rng = random.Random(how)
    windows = KeyedWindows(sf.sum(dtype="int64"), sf.time(10**6))
    held = 0
    for batch in range(60):
        exact = 2**56 if batch < 40 else 2**60
        values = np.array([rng.randrange(-exact, 2 * exact) for _ in range(5)])
        times = np.arange(5) + 5 * batch
        given: Any = values.tolist() if how == "lists" else values
        sums = np.cumsum([held, *values.tolist()], dtype=object)[1:].tolist()
        if all(-(2**63) <= total < 2**63 for total in sums):
            assert windows.push([7] * 5, times, given).to_pylist() == sums
            held = sums[-1]
        else:
            with pytest.raises(OverflowError, match="64 bits"):
                windows.push([7] * 5, times, given)
            windows.check()
            assert (windows.query(7), windows.entries) == (held, 5 * batch)
            return
        if how == "loaded":
            windows = KeyedWindows.from_bytes(windows.to_bytes())
    raise AssertionError("no sum was too large")


@pytest.mark.parametrize("made", ["numpy", "arrow"])
def test_integer_keys_beyond_64_bits_with_sign_are_refused(made: str) -> None:
    windows = KeyedWindows(sf.count(), sf.time(10))
    numbers = np.array([1, 2**63], np.uint64)
    keys = pa.array(numbers) if made == "arrow" else numbers
    with pytest.raises(ValueTypeError, match="integer keys must fit in int64"):
        windows.push(keys, [1, 2], [1, 2])
