"""distinct, mode, entropy, most_frequent and rank: every type, every window, against peers."""

from __future__ import annotations

import copy
import math
import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
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

DAY = datetime(2020, 1, 1)
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "float64": (pa.float64(), [0.0, -0.0, 1.5, math.nan, -math.inf, math.inf, -2.0]),
    "float32": (pa.float32(), [0.0, 1.5, math.nan, -2.0]),
    "int64": (pa.int64(), [0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]),
    "int8": (pa.int8(), [0, 1, -128, 127]),
    "uint64": (pa.uint64(), [0, 1, 2**63, 2**64 - 1]),
    "bool": (pa.bool_(), [True, False]),
    "string": (pa.string(), ["", "a", "b", "é", "\U0001f600", "a text of many bytes", "a\0"]),
    "large_string": (pa.large_string(), ["", "a", "b"]),
    "binary": (pa.binary(), [b"", b"a", b"\xff", b"a\x00"]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["a", "b", ""]),
    "date": (pa.date32(), [date(1969, 12, 31), date(1970, 1, 1), date(2020, 2, 29)]),
    "timestamp": (pa.timestamp("us"), [DAY, DAY - timedelta(days=40000), datetime(1970, 1, 1)]),
    "zoned": (pa.timestamp("ms", "UTC"), [DAY.replace(tzinfo=UTC, year=y) for y in (1969, 2020)]),
    "duration": (pa.duration("s"), [timedelta(0), timedelta(hours=-1), timedelta(days=9)]),
    "decimal": (pa.decimal128(9, 2), [Decimal("0.00"), Decimal("-1.25"), Decimal("9999999.99")]),
    "long decimal": (pa.decimal128(38, 2), [Decimal("0.00"), Decimal(10**30), Decimal("-0.01")]),
}  # fmt: skip
WINDOWS = {
    "rows": sf.rows(4),
    "rows left": sf.rows(3, closed="left"),
    "time": sf.time(6),
    "time both": sf.time(3, closed="both"),
    "session": sf.session(2),
}


