"""skewness, kurtosis, weighted and decayed sums, gaps, times since, and earlier rows."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.errors import DefinitionError, OperatorError, ValueTypeError
from slidefold.live import Live
from tests.support.for_each import for_each
from tests.support.more_cases import decayed_sum, longest_gap, shape, weighted_mean

SUM: Any = sf.sum


def frame(seed: int, nulls: float, rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = np.round(rng.gamma(2.0, 3.0, rows), 2)
    w = rng.integers(1, 9, rows).astype(float)
    x[rng.random(rows) < nulls] = np.nan
    w[rng.random(rows) < nulls] = np.nan
    t = np.cumsum(rng.integers(0, 3, rows))
    return pd.DataFrame({"t": t, "x": x, "w": w})


def arrow(given: pd.DataFrame) -> Any:
    return pa.table({name: pa.array(given[name], from_pandas=True) for name in given})


# ---- against pandas, Polars and DuckDB -----------------------------------------------------------


@for_each("nulls", [0.0, 0.3])
def test_shapes_are_those_of_pandas(nulls: float) -> None:
    given = frame(1, nulls)
    found = sf.rolling(
        on="t", order="input", s=sf.skewness("x").over(12), k=sf.kurtosis("x").over(12)
    )
    result = found.run(given)
    for name, expected in (
        ("s", given["x"].rolling(12, min_periods=1).skew()),
        ("k", given["x"].rolling(12, min_periods=1).kurt()),
    ):
        np.testing.assert_allclose(
            result[name].to_numpy(), expected.to_numpy(), rtol=1e-7, atol=1e-9
        )


@for_each("nulls", [0.0, 0.3])
def test_shapes_are_those_of_duckdb_over_time(nulls: float) -> None:
    table = arrow(frame(2, nulls))
    duckdb.register("given_rows", table)
    peer: Any = duckdb.sql(
        """SELECT t, skewness(x) OVER w AS s, kurtosis(x) OVER w AS k, count(x) OVER w AS n
        FROM given_rows WINDOW w AS (ORDER BY t RANGE BETWEEN 19 PRECEDING AND CURRENT ROW)
        ORDER BY t"""
    )
    expected = peer.to_arrow_table()
    window = sf.time(20)
    found = sf.rolling(on="t", s=sf.skewness("x").over(window), k=sf.kurtosis("x").over(window))
    result = found.run(table)
    for name, least in (("s", 3), ("k", 4)):
        for got, due, n in zip(
            result[name].to_pylist(),
            expected[name].to_pylist(),
            expected["n"].to_pylist(),
            strict=True,
        ):
            assert (got is None) == (n < least)
            assert got is None or got == pytest.approx(due, rel=1e-7, abs=1e-9)


def test_weighted_means_and_sums_are_those_of_polars() -> None:
    given = pl.from_arrow(arrow(frame(3, 0.2)))
    assert isinstance(given, pl.DataFrame)
    both = pl.col("x").is_not_null() & pl.col("w").is_not_null()
    expected = (
        given.with_columns(i=pl.int_range(pl.len()))
        .rolling("i", period="15i")
        .agg(m=(pl.col("x") * pl.col("w")).filter(both).sum() / pl.col("w").filter(both).sum())
    )
    found = sf.rolling(on="t", order="input", m=sf.weighted_mean("x", "w").over(15)).run(given)
    assert found["m"].to_list() == pytest.approx(expected["m"].to_list())


@for_each("n", [1, 3])
def test_earlier_rows_are_those_of_pandas(n: int) -> None:
    given = frame(4, 0.2)
    given["k"] = [("a", "b", "c")[i % 3] for i in range(len(given))]
    given["t"] = range(len(given))
    found = sf.rolling(
        on="t", by="k", lag=sf.lag("x", n), change=sf.change("x", n), ratio=sf.ratio_change("x", n)
    ).run(given)
    keyed = given.groupby("k")["x"]
    for name, expected in (
        ("lag", keyed.shift(n)),
        ("change", keyed.diff(n)),
        ("ratio", keyed.pct_change(n, fill_method=None)),
    ):
        np.testing.assert_allclose(found[name].to_numpy(), expected.to_numpy())


@for_each("nulls", [0.0, 0.3])
def test_decayed_sums_are_those_of_pandas(nulls: float) -> None:
    """pandas weights by halflife over times; its mean times its weights is the sum."""
    given = frame(5, nulls)
    given["t"] = range(len(given))
    table = arrow(given)
    found = sf.rolling(
        on="t",
        s=sf.decayed_sum("x", "t", half_life=4).over("lifetime"),
        n=sf.decayed_count("t", half_life=4).over("lifetime"),
    ).run(table)
    total, count = 0.0, 0.0
    seen = False
    for x, s, n in zip(*(found[c].to_pylist() for c in "xsn"), strict=True):
        total, count = total * 2 ** (-1 / 4) + (x or 0.0), count * 2 ** (-1 / 4) + 1
        seen = seen or x is not None
        assert s == (pytest.approx(total) if seen else None)
        assert n == pytest.approx(count)


# ---- types ---------------------------------------------------------------------------------------

DAY = datetime(2020, 1, 1)
TYPES: dict[str, tuple[Any, list[Any]]] = {
    "int8": (pa.int8(), [5, -3, None, 5, 127, -128]),
    "int64": (pa.int64(), [5, -3, None, 5, 2**53 + 1, 2**53 - 1]),
    "uint64": (pa.uint64(), [5, 3, None, 5, 2**63, 2**63 + 4]),
    "float32": (pa.float32(), [0.5, -0.25, None, 4.0, 8.0, 2.0]),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.25"), Decimal(3), None, *map(Decimal, (4, 8, 2))]),
    "bool": (pa.bool_(), [True, False, None, True, True, False]),
}  # fmt: skip


@for_each("name", TYPES)
def test_shapes_of_types(name: str) -> None:
    kind, values = TYPES[name]
    table = pa.table(
        {"t": range(len(values)), "x": pa.array(values, kind), "w": pa.array(values, kind)}
    )
    definition = sf.rolling(
        on="t",
        s=sf.skewness("x").over(5),
        k=sf.kurtosis("x").over(5),
        m=sf.weighted_mean("x", "w").over(5),
        d=sf.decayed_sum("x", "t", half_life=2).over(5),
    )
    live = definition.live(lateness=0)
    for found in (definition.run(table), pa.concat_tables([live.feed(table), live.finish()])):
        for row in range(len(values)):
            held = [
                (t, v) for t, v in enumerate(values[: row + 1]) if v is not None and t > row - 5
            ]
            xs = [int(v) if isinstance(v, bool) else v for _, v in held]
            for column, power in (("s", 3), ("k", 4)):
                due = shape(xs, power)
                got = found[column].to_pylist()[row]
                assert (got is None) == (due is None)
                assert got is None or got == pytest.approx(due, rel=1e-6, abs=1e-9), (name, column)
            due_mean: Any = weighted_mean([(v, v) for v in xs])
            mean = due_mean[0] / due_mean[1] if due_mean and due_mean[1] else None
            got = found["m"].to_pylist()[row]
            assert got == (None if mean is None else pytest.approx(float(mean)))
            faded = math.fsum(
                float(v) * 2 ** (-(row - t) / 2) for (t, _), v in zip(held, xs, strict=True)
            )
            assert found["d"].to_pylist()[row] == pytest.approx(faded)


LAGGED: dict[str, tuple[Any, list[Any]]] = {
    "int32": (pa.int32(), [1, None, 3]),
    "float32": (pa.float32(), [1.5, None, 3.0]),
    "string": (pa.string(), ["a", None, "c"]),
    "large_string": (pa.large_string(), ["a", None, "c"]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["a", None, "a"]),
    "binary": (pa.binary(), [b"a", None, b""]),
    "bool": (pa.bool_(), [True, None, False]),
    "date": (pa.date32(), [date(2020, 1, 1), None, date(1900, 1, 1)]),
    "timestamp": (pa.timestamp("ns", "UTC"), [DAY, None, DAY]),
    "duration": (pa.duration("ms"), [timedelta(1), None, timedelta(2)]),
    "decimal": (pa.decimal128(30, 2), [Decimal("1.25"), None, Decimal("2.00")]),
    "list": (pa.list_(pa.int64()), [[1], None, [2, 3]]),
    "struct": (pa.struct({"a": pa.int64()}), [{"a": 1}, None, {"a": 2}]),
}


@for_each("name", LAGGED)
def test_lag_returns_any_type_as_it_is(name: str) -> None:
    kind, values = LAGGED[name]
    plain = pa.array(values, kind.value_type if pa.types.is_dictionary(kind) else kind)
    column = plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain
    table = pa.table({"t": [1, 2, 3], "v": column})
    found = sf.rolling(on="t", one=sf.lag("v"), two=sf.lag("v", 2)).run(table)
    assert found.schema.field("one").type == kind
    given = column.to_pylist()
    assert found["one"].to_pylist() == [None, *given[:2]]
    assert found["two"].to_pylist() == [None, None, given[0]]
    live = sf.rolling(on="t", one=sf.lag("v"), two=sf.lag("v", 2)).live(lateness=0)
    arrived = pa.concat_tables([live.feed(table), live.finish()])
    assert arrived["one"].to_pylist() == [None, *given[:2]]
    assert arrived.schema == found.schema


@for_each(
    "kind, values, expected",
    [
        (pa.int32(), [1, 4, None, 2], [None, 3, None, None]),
        (pa.timestamp("s"), [0, 60, None, 1], [None, timedelta(minutes=1), None, None]),
        (pa.date32(), [0, 2, None, 1], [None, timedelta(days=2), None, None]),
        (pa.duration("s"), [5, 2, None, 1], [None, timedelta(seconds=-3), None, None]),
        (pa.decimal128(5, 2), [Decimal("1.50"), Decimal("0.25"), None, Decimal(1)],
         [None, Decimal("-1.25"), None, None]),
    ],
)  # fmt: skip
def test_change_of_types(kind: Any, values: list[Any], expected: list[Any]) -> None:
    raw = pa.array(values) if pa.types.is_decimal(kind) else pa.array(values, pa.int32())
    column = raw.cast(kind) if pa.types.is_decimal(kind) else raw.cast(kind) if (
        pa.types.is_date32(kind) or pa.types.is_integer(kind)
    ) else raw.cast(pa.int64()).cast(kind)  # fmt: skip
    table = pa.table({"t": [1, 2, 3, 4], "v": column})
    assert sf.rolling(on="t", c=sf.change("v")).run(table)["c"].to_pylist() == expected


@for_each("unit", ["s", "ms", "us", "ns"])
def test_times_since_are_durations_of_any_unit(unit: str) -> None:
    steps = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([t * steps for t in (0, 5, 5, 60)], pa.timestamp(unit, "UTC"))
    table = pa.table({"t": times, "x": [1, None, 2, 3]})
    definition = sf.rolling(
        on="t",
        last=sf.since_last().over("1m", closed="left"),
        known=sf.since_last("x").over("1m", closed="left"),
        first=sf.since_first().over("2m"),
        gap=sf.longest_gap().over("2m"),
        big=sf.longest_gap().where(sf.col("x") > 1).over("2m"),
        faded=sf.decayed_count("t", half_life="5s").over("2m"),
    )
    seconds = timedelta(seconds=1)
    live = definition.live(lateness="1s")
    for found in (definition.run(table), pa.concat_tables([live.feed(table), live.finish()])):
        assert found["last"].to_pylist() == [None, 5 * seconds, 5 * seconds, 55 * seconds]
        assert found["known"].to_pylist() == [None, 5 * seconds, 5 * seconds, 55 * seconds]
        assert found["first"].to_pylist() == [0 * seconds, 5 * seconds, 5 * seconds, 60 * seconds]
        assert found["gap"].to_pylist() == [None, 5 * seconds, 5 * seconds, 55 * seconds]
        assert found["big"].to_pylist() == [None, None, None, 55 * seconds]
        assert found["faded"].to_pylist()[:3] == pytest.approx([1.0, 2.5, 2.5])


# ---- numbers that are hard -----------------------------------------------------------------------


@for_each("far", [0.0, 1e6, 1e9])
def test_shapes_far_from_zero(far: float) -> None:
    values = [far + v for v in (0.0, 1.0, 2.0, 10.0, 3.0)]
    table = pa.table({"t": range(5), "x": values})
    found = sf.rolling(on="t", s=sf.skewness("x").over(5), k=sf.kurtosis("x").over(5)).run(table)
    assert found["s"].to_pylist()[-1] == pytest.approx(shape(values, 3), rel=1e-6)
    assert found["k"].to_pylist()[-1] == pytest.approx(shape(values, 4), rel=1e-6)


@for_each("value", [math.nan, math.inf, -math.inf])
def test_odd_values_leave_no_trace(value: float) -> None:
    table = pa.table({"t": range(9), "x": [1.0, 2.0, value, 3.0, 4.0, 1.0, 2.0, 5.0, 9.0]})
    found = sf.rolling(
        on="t",
        s=sf.skewness("x").over(4),
        k=sf.kurtosis("x").over(4),
        d=sf.decayed_sum("x", "t", half_life=1).over(4),
        m=sf.weighted_mean("x", "x").over(4),
    ).run(table)
    for name in "skdm":
        values = found[name].to_pylist()
        assert not any(v is not None and math.isfinite(v) for v in values[3:6])
        assert all(math.isfinite(v) for v in values[6:])


def test_equal_values_have_no_shape() -> None:
    table = pa.table({"t": range(6), "x": [0.1, 0.3, 0.3, 0.3, 0.3, 0.3]})
    found = sf.rolling(on="t", s=sf.skewness("x").over(4), k=sf.kurtosis("x").over(4)).run(table)
    assert found["s"].to_pylist()[-1] == 0.0
    assert found["k"].to_pylist()[-1] == -3.0


def test_weights_that_cancel_give_null() -> None:
    table = pa.table({"t": [1, 2, 3], "x": [1.0, 2.0, 3.0], "w": [1.0, -1.0, 0.0]})
    found = sf.rolling(on="t", m=sf.weighted_mean("x", "w").over(3)).run(table)
    assert found["m"].to_pylist() == [1.0, None, None]


def test_decay_over_a_very_long_time_is_zero() -> None:
    table = pa.table({"t": [0, 10**9], "x": [5.0, None]})
    found = sf.rolling(on="t", s=sf.decayed_sum("x", "t", half_life=1).over("lifetime")).run(table)
    assert found["s"].to_pylist() == [5.0, 0.0]


# ---- one window, event by event ------------------------------------------------------------------

WINDOWS: dict[str, tuple[Callable[[], Any], Callable[[random.Random], Any], Any]] = {
    "skewness": (sf.skewness, lambda rng: rng.randint(-9, 9) / 2, lambda v: shape(v, 3)),
    "kurtosis": (sf.kurtosis, lambda rng: rng.randint(-9, 9) / 2, lambda v: shape(v, 4)),
    "weighted_mean": (
        sf.weighted_mean,
        lambda rng: (rng.randint(-9, 9) / 2, float(rng.randint(1, 5))),
        lambda v: (
            None if not v else float(math.fsum(x * w for x, w in v) / math.fsum(w for _, w in v))
        ),
    ),
    "decayed_sum": (
        lambda: sf.decayed_sum(half_life=3),
        lambda rng: (rng.randint(-9, 9) / 2, float(rng.randint(0, 9))),
        decayed_sum,
    ),
    "longest_gap": (sf.longest_gap, lambda rng: rng.randint(-9, 9), longest_gap),
}


def alike(got: Any, due: Any) -> bool:
    if got is None or due is None:
        return got is due
    return math.isclose(got, due, rel_tol=1e-9, abs_tol=1e-9)


def check_window(seed: int, name: str) -> None:
    rng = random.Random(seed)
    make, draw, truth = WINDOWS[name]
    n = rng.choice([1, 4, 7])
    window = sf.Window(make(), sf.rows(n))
    seen: list[Any] = []
    for _ in range(30):
        value = None if rng.random() < 0.15 else draw(rng)
        seen.append(value)
        some = [v for v in seen[-n:] if v is not None]
        assert alike(window.push(value), truth(some)), (name, some)
        if rng.random() < 0.2:
            other = window.copy() if rng.random() < 0.5 else copy.deepcopy(window)
            other.push(draw(rng))
            assert alike(window.query(), truth(some))
        if rng.random() < 0.2:
            window = sf.Window.from_bytes(window.to_bytes())


def check_late(seed: int, name: str) -> None:
    rng = random.Random(seed)
    make, draw, truth = WINDOWS[name]
    window = sf.Window(make(), sf.time(8), lateness=5)
    seen: list[tuple[int, int, Any]] = []
    newest = 0
    for i in range(30):
        t = max(0, newest + rng.choice([0, 1, 2, -1, -4, -9]))
        value = draw(rng)
        late = t < newest - 5
        got = window.push(t, value)
        if late:
            assert got is None
            continue
        seen.append((t, i, value))
        newest = max(newest, t)
        for end, found in ((t, got), (newest, window.query())):
            held = [v for u, _, v in sorted(seen) if end - 8 < u <= end]
            assert alike(found, truth(held)), (name, held)
        if rng.random() < 0.25:
            window = sf.Window.from_bytes(window.to_bytes())
        if rng.random() < 0.1 and newest - 5 < t:
            window.evict(t)
            seen = [one for one in seen if one[0] != t]
            held = [v for u, _, v in sorted(seen) if newest - 8 < u <= newest]
            assert alike(window.query(), truth(held)), (name, held)


@pytest.mark.parametrize("name", WINDOWS)
@given(st.integers(0, 2**32))
def test_windows_of_events(name: str, seed: int) -> None:
    check_window(seed, name)
    check_late(seed, name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WINDOWS)
def test_many_windows_of_events(name: str) -> None:
    for seed in range(800):
        check_window(seed, name)
        check_late(seed, name)


# ---- mistakes ------------------------------------------------------------------------------------


@for_each(
    "make, error",
    [
        (lambda: sf.decayed_sum("x", "t", half_life=0), OperatorError),
        (lambda: sf.decayed_sum("x", "t", half_life=-1), OperatorError),
        (lambda: sf.decayed_sum("x", "t", half_life=math.nan), OperatorError),
        (lambda: sf.decayed_count("t", half_life=math.inf), OperatorError),
        (lambda: sf.decayed_sum("x", half_life=1), OperatorError),
        (lambda: sf.decayed_sum("x", "t"), TypeError),  # type: ignore[call-arg]
        (lambda: sf.weighted_mean("x"), OperatorError),
        (lambda: sf.weighted_mean().over(3), DefinitionError),
        (lambda: sf.decayed_count(half_life=1).over(3), DefinitionError),
        (lambda: sf.change("x", -1), OperatorError),
        (lambda: sf.ratio_change("x", 1.5), OperatorError),  # type: ignore[arg-type]
        (lambda: sf.skewness(dtype="str"), ValueTypeError),
        (lambda: sf.skewness().over(3), DefinitionError),
    ],
)  # fmt: skip
def test_mistakes(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        make()
    assert "\n" not in str(caught.value)


@for_each(
    "make",
    [
        lambda: sf.skewness("s").over(3),
        lambda: sf.weighted_mean("x", "s").over(3),
        lambda: sf.change("s"),
        lambda: sf.ratio_change("t"),
        lambda: sf.decayed_sum("s", "t", half_life="1h").over(3),
        lambda: sf.longest_gap("s").over(3),
    ],
)
def test_types_that_make_no_sense_are_refused(make: Any) -> None:
    table = pa.table({"t": pa.array([1, 2], pa.timestamp("s")), "s": ["a", "b"], "x": [1.0, 2.0]})
    definition = sf.rolling(on="t", a=make())
    for run in (definition.run, definition.live(lateness="1s").feed):
        with pytest.raises(ValueTypeError) as caught:
            run(table)
        assert "\n" not in str(caught.value)


def test_a_restored_run_goes_on_with_lags() -> None:
    definition = sf.rolling(
        on="t", by="k", a=sf.lag("x", 2), b=sf.ratio_change("x"), s=SUM("x").over(2)
    )
    table = pa.table(
        {"t": range(40), "k": ["ab"[i % 2] for i in range(40)], "x": [float(i) for i in range(40)]}
    )
    live = definition.live(lateness=0)
    parts = []
    for i in range(0, 40, 3):
        parts.append(live.feed(table.slice(i, 3)))
        live = Live.from_bytes(live.to_bytes())
    found = pa.concat_tables([*parts, live.finish()]).sort_by("t")
    assert found.equals(definition.run(table))
