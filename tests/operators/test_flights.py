"""Operators over all flights from New York against DuckDB, pandas and scipy, row by row."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import stats  # type: ignore[import-untyped]

import slidefold as sf
from slidefold.cli.demo.flights import read_flights

DAY = 86_400 * 10**6
# A window of time, and what it is in SQL over times in microseconds.
WINDOWS = {
    "right": (sf.time("1d"), f"RANGE BETWEEN {DAY - 1} PRECEDING AND CURRENT ROW"),
    "left": (sf.time("1d", closed="left"), f"RANGE BETWEEN {DAY} PRECEDING AND 1 PRECEDING"),
}
EQUAL = "(min(delay) OVER w) = (max(delay) OVER w)"
# Operators, and what they are in SQL; those with no SQL are compared on the lists of values.
IN_SQL: dict[str, tuple[Any, str]] = {
    # In SQL a window without values has no distinct ones and no entropy; here both are null.
    "places": (sf.distinct("dest"), "nullif(count(DISTINCT dest) OVER w, 0)"),
    "spread": (
        sf.entropy("dest"),
        "CASE WHEN (count(dest) OVER w) > 0 THEN (entropy(dest) OVER w) * ln(2) END",
    ),
    # Equal values have no skewness in SQL; here they have that of pandas.
    "skew": (
        sf.skewness("delay"),
        f"CASE WHEN {EQUAL} AND (count(delay) OVER w) > 2 THEN 0 ELSE skewness(delay) OVER w END",
    ),
    "heavy": (
        sf.kurtosis("delay"),
        f"CASE WHEN {EQUAL} AND (count(delay) OVER w) > 3 THEN -3 ELSE kurtosis(delay) OVER w END",
    ),
    "weighted": (
        sf.weighted_mean("delay", "miles"),
        "(sum(delay * miles) OVER w) / (sum(miles) FILTER (delay IS NOT NULL) OVER w)",
    ),
    "since": (sf.since_last(), "us - (max(us) OVER w)"),
    "age": (sf.since_first(), "us - (min(us) OVER w)"),
    "late": (
        sf.count().where((sf.col("delay") > 30) & (sf.col("airport") == "JFK")),
        "count(*) FILTER (delay > 30 AND airport = 'JFK') OVER w",
    ),
    "lost": (
        sf.sum(sf.col("delay") * sf.col("miles")).where(sf.col("delay") > 0),
        "sum(delay * miles) FILTER (delay > 0) OVER w",
    ),
    "known": (
        sf.count("delay").where(sf.col("delay").is_null() | (sf.col("delay") < 9)),
        "count(delay) FILTER (delay IS NULL OR delay < 9) OVER w",
    ),
    "worst": (
        sf.max("real").where(sf.col("miles") > 500),
        "max(real) FILTER (miles > 500) OVER w",
    ),
}
FORMULAS: dict[str, tuple[Any, str]] = {
    "ratio": (
        sf.col("delay") / sf.mean("delay").over("1d", closed="left"),
        "delay / (avg(delay) OVER before)",
    ),
    "between": (
        sf.max("delay").over("1d") - sf.min("delay").over("1d"),
        "(max(delay) OVER day) - (min(delay) OVER day)",
    ),
    "share": (
        sf.count().where(sf.col("delay") > 0).over("1d") / sf.count().over("1d"),
        "(count(*) FILTER (delay > 0) OVER day) / (count(*) OVER day)",
    ),
    "unusual": (
        (sf.col("delay") > 3 * sf.mean("delay").over("1d", closed="left"))
        & (sf.col("airport") == "EWR"),
        "delay > 3 * (avg(delay) OVER before) AND airport = 'EWR'",
    ),
}


@cache
def flights(rows: int) -> Any:
    """Return flights as their records arrive, with nulls, NaN and ties."""
    table = read_flights().slice(0, rows)
    draws = np.random.default_rng(1).random(len(table))
    delay = pc.if_else(pa.array(draws < 0.05), None, table["delay_min"])
    real = pc.if_else(pa.array(draws > 0.999), float("nan"), pc.cast(delay, pa.float64()))
    return pa.table(
        {
            "t": table["departed"],
            "us": pc.cast(table["departed"], pa.int64()),
            "id": np.arange(len(table)),
            "carrier": table["carrier"],
            "airport": table["airport"],
            "dest": table["dest"],
            "delay": delay,
            "real": real,
            "miles": np.random.default_rng(2).integers(100, 3000, len(table)),
        }
    )


def in_sql(table: Any, picked: dict[str, str], windows: str) -> Any:
    """Return columns of SQL in order of the input."""
    columns = ", ".join(f"{text} AS {name}" for name, text in picked.items())
    with duckdb.connect() as connection:
        connection.register("given", table)
        query = f"SELECT id, {columns} FROM given WINDOW {windows} ORDER BY id"
        return pa.table(connection.sql(query).to_arrow_table())


def differences(found: Any, expected: Any, near: float) -> list[tuple[int, Any, Any]]:
    """Return the rows in which two columns differ; floats to a relative error."""
    if pa.types.is_duration(found.type):
        found = pc.cast(found, pa.int64())
    pairs = zip(found.to_pylist(), expected.to_pylist(), strict=True)
    return [(row, a, b) for row, (a, b) in enumerate(pairs) if not _same(a, b, near)]


def _same(a: Any, b: Any, near: float) -> bool:
    if a is None or b is None or isinstance(a, str | bool):
        return a is b or a == b
    if a != a or b != b:
        return bool(a != a and b != b)
    return bool(a == b or abs(a - b) <= near * max(1.0, abs(a), abs(b)))


def check_sql(rows: int) -> None:
    table = flights(rows)
    for closed, (window, frame) in WINDOWS.items():
        columns = {name: operator.over(window) for name, (operator, _) in IN_SQL.items()}
        found = sf.rolling(on="t", by=["carrier", "airport"], columns=columns).run(table)
        expected = in_sql(
            table,
            {name: text for name, (_, text) in IN_SQL.items()},
            f"w AS (PARTITION BY carrier, airport ORDER BY us {frame})",
        )
        for name in IN_SQL:
            # The third and fourth moments of DuckDB are sums of powers, which lose digits.
            near = 1e-6 if name in ("skew", "heavy") else 1e-9
            wrong = differences(found[name], expected[name], near)
            assert not wrong, f"{name}, closed {closed}: {len(wrong)} rows, first {wrong[0]}"


def check_formulas(rows: int) -> None:
    table = flights(rows)
    columns = {name: formula for name, (formula, _) in FORMULAS.items()}
    found = sf.rolling(on="t", by="carrier", columns=columns).run(table)
    keyed = "PARTITION BY carrier ORDER BY us"
    expected = in_sql(
        table,
        {name: text for name, (_, text) in FORMULAS.items()},
        f"day AS ({keyed} {WINDOWS['right'][1]}), before AS ({keyed} {WINDOWS['left'][1]})",
    )
    for name in FORMULAS:
        wrong = differences(found[name], expected[name], 1e-9)
        assert not wrong, f"{name}: {len(wrong)} rows, first {wrong[0]}"


def check_lists(rows: int) -> None:
    """Compare operators with functions of the values that DuckDB finds in each window."""
    table = flights(rows)
    day = "1d"
    definition = sf.rolling(
        on="t",
        by=["carrier", "airport"],
        mode=sf.mode("delay").over(day),
        often=sf.most_frequent("dest", k=3).over(day),
        average=sf.rank("delay").over(day),
        lowest=sf.rank("delay", method="min").over(day),
        share=sf.rank("delay", method="max", pct=True).over(day),
        gap=sf.longest_gap().over(day),
        faded=sf.decayed_sum("delay", "t", half_life="6h").over(day),
        recent=sf.decayed_count("t", half_life="6h").over(day),
        entropy=sf.entropy("delay").over(day),
        skew=sf.skewness("delay").over(day),
        by_dest=sf.max("delay").per("dest").over(day),
    )
    found = definition.run(table).to_pylist()
    keyed = "PARTITION BY carrier, airport ORDER BY us"
    lists = in_sql(
        table,
        {name: f"list({name}) OVER w" for name in ("delay", "us", "dest")},
        f"w AS ({keyed} {WINDOWS['right'][1]})",
    ).to_pylist()
    for row, held in zip(found, lists, strict=True):
        check_row(row, held["delay"], held["us"], held["dest"])


def check_row(row: dict[str, Any], delays: list[Any], times: list[int], places: list[str]) -> None:
    """Compare the results of one row."""
    real = np.array([delay for delay in delays if delay is not None])
    counts = Counter(places)
    best = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
    assert [(one["value"], one["count"]) for one in row["often"]] == best
    gaps = np.diff(np.sort(times))
    gap = None if row["gap"] is None else row["gap"] // np.timedelta64(1, "us").item()
    assert gap == (None if len(gaps) == 0 else gaps.max())
    ages = 2.0 ** -((row["us"] - np.array(times)) / (6 * 3600 * 10**6))
    assert row["recent"] == pytest.approx(ages.sum(), rel=1e-9)
    there = [i for i, delay in enumerate(delays) if delay is not None]
    assert row["faded"] == (
        pytest.approx(sum(delays[i] * ages[i] for i in there), rel=1e-9, abs=1e-9)
        if there
        else None
    )
    if len(real) == 0:
        assert row["mode"] is None
        assert row["entropy"] is None
        return
    assert row["mode"] == pd.Series(real).mode()[0]
    chances = np.array(list(Counter(real.tolist()).values())) / len(real)
    assert row["entropy"] == pytest.approx(stats.entropy(chances), abs=1e-9)
    if row["delay"] is None:
        assert row["average"] is None
    else:
        own = list(real).index(row["delay"])
        assert row["average"] == stats.rankdata(real)[own]
        assert row["lowest"] == stats.rankdata(real, "min")[own]
        assert row["share"] == pytest.approx(stats.rankdata(real, "max")[own] / len(real))
    if len(real) > 2 and len(set(real.tolist())) > 1:
        assert row["skew"] == pytest.approx(stats.skew(real, bias=False), rel=1e-9, abs=1e-9)
    most: dict[str, int] = {}
    for delay, place in zip(delays, places, strict=True):
        if delay is not None:
            most[place] = max(delay, most.get(place, delay))
    kept = {place: value for place, value in row["by_dest"] if value is not None}
    assert kept == most


@pytest.mark.parametrize("check", [check_sql, check_formulas])
def test_flights_of_some_weeks(check: Any) -> None:
    check(20_000)


def test_values_of_windows_of_flights() -> None:
    check_lists(4_000)


@pytest.mark.exhaustive
def test_all_flights() -> None:
    check_sql(400_000)
    check_formulas(400_000)
    check_lists(60_000)
