"""Means and what is near them, of values that floats do not hold: against exact fractions."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.algorithms import REGISTRY, Fiba
from slidefold.errors import StateError
from tests.chunks.test_chunks import run_chunked
from tests.support.envelopes import opened, with_header

KINDS = {
    "decimal128(9, 2)": pa.decimal128(9, 2),
    "decimal128(18, 3)": pa.decimal128(18, 3),
    "decimal128(38, 10)": pa.decimal128(38, 10),
    "decimal128(38, 38)": pa.decimal128(38, 38),
    "decimal256(60, 4)": pa.decimal256(60, 4),
    "decimal32(7, 1)": pa.decimal32(7, 1),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "bool": pa.bool_(),
}


def values_of(kind: Any, rng: random.Random, rows: int) -> list[Any]:
    """Return values all over a type; half of them small."""
    if pa.types.is_boolean(kind):
        return [rng.random() < 0.5 for _ in range(rows)]
    if not pa.types.is_decimal(kind):
        low, high = (0, 2**64 - 1) if pa.types.is_uint64(kind) else (-(2**63), 2**63 - 1)
        return [rng.choice([rng.randint(low, high), rng.randint(0, 99)]) for _ in range(rows)]
    most = 10**kind.precision - 1
    whole = [rng.choice([rng.randint(-most, most), rng.randint(-99, 99)]) for _ in range(rows)]
    return [Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -kind.scale)) for n in whole]


def table_of(
    kind: Any, seed: int, rows: int = 60, nulls: bool = True
) -> tuple[pa.Table, list[Any]]:
    rng = random.Random(seed)
    values = values_of(kind, rng, rows)
    if nulls:
        values = [None if rng.random() < 0.2 else value for value in values]
    return pa.table({"t": range(rows), "x": pa.array(values, kind)}), values


def mean(held: list[Any]) -> float | None:
    """Return the float nearest to the mean."""
    exact = [Fraction(value) for value in held if value is not None]
    if not exact:
        return None
    found = sum(exact, Fraction(0)) / len(exact)
    return found.numerator / found.denominator  # Python's integers round once


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("window", [5, sf.time(5)])
def test_means_are_rounded_once(kind: Any, nulls: bool, window: Any) -> None:
    definition = sf.rolling(on="t", m=sf.mean("x").over(window))
    for seed in range(3):
        table, values = table_of(kind, seed, nulls=nulls)
        expected = [mean(values[max(0, i - 4) : i + 1]) for i in range(len(values))]
        assert definition.run(table)["m"].to_pylist() == expected
        backwards = definition.run(table.take(pa.array(range(len(values))[::-1])))
        assert backwards["m"].to_pylist()[::-1] == expected
        live = definition.live(lateness=3)
        fed = [live.feed(table.slice(i, 7)) for i in range(0, len(values), 7)] + [live.finish()]
        assert pa.concat_tables(fed)["m"].to_pylist() == expected
        chunked, _ = run_chunked(definition, table, [15, 40], [], random.Random(seed))
        assert chunked.sort_by("t")["m"].to_pylist() == expected


@pytest.mark.parametrize("dtype", ["decimal(9, 2)", "decimal(18, 3)", "int64", "uint64"])
def test_means_of_events_are_rounded_once(dtype: str) -> None:
    kind = pa.type_for_alias(dtype) if "int" in dtype else KINDS[f"decimal128{dtype[7:]}"]
    _, values = table_of(kind, 1)
    expected = [mean(values[max(0, i - 4) : i + 1]) for i in range(len(values))]
    for name in ("recalc", "subtract_on_evict", "two_stacks_lite", "daba_lite"):
        window = sf.Window(sf.mean(dtype=dtype), sf.rows(5), algorithm=name)
        assert [window.push(value) for value in values] == expected
    window = sf.Window(sf.mean(dtype=dtype), sf.rows(5))
    found = []
    for value in values:
        window = sf.Window.from_bytes(window.to_bytes())
        found.append(window.push(value))
    assert found == expected


def test_a_mean_of_decimals_that_floats_get_wrong() -> None:
    # 0.1 and its like have no float: a sum of them is off, and 1e16 hides all else.
    tenths = pa.table({"t": range(10), "x": pa.array([Decimal("0.1")] * 10, pa.decimal128(9, 1))})
    definition = sf.rolling(on="t", m=sf.mean("x").over(sf.time(100)))
    assert definition.run(tenths)["m"].to_pylist() == [0.1] * 10
    far = pa.array([Decimal(10**16), Decimal("0.5"), Decimal(-(10**16))], pa.decimal128(20, 1))
    found = definition.run(pa.table({"t": range(3), "x": far}))["m"].to_pylist()
    assert found[-1] == 0.5 / 3


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_means_of_durations_are_exact(unit: str) -> None:
    rng = random.Random(5)
    whole = [rng.randint(-(2**62), 2**62) for _ in range(40)]
    table = pa.table({"t": range(40), "x": pa.array(whole).cast(pa.duration(unit))})
    definition = sf.rolling(on="t", m=sf.mean("x").over(7))
    expected = []
    for i in range(40):
        held = whole[max(0, i - 6) : i + 1]
        expected.append(round(Fraction(sum(held), len(held))))  # half to even
    assert definition.run(table)["m"].cast(pa.int64()).to_pylist() == expected
    chunked, _ = run_chunked(definition, table, [11, 23], [], random.Random(1))
    assert chunked.sort_by("t")["m"].cast(pa.int64()).to_pylist() == expected


# ---- uint64 -------------------------------------------------------------------------------------

FAR = 1_700_000_000_000_000_000  # nanoseconds since 1970, where floats are 256 apart
STARTS = [FAR, 2**63 - 4, 2**64 - 100]


@pytest.mark.parametrize("start", STARTS)
def test_decayed_means_by_unsigned_times(start: int) -> None:
    times = [start + step for step in (0, 10, 12, 33, 33, 70)]
    values = [0.0, 1.0, 3.0, 9.0, 2.0, 5.0]
    expected = []
    for i in range(len(times)):
        weights = [2.0 ** ((time - times[i]) / 10) for time in times[: i + 1]]
        pairs = zip(weights, values, strict=False)
        expected.append(sum(w * x for w, x in pairs) / sum(weights))
    events = sf.Window(sf.decayed_mean(half_life=10, key_dtype="uint64"), sf.rows(9))
    found = [events.push(pair) for pair in zip(values, times, strict=True)]
    assert found == pytest.approx(expected, rel=1e-14)
    exact = pa.array(times, pa.uint64())
    digits = pa.array([Decimal(time) / 100 for time in times], pa.decimal128(22, 2))
    for column, life in ((exact, 10), (digits, 0.1)):
        table = pa.table({"n": range(6), "ts": column, "x": values})
        mean = sf.decayed_mean("x", "ts", half_life=life)
        definition = sf.rolling(on="n", d=mean.over(9))
        assert definition.run(table)["d"].to_pylist() == pytest.approx(expected, rel=1e-12)
        live = definition.live(lateness=0)
        assert live.feed(table)["d"].to_pylist() == pytest.approx(expected, rel=1e-12)
        if column is exact:
            chunked, _ = run_chunked(definition, table, [2, 4], [], random.Random(0))
            assert chunked.sort_by("n")["d"].to_pylist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("start", STARTS)
def test_relative_variation_of_unsigned(start: int) -> None:
    values = [start + step for step in (0, 7, 3, 50, 90)]
    expected = [
        float((max(held) - min(held)) / (Fraction(sum(held)) / len(held)))
        for held in (values[: i + 1] for i in range(5))
    ]
    events = sf.Window(sf.relative_variation(dtype="uint64"), sf.rows(9))
    assert [events.push(value) for value in values] == pytest.approx(expected, rel=1e-14)
    table = pa.table({"t": range(5), "x": pa.array(values, pa.uint64())})
    for window in (9, sf.time(9)):
        definition = sf.rolling(on="t", r=sf.relative_variation("x").over(window))
        assert definition.run(table)["r"].to_pylist() == pytest.approx(expected, rel=1e-14)
        live = definition.live(lateness=0)
        assert live.feed(table)["r"].to_pylist() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("start", [2**60, 2**63, 2**64 - 2**12])
def test_histograms_of_unsigned(start: int) -> None:
    edges = [0.5, float(start), float(start + 2048)]
    values = [0, 1, start - 1, start, start + 1, start + 2047]
    expected = [2, 3]
    if start + 2048 < 2**64:
        values.append(start + 2048)  # the last bin is closed
        expected = [2, 4]
    events = sf.Window(sf.histogram(edges=edges, dtype="uint64"), sf.rows(9))
    assert [events.push(value) for value in values][-1] == expected
    table = pa.table({"t": range(len(values)), "x": pa.array(values, pa.uint64())})
    definition = sf.rolling(on="t", h=sf.histogram("x", edges=edges).over(9))
    assert definition.run(table)["h"].to_pylist()[-1] == expected
    assert definition.live(lateness=0).feed(table)["h"].to_pylist()[-1] == expected


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", ["uint64", "int64", "decimal"])
def test_spreads_far_from_zero(start: int, kind: str) -> None:
    if kind == "int64" and start >= 2**63 - 100:
        start = 2**63 - 200
    steps = [0, 7, 3, 50, 90]
    whole = [start + step for step in steps]
    if kind == "decimal":
        column: Any = pa.array([Decimal(n) / 100 for n in whole], pa.decimal128(22, 2))
    else:
        column = pa.array(whole, kind)
    unit = 100.0 if kind == "decimal" else 1.0
    y = [1.0, 2.0, 4.0, 8.0, 9.0]
    table = pa.table({"t": range(5), "x": column, "y": y})
    definition = sf.rolling(
        on="t",
        var=sf.var("x").over(9),
        cov=sf.covariance("x", "y").over(9),
        corr=sf.correlation("x", "y").over(9),
        trend=sf.trend("y", "x").over(9),
        top=sf.max_by("y", "x").over(9),
    )
    chunked, _ = run_chunked(definition, table, [2, 4], [], random.Random(0))
    both = np.cov(steps, y)
    expected = {
        "var": both[0, 0] / unit**2,
        "cov": both[0, 1] / unit,
        "corr": np.corrcoef(steps, y)[0, 1],
        "trend": both[0, 1] / both[0, 0] * unit,
        "top": 9.0,
    }
    for found in (definition.run(table), chunked.sort_by("t")):
        for name, value in expected.items():
            assert found[name].to_pylist()[-1] == pytest.approx(value, rel=1e-12), name
    if kind == "decimal":
        return
    for made, pairs, name in (
        (sf.covariance(dtype=kind), zip(whole, y, strict=True), "cov"),
        (sf.correlation(dtype=kind), zip(whole, y, strict=True), "corr"),
        (sf.trend(key_dtype=kind), zip(y, whole, strict=True), "trend"),
        (sf.max_by(dtype="float64", key_dtype=kind), zip(y, whole, strict=True), "top"),
    ):
        events = sf.Window(made, sf.rows(9))
        assert [events.push(pair) for pair in pairs][-1] == pytest.approx(expected[name], rel=1e-12)


@pytest.mark.parametrize("dtype", ["uint64", "decimal(9, 2)"])
def test_rounded_sums_of_older_states_are_refused(dtype: str) -> None:
    window = sf.Window(sf.mean(dtype=dtype), sf.rows(3))
    window.push(3)
    data = window.to_bytes()
    operator = {**opened(data)[0]["operator"], "version": 1}
    older = with_header(data, operator=operator)
    with pytest.raises(StateError, match=r"version 1 of the operator slidefold\.mean"):
        sf.Window.from_bytes(older)


def test_every_algorithm_knows_the_codes_of_uint64() -> None:
    values = [FAR, FAR + 1, FAR + 5, 2**64 - 1, 0, 3]
    for name in ("recalc", "subtract_on_evict", "two_stacks_lite", "daba_lite", "flat_fit"):
        algorithm = REGISTRY[name](sf.mean(dtype="uint64"))
        expected = [mean(values[max(0, i - 2) : i + 1]) for i in range(len(values))]
        assert list(algorithm.slide(values, 3)) == expected
    tree = Fiba(sf.mean(dtype="uint64"))
    for i, value in enumerate(values):
        tree.insert(-i, value)
        assert tree.query() == mean(values[: i + 1])
