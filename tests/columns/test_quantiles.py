"""Median and quantile over columns: every kind of window and type, against numpy."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import PairError, ValueTypeError
from tests.support.unchanged import refused

WINDOWS: list[Any] = [
    sf.time(9),
    sf.time(9, closed="left"),
    sf.rows(1),
    sf.rows(7),
    sf.rows(7, closed="left"),
    sf.session(4),
    sf.delta(30, on="d"),
    sf.punctuated("mark"),
]


def table(rows: int = 600, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "t": np.sort(rng.integers(0, 900, rows)),
            "k": rng.integers(0, 4, rows),
            "x": pa.array(rng.integers(-9, 9, rows) / 4, mask=rng.random(rows) < 0.1),
            "d": np.sort(rng.integers(0, 3000, rows)),
            "mark": rng.random(rows) < 0.1,
        }
    )


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_every_window(window: Any, how: Any) -> None:
    """The values of each window are collected beside, and numpy takes their quantile."""
    made = sf.rolling(
        on="t",
        by="k",
        m=sf.median("x").over(window),
        q=sf.quantile("x", 0.3, interpolation=how).over(window, min_count=2),
        all=sf.collect("x").over(window),
    )
    found = made.run(table())
    for m, q, values in zip(*(found[name].to_pylist() for name in ("m", "q", "all")), strict=True):
        assert m == (None if not values else float(np.median(values)))
        few = not values or len(values) < 2
        assert q == (
            None if few else pytest.approx(np.quantile(values, 0.3, method=how), abs=1e-12)
        )


@pytest.mark.parametrize("every", [sf.time(7), 5, "window"], ids=str)
def test_every_slide(every: Any) -> None:
    window: Any = sf.session(3) if every == "window" else sf.time(20)
    made = sf.rolling(
        on="t", by="k", every=every, m=sf.median("x").over(window), all=sf.collect("x").over(window)
    )
    found = made.run(table())
    due = [None if not values else float(np.median(values)) for values in found["all"].to_pylist()]
    assert found["m"].to_pylist() == due


DAY = date(2024, 2, 28)
NOON = datetime(1999, 12, 31, 12)
TYPES: list[tuple[pa.DataType, list[Any], Any, Any]] = [  # values, their median, the lower one
    (pa.int8(), [3, -4, 9, 1], 2.0, 1),
    (pa.uint64(), [2**64 - 1, 2**64 - 1, 0, 2], 2.0**63, 2),
    (pa.int64(), [2**62, 2**62 + 2, 0, 2**63 - 1], 2.0**62, 2**62),
    (pa.bool_(), [True, False, True, True], 1.0, True),
    (pa.float32(), [0.5, 2.5, 1.5, 9.0], 2.0, 1.5),
    (
        pa.decimal128(20, 2),
        [Decimal("1.10"), Decimal("-2"), Decimal("3"), Decimal("9")],
        2.05,
        Decimal("1.10"),
    ),
    (pa.date32(), [DAY, DAY + timedelta(3), DAY, DAY + timedelta(9)], DAY + timedelta(1), DAY),
    (pa.timestamp("ns", "UTC"), [0, 10**18 + 1, 10**18 + 4, 2 * 10**18], 10**18 + 2, 10**18 + 1),
    (
        pa.duration("us"),
        [timedelta(microseconds=n) for n in (1, -3, -2, 9)],
        timedelta(microseconds=-1),
        timedelta(microseconds=-2),
    ),
]


@pytest.mark.parametrize(("kind", "values", "median", "lower"), TYPES, ids=lambda v: str(v)[:20])
def test_every_type(kind: Any, values: list[Any], median: Any, lower: Any) -> None:
    """Numbers give floats, times whole units rounded down; what is picked keeps its type."""
    column = pa.array([*values, None], kind)
    data = pa.table({"t": range(5), "x": column})
    made = sf.rolling(
        on="t",
        m=sf.median("x").over(9),
        low=sf.median("x", interpolation="lower").over(9),
        top=sf.quantile("x", 1, interpolation="higher").over(9),
    )
    found = made.run(data)
    temporal = pa.types.is_temporal(kind)
    assert found["m"].type == (kind if temporal else pa.float64())
    assert found["low"].type == found["top"].type == kind
    for name, due in (("m", median), ("low", lower)):
        scalar = found[name][-1]
        if pa.types.is_timestamp(kind):  # in nanoseconds, which datetimes do not have
            scalar = scalar.cast(pa.int64())
        assert scalar.as_py() == due
    assert found["top"][-1].as_py() == pa.array(values, kind).sort()[-1].as_py()


def test_strings_are_picked_only() -> None:
    data = pa.table({"t": range(3), "x": ["b", "a", "c"]})
    low = sf.rolling(on="t", m=sf.median("x", interpolation="lower").over(3)).run(data)["m"]
    assert low.to_pylist() == ["b", "a", "b"]
    with refused(ValueTypeError, "median", "interpolation='linear'", "'x'", "string"):
        sf.rolling(on="t", m=sf.median("x").over(3)).run(data)


def test_live_and_columns_are_one() -> None:
    """To the last bit, on values whose interpolation rounds; NaN and infinities too."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=400) * 10.0 ** rng.integers(-9, 9, 400)
    x[[7, 50, 51]] = np.nan, np.inf, -np.inf
    for q in (0.1, 0.5, 0.77):
        live = sf.Window(sf.quantile(q=q), sf.rows(31))
        due = np.array([live.push(value) for value in x])
        made = sf.rolling(on="t", m=sf.quantile("x", q).over(31))
        found = made.run(pa.table({"t": np.arange(400), "x": x}))["m"].to_numpy()
        np.testing.assert_array_equal(found, due)


def test_batches_and_structs() -> None:
    data = table(900)
    pair = sf.struct(m=sf.median("x"), n=sf.count("x"))
    made = sf.rolling(on="t", by="k", r=pair.over(sf.time(50)))
    whole = made.run(data)["r"].to_pylist()
    assert made.run(data.to_reader(100)).read_all()["r"].to_pylist() == whole
    alone = sf.rolling(on="t", by="k", m=sf.median("x").over(sf.time(50))).run(data)["m"]
    assert [row["m"] for row in whole] == alone.to_pylist()


def test_explain_and_algorithms() -> None:
    made = sf.rolling(on="t", m=sf.median("x").over(3), d=sf.approx_distinct("x").over(3))
    said = made.explain()
    assert "order_statistics, because it has no associative combine" in said
    assert "register_queues" in said
    asked = sf.rolling(on="t", m=sf.median("x").over(3, algorithm="daba_lite"))
    with refused(PairError, "median", "daba_lite"):
        asked.run(table())


@pytest.mark.parametrize("precision", [4, 12])
@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.string()], ids=str)
def test_distinct_counts_are_those_of_the_sketches(kind: Any, precision: int) -> None:
    """The kernel over frames gives what combining sketches gives, to the last bit."""
    rng = np.random.default_rng(precision)
    values = pa.array(rng.integers(0, 10**6, 6000), mask=rng.random(6000) < 0.01).cast(kind)
    data = pa.table({"t": np.sort(rng.integers(0, 4000, 6000)), "x": values})
    of = sf.approx_distinct("x", precision=precision)
    for window in (sf.rows(3), sf.rows(900), sf.time(2500), sf.session(4)):
        columns = {
            "queues": of.over(window),
            "sketches": of.over(window, algorithm="two_stacks_lite"),
        }
        found = sf.rolling(on="t", columns=columns).run(data)
        assert found["queues"].equals(found["sketches"])