def key(value: Any) -> Any:
    """Order values: all NaN are one, the largest, and -0.0 is 0.0."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value + 0.0)
    return (False, value)


def counted(values: Sequence[Any]) -> list[tuple[Any, int]]:
    """Return keys with counts, the most frequent first, then the smallest."""
    return sorted(Counter(map(key, values)).items(), key=lambda one: (-one[1], one[0]))


def entropy(values: Sequence[Any]) -> float | None:
    shares = [n / len(values) for _, n in counted(values)]
    return -math.fsum(share * math.log(share) for share in shares) + 0.0 if values else None


def rank(values: Sequence[Any], own: Any, method: str, pct: bool) -> float | None:
    if own is None or not values:
        return None
    least = 1 + sum(key(value) < key(own) for value in values)
    most = max(least, sum(key(value) <= key(own) for value in values))
    found = {"min": least, "max": most, "average": (least + most) / 2}[method]
    return found / len(values) if pct else float(found)


def random_rows(rng: random.Random, pool: list[Any], count: int) -> list[dict[str, Any]]:
    return [
        {"id": i, "t": rng.randint(0, count), "v": None if rng.random() < 0.2 else rng.choice(pool)}
        for i in range(count)
    ]


def table_of(rows: list[dict[str, Any]], kind: Any) -> Any:
    values = [row["v"] for row in rows]
    if pa.types.is_dictionary(kind):
        column = pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    else:
        column = pa.array(values, kind)
    return pa.table(
        {"id": [row["id"] for row in rows], "t": [row["t"] for row in rows], "v": column}
    )


def columns(window: Any) -> dict[str, Any]:
    return {
        "held": sf.collect("id").over(window),
        "distinct": sf.distinct("v").over(window),
        "mode": sf.mode("v").over(window),
        "entropy": sf.entropy("v").over(window),
        "frequent": sf.most_frequent("v", 2).over(window),
        "least": sf.mode("v").over(window, min_count=2),
        "average": sf.rank("v").over(window),
        "min": sf.rank("v", "min", pct=True).over(window),
        "max": sf.rank("v", "max").over(window, min_count=2),
    }


def assert_rows(found: Any, values: list[Any], kind: Any) -> None:
    """Compare each row with the values that its window holds."""
    wanted = kind.value_type if pa.types.is_dictionary(kind) else kind
    assert found.schema.field("mode").type in (kind, wanted)
    assert found.schema.field("distinct").type == pa.int64()
    for row in found.to_pylist():
        some = [values[i] for i in row["held"] or [] if values[i] is not None]
        own, counts = values[row["id"]], counted(some)
        assert row["distinct"] == (len(counts) if some else None), row
        assert row["entropy"] == pytest.approx(entropy(some), abs=1e-12), row
        if not some:
            assert row["mode"] is row["frequent"] is row["average"] is None
            continue
        assert key(row["mode"]) == counts[0][0], row
        assert [(key(one["value"]), one["count"]) for one in row["frequent"]] == counts[:2], row
        assert row["average"] == rank(some, own, "average", False), row
        assert row["min"] == pytest.approx(rank(some, own, "min", True)), row
        if len(some) < 2:
            assert row["least"] is row["max"] is None
        else:
            assert key(row["least"]) == counts[0][0], row
            assert row["max"] == rank(some, own, "max", False), row


def check(seed: int, name: str) -> None:
    rng = random.Random(seed)
    kind, pool = VALUES[name]
    rows = random_rows(rng, pool, rng.choice([1, 5, 25]))
    values = [row["v"] for row in rows]
    if pa.types.is_float32(kind):
        values = pa.array(values, kind).to_pylist()
    table = table_of(rows, kind)
    for window in WINDOWS.values():
        definition = sf.rolling(on="t", order="id", columns=columns(window))
        assert_rows(definition.run(table), values, kind)


def check_live(seed: int, name: str) -> None:
    rng = random.Random(seed)
    kind, pool = VALUES[name]
    rows = random_rows(rng, pool, rng.choice([1, 25]))
    values = [row["v"] for row in rows]
    if pa.types.is_float32(kind):
        values = pa.array(values, kind).to_pylist()
    window = rng.choice(list(WINDOWS.values()))
    definition = sf.rolling(on="t", order="id", columns=columns(window))
    live = definition.live(lateness=30)
    parts, at = [], 0
    while at < len(rows):
        size = rng.choice([1, 4, 9])
        parts.append(live.feed(table_of(rows[at : at + size], kind)))
        at += size
        if rng.random() < 0.4:
            live = Live.from_bytes(live.to_bytes())
    parts.append(live.finish())
    assert_rows(pa.concat_tables(parts), values, kind)


LIVE = [name for name in VALUES if name != "long decimal"]


@pytest.mark.parametrize("name", VALUES)
@given(st.integers(0, 2**32))
def test_columns_of_any_type(name: str, seed: int) -> None:
    check(seed, name)


@pytest.mark.parametrize("name", LIVE)
@given(st.integers(0, 2**32))
def test_arrivals_of_any_type(name: str, seed: int) -> None:
    check_live(seed, name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", VALUES)
def test_many_columns_of_any_type(name: str) -> None:
    for seed in range(150):
        check(seed, name)
        if name in LIVE:
            check_live(seed, name)


# ---- peers ---------------------------------------------------------------------------------------


def numbers(seed: int, nulls: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.integers(-4, 5, 200) / 2
    return pd.DataFrame({"t": np.arange(200), "x": np.where(rng.random(200) < nulls, np.nan, x)})


@for_each("nulls", [0.0, 0.3])
def test_pandas_ranks_the_same(nulls: float) -> None:
    frame = numbers(1, nulls)
    for method in ("average", "min", "max"):
        for pct in (False, True):
            over = sf.rank("x", method, pct=pct).over(sf.rows(9))
            found = sf.rolling(on="t", r=over).run(frame)["r"]
            expected = frame["x"].rolling(9, min_periods=1).rank(method=method, pct=pct)
            np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), equal_nan=True)


@for_each("nulls", [0.0, 0.3])
def test_duckdb_counts_the_same(nulls: float) -> None:
    frame = numbers(2, nulls)
    table = pa.table({"t": frame["t"], "x": pa.array(frame["x"], from_pandas=True)})
    duckdb.register("given_rows", table)
    peer: Any = duckdb.sql(
        """SELECT count(DISTINCT x) OVER w AS d, entropy(x) OVER w AS e FROM given_rows
        WINDOW w AS (ORDER BY t ROWS BETWEEN 8 PRECEDING AND CURRENT ROW) ORDER BY t"""
    )
    peer = peer.to_arrow_table()
    found = sf.rolling(
        on="t", d=sf.distinct("x").over(9), e=sf.entropy("x").over(9), n=sf.count("x").over(9)
    ).run(table)
    for d, e, n, pd_, pe in zip(
        *(found[c].to_pylist() for c in "den"), *(peer[c].to_pylist() for c in "de"), strict=True
    ):
        assert (d or 0) == pd_
        assert n == 0 or e == pytest.approx(pe * math.log(2), abs=1e-12)


def test_polars_counts_the_same() -> None:
    frame = pl.DataFrame(
        {"t": range(100), "s": [random.Random(4 + i).choice("abcd") for i in range(100)]}
    )
    expected = frame.with_columns(t=pl.col("t").cast(pl.Int64)).rolling("t", period="7i").agg(
        d=pl.col("s").n_unique(), m=pl.col("s").mode().sort().first(),
        e=pl.col("s").value_counts().struct.field("count").entropy(normalize=True),
    )  # fmt: skip
    window = sf.time(7)
    found = sf.rolling(
        on="t",
        d=sf.distinct("s").over(window),
        m=sf.mode("s").over(window),
        e=sf.entropy("s").over(window),
    ).run(frame)
    assert found["d"].to_list() == expected["d"].to_list()
    assert found["m"].to_list() == expected["m"].to_list()
    assert found["e"].to_list() == pytest.approx(expected["e"].to_list(), abs=1e-12)


# ---- one window, event by event ------------------------------------------------------------------

EVENTS: dict[str, tuple[Any, list[Any]]] = {
    "float64": (float, [0.0, -0.0, 1.5, math.nan, -2.0]),
    "int64": (int, [0, 1, -1, 2**62]),
    "str": (str, ["", "a", "b", "a text of many bytes"]),
}
OPERATORS: dict[str, Any] = {
    "distinct": sf.distinct,
    "mode": sf.mode,
    "entropy": sf.entropy,
    "most_frequent": lambda **more: sf.most_frequent(k=2, **more),
}


def assert_event(name: str, got: Any, values: Sequence[Any]) -> None:
    some = [value for value in values if value is not None]
    if not some:
        assert not got
        return
    counts = counted(some)
    if name == "distinct":
        assert got == len(counts)
    elif name == "mode":
        assert key(got) == counts[0][0]
    elif name == "entropy":
        assert got == pytest.approx(entropy(some), abs=1e-12)
    else:
        assert [(key(one["value"]), one["count"]) for one in got] == counts[:2]


def check_window(seed: int, name: str, dtype: str) -> None:
    """A rows window with nulls, saved and copied on the way."""
    rng = random.Random(seed)
    pool = EVENTS[dtype][1]
    n = rng.choice([1, 3, 6])
    window = sf.Window(OPERATORS[name](dtype=dtype), sf.rows(n))
    seen: list[Any] = []
    for _ in range(25):
        value = None if rng.random() < 0.2 else rng.choice(pool)
        seen.append(value)
        assert_event(name, window.push(value), seen[-n:])
        if rng.random() < 0.2:
            other = window.copy() if rng.random() < 0.5 else copy.deepcopy(window)
            other.push(pool[0])
            assert_event(name, window.query(), seen[-n:])
        if rng.random() < 0.2:
            window = sf.Window.from_bytes(window.to_bytes())


def check_late(seed: int, name: str, dtype: str) -> None:
    """A time window that takes late events: each gets the window that ends at its own time."""
    rng = random.Random(seed)
    pool = EVENTS[dtype][1]
    window = sf.Window(OPERATORS[name](dtype=dtype), sf.time(8), lateness=5)
    seen: list[tuple[int, Any]] = []
    newest = 0
    for _ in range(25):
        t = max(0, newest + rng.choice([0, 1, 2, -1, -4, -9]))
        value = None if rng.random() < 0.2 else rng.choice(pool)
        before, late = window.late, t < newest - 5
        got = window.push(t, value)
        assert window.late == before + late
        if late:
            assert got is None
            continue
        seen.append((t, value))
        newest = max(newest, t)
        assert_event(name, got, [v for u, v in seen if t - 8 < u <= t])
        assert_event(name, window.query(), [v for u, v in seen if newest - 8 < u <= newest])
        if rng.random() < 0.25:
            window = sf.Window.from_bytes(window.to_bytes())
        if rng.random() < 0.1:
            gone = rng.choice(seen)[0]
            if gone > newest - 5:
                window.evict(gone)
                seen = [(u, v) for u, v in seen if u != gone]
                assert_event(name, window.query(), [v for u, v in seen if newest - 8 < u <= newest])


@pytest.mark.parametrize("name", OPERATORS)
@given(st.integers(0, 2**32))
def test_windows_of_events(name: str, seed: int) -> None:
    for dtype in EVENTS:
        check_window(seed, name, dtype)
        check_late(seed, name, dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OPERATORS)
def test_many_windows_of_events(name: str) -> None:
    for seed in range(300):
        for dtype in EVENTS:
            check_window(seed, name, dtype)
            check_late(seed, name, dtype)


@for_each(
    "dtype, values",
    [
        ("bool", [True, False, True]),
        ("uint64", [2**64 - 1, 2**64 - 1, 0]),
        ("date", [date(2020, 1, 1), date(2020, 1, 1), date(1900, 1, 1)]),
        ("timestamp", [DAY, DAY, datetime(1970, 1, 1)]),
        ("duration", [timedelta(1), timedelta(1), timedelta(0)]),
        ("decimal(9, 2)", [Decimal("1.25"), Decimal("1.25"), Decimal("-3.00")]),
        ("binary", [b"a", b"a", b""]),
    ],
)
def test_windows_of_other_types(dtype: str, values: list[Any]) -> None:
    mode = sf.Window(sf.mode(dtype=dtype), sf.rows(3))
    assert [mode.push(value) for value in values][-1] == Counter(values).most_common(1)[0][0]
    many = sf.Window(sf.most_frequent(k=5, dtype=dtype), sf.rows(3))
    found = [many.push(value) for value in values][-1]
    assert Counter({one["value"]: one["count"] for one in found}) == Counter(values)
    count = sf.Window(sf.distinct(dtype=dtype), sf.rows(3))
    assert [count.push(value) for value in values][-1] == 2


def test_what_has_left_a_window_leaves_no_trace() -> None:
    """Entropy is exact after millions of steps: nothing is subtracted."""
    window = sf.Window(sf.entropy(), sf.rows(4))
    for i in range(20_000):
        window.push(float(i % 7))
    for value in (1.0, 1.0, 1.0, 1.0):
        window.push(value)
    assert window.query() == 0.0


@for_each(
    "make, error",
    [
        (lambda: sf.most_frequent("x", 0), OperatorError),
        (lambda: sf.most_frequent("x", True), OperatorError),
        (lambda: sf.most_frequent("x", 1.5), OperatorError),  # type: ignore[arg-type]
        (lambda: sf.rank("x", "dense"), OperatorError),
        (lambda: sf.rank("x", "first"), OperatorError),
        (lambda: sf.mode(dtype="complex"), ValueTypeError),
        (lambda: sf.mode().over(3), DefinitionError),
        (lambda: sf.rank().over(3), DefinitionError),
        (lambda: sf.Window(sf.mode(), 3, algorithm="daba_lite"), TypeError),
    ],
)  # fmt: skip
def test_mistakes(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        make()
    assert "\n" not in str(caught.value)


@for_each("name", ["distinct", "mode", "entropy", "most_frequent", "rank"])
def test_lists_are_refused(name: str) -> None:
    table = pa.table({"t": [1, 2], "v": [[1], [2]]})
    with pytest.raises(ValueTypeError) as caught:
        sf.rolling(on="t", a=getattr(sf, name)("v").over(3)).run(table)
    assert "\n" not in str(caught.value)
