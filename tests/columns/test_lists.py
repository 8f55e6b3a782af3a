"""Kernels of their own beside plain Python, and compiled folds beside those known at run time."""

from __future__ import annotations

import math
import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.columns import lists

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
RANDOM = np.random.default_rng(11)
ROWS = 400


def table(x: Any) -> pa.Table:
    """Rows in time order with peers and gaps, of three keys."""
    times = np.cumsum(RANDOM.choice([0, 1, 1, 2, 30], ROWS))
    return pa.table({"t": times, "k": RANDOM.integers(0, 3, ROWS), "x": x})


def held(rows: pa.Table, row: int, window: Any) -> list[Any]:
    """The values of a row's window, oldest first."""
    t, k, x = (rows[name].to_pylist() for name in "tkx")
    mine = [i for i in range(ROWS) if k[i] == k[row]]
    if isinstance(window, int):
        before = [i for i in mine if i <= row]
        return [x[i] for i in before[-window:] if x[i] is not None]
    length = window.range
    return [x[i] for i in mine if t[row] - length <= t[i] < t[row] and x[i] is not None]


WINDOWS = [1, 7, 60, sf.time(40, closed="left")]
FLOATS = [*RANDOM.choice([0.0, 0.5, 1.0, 2.5, -1.0, math.inf, -math.inf], ROWS - 2), None, 3.0]
WHOLE = [int(x) for x in RANDOM.choice(np.array([INT_MIN, INT_MAX, 0, 5, 2**53 + 1]), ROWS)]
WORDS = [*RANDOM.choice(["a", "b", "", "zz"], ROWS - 1).tolist(), None]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("values", [FLOATS, WHOLE, WORDS], ids=["float", "int", "str"])
def test_lists(values: list[Any], window: Any) -> None:
    rows = table(values)
    columns = {f"top{k}": sf.top_k("x", k).over(window) for k in (1, 3, 50)}
    columns["distinct"] = sf.collect_distinct("x").over(window)
    found = sf.rolling(on="t", by="k", order="input", columns=columns).run(rows)
    for row in range(ROWS):
        values = held(rows, row, window)
        for k in (1, 3, 50):
            due = sorted(values, reverse=True)[:k] or None
            assert found[f"top{k}"][row].as_py() == due
        assert found["distinct"][row].as_py() == (list(dict.fromkeys(values)) or None)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("values", [FLOATS, WHOLE], ids=["float", "int"])
def test_histograms(values: list[Any], window: Any) -> None:
    """The last bin is closed, NaN is in none, and integers are not rounded to compare them."""
    rows = table(values)
    for edges in ([0, 0.5, 1, 2.5], [-math.inf, 0.25, math.inf], [5, 2.0**53, 2.0**63], [-2, -1]):
        made = sf.histogram("x", edges=edges).over(window)
        found = sf.rolling(on="t", by="k", order="input", h=made).run(rows)["h"]
        for row in range(ROWS):
            values = held(rows, row, window)
            due = [sum(a <= x < b for x in values) for a, b in pairwise(edges)]
            due[-1] += values.count(edges[-1])
            assert found[row].as_py() == (due if values else None)


PAIRS = ("covariance", "correlation", "trend", "decayed_mean")
COMPILED = (*PAIRS, "range", "relative_variation", "max_count", "min_count", "any", "all")


BITS = ("bit_and", "bit_or", "bit_xor")


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((n, "float64") for n in COMPILED), *((n, "int64") for n in (*COMPILED, *BITS))],
)
def test_compiled_folds_are_those_known_at_run_time(name: str, kind: str) -> None:
    make: Any = getattr(sf, name)
    rows = table(RANDOM.integers(-50, 50, ROWS).astype(kind))
    rows = rows.append_column("y", pa.array(RANDOM.integers(0, 90, ROWS).astype(kind)))
    more = {"half_life": 9.0} if name == "decayed_mean" else {}
    operator = make(*(("x", "y") if name in PAIRS else ("x",)), **more)
    for window in (5, 80, sf.session(20)):
        made = sf.rolling(
            on="t",
            by="k",
            order="input",
            compiled=operator.over(window),
            known=operator.over(window, algorithm="daba_lite"),
        )
        found = made.run(rows)
        pairs = zip(found["compiled"].to_pylist(), found["known"].to_pylist(), strict=True)
        for got, due in pairs:
            assert got == (
                due if due is None else pytest.approx(due, rel=1e-9, abs=1e-9, nan_ok=True)
            )


GATHERED = (
    pa.int8(),
    pa.uint64(),
    pa.float32(),
    pa.timestamp("us", "UTC"),
    pa.date32(),
    pa.bool_(),
    pa.string(),
    pa.decimal128(10, 2),
)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("kind", GATHERED, ids=str)
def test_lists_gathered_in_blocks(
    kind: pa.DataType, nulls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame larger than a block, empty frames, a sliced column: as gathered in one piece."""
    step = pa.int32() if kind == pa.date32() else pa.int8() if pa.types.is_decimal(kind) else None
    values = [None if nulls and i % 7 == 0 else i % 100 for i in range(ROWS + 9)]
    column = pa.array(values, step or pa.int64()).cast(kind)[9:]
    rows = pa.table({"t": np.arange(ROWS), "x": column})
    for window in (1, 3, 150, sf.time(20, closed="left")):
        made = sf.rolling(on="t", v=sf.collect("x", nulls="keep").over(window))
        monkeypatch.setattr(lists, "_BLOCK", 1 << 30)
        whole = made.run(rows)
        monkeypatch.setattr(lists, "_BLOCK", 64)
        blocks = made.run(rows)
        blocks.validate(full=True)
        assert blocks.equals(whole)


def test_collect_takes_little_more_memory_than_its_result() -> None:
    rows = pa.table({"t": np.arange(100_000), "x": RANDOM.random(100_000)})
    made = sf.rolling(on="t", v=sf.collect("x").over(100))
    size = 8 * 100 * 100_000
    tracemalloc.start()
    try:
        made.run(rows)
        assert tracemalloc.get_traced_memory()[1] < 2 * size
    finally:
        tracemalloc.stop()
