"""Equality with DuckDB, Polars and pandas on random tables."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidefold as sf
from tests.support.tables import SHAPES, assert_same, random_table

CLOSED = ("right", "left", "both", "neither")
RANGE = 12
OPERATORS = {
    "n": (sf.count(), "count(*)"),
    "nx": (sf.count("x"), "count(x)"),
    "sx": (sf.sum("x"), "sum(x)"),
    "sy": (sf.sum("y"), "sum(y)"),
    "lx": (sf.min("x"), "min(x)"),
    "my": (sf.max("y"), "max(y)"),
    "ay": (sf.mean("y"), "avg(y)"),
    "ax": (sf.mean("x"), "avg(x)"),
    "vy": (sf.var("y"), "var_samp(y)"),
    "sp": (sf.std("y", ddof=0), "stddev_pop(y)"),
}


def duck(table: pa.Table, frame: str) -> Any:
    """Return all aggregates over a frame, in order of id."""
    picked = ", ".join(f"{sql} OVER w AS {name}" for name, (_, sql) in OPERATORS.items())
    query = f"SELECT id, {picked} FROM given WINDOW w AS ({frame}) ORDER BY id"
    with duckdb.connect() as connection:
        connection.register("given", table)
        return pa.table(connection.sql(query).to_arrow_table())


def compare(found: pa.Table, expected: Any, what: str) -> None:
    for name in OPERATORS:
        assert_same(found[name], expected[name], f"{name} of {what}")


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "keyless"])
def test_time_windows_as_duckdb(shape: str, closed: str, keyed: bool) -> None:
    table = random_table(shape)
    start = RANGE if closed in ("left", "both") else RANGE - 1
    end = "CURRENT ROW" if closed in ("right", "both") else "1 PRECEDING"
    keys = "PARTITION BY k" if keyed else ""
    expected = duck(table, f"{keys} ORDER BY t RANGE BETWEEN {start} PRECEDING AND {end}")
    window = sf.time(RANGE, closed=closed)
    columns = {name: operator.over(window) for name, (operator, _) in OPERATORS.items()}
    found = sf.rolling(on="t", by="k" if keyed else (), columns=columns).run(table)
    compare(found, expected, f"{shape}, {closed}")


@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_windows_as_duckdb(shape: str, closed: str) -> None:
    table = random_table(shape)
    bounds = "4 PRECEDING AND CURRENT ROW" if closed == "right" else "5 PRECEDING AND 1 PRECEDING"
    expected = duck(table, f"PARTITION BY k ORDER BY t, id ROWS BETWEEN {bounds}")
    window = sf.rows(5, closed=closed)
    columns = {name: operator.over(window) for name, (operator, _) in OPERATORS.items()}
    found = sf.rolling(on="t", by="k", order="id", columns=columns).run(table)
    compare(found, expected, f"{shape}, {closed}")


@pytest.mark.parametrize("closed", CLOSED)
def test_timestamps_as_duckdb(closed: str) -> None:
    """Microseconds, before and after 1970, and a range that falls on rows."""
    table = random_table("few keys with nulls")
    table = table.set_column(2, "t", table["t"].cast(pa.timestamp("us")))
    start = RANGE if closed in ("left", "both") else RANGE - 1
    end = "CURRENT ROW" if closed in ("right", "both") else "INTERVAL 1 MICROSECOND PRECEDING"
    frame = f"RANGE BETWEEN INTERVAL {start} MICROSECOND PRECEDING AND {end}"
    expected = duck(table, f"PARTITION BY k ORDER BY t {frame}")
    columns = {
        name: operator.over(f"{RANGE}us", closed=closed)
        for name, (operator, _) in OPERATORS.items()
    }
    compare(sf.rolling(on="t", by="k", columns=columns).run(table), expected, closed)


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("shape", SHAPES)
def test_time_windows_as_polars(shape: str, closed: str) -> None:
    frame = pl.from_arrow(random_table(shape))
    assert isinstance(frame, pl.DataFrame)
    ordered = frame.sort("k", "t", "id")
    x = pl.col("x")
    ends: Any = "none" if closed == "neither" else closed
    rolled = ordered.rolling("t", period=f"{RANGE}i", closed=ends, group_by="k").agg(
        n=x.len().cast(pl.Int64),
        most=x.max(),
        least=x.drop_nulls().min(),
        last=x.drop_nulls().last(),
        first=x.drop_nulls().first(),
        items=x.drop_nulls(),
    )
    # Polars gives groups in an order of its own; peers have equal results.
    rolled = rolled.unique(["k", "t"])
    expected = ordered.select("id", "k", "t").join(rolled, on=["k", "t"]).sort("id")
    window = sf.time(RANGE, closed=closed)
    found = sf.rolling(
        on="t",
        by="k",
        order="id",
        n=sf.count().over(window),
        most=sf.max("x").over(window),
        least=sf.min("x").over(window),
        last=sf.last("x").over(window),
        first=sf.first("x").over(window),
        items=sf.collect("x").over(window),
    ).run(frame)
    for name in ("n", "most", "least", "last", "first"):
        assert found[name].to_list() == expected[name].to_list(), name
    assert found["items"].to_list() == [items or None for items in expected["items"].to_list()]


@pytest.mark.parametrize("closed", CLOSED)
def test_time_windows_as_pandas(closed: str) -> None:
    """pandas does not show a row its younger peers, so times differ here."""
    rng = np.random.default_rng(3)
    seconds = np.cumsum(rng.integers(1, 9, 200))
    frame = pd.DataFrame(
        {"ts": pd.Timestamp("1969-12-31 23:55") + pd.to_timedelta(seconds, "s")}
    ).assign(x=rng.integers(0, 100, 200) / 4, k=rng.integers(0, 3, 200))
    window = sf.time("20s", closed=closed)
    found = sf.rolling(on="ts", by="k", s=sf.sum("x").over(window), m=sf.max("x").over(window)).run(
        frame
    )
    rolled = frame.set_index("ts").groupby("k")["x"].rolling("20s", closed=closed)
    for name, peer in (("s", rolled.sum()), ("m", rolled.max())):
        expected = peer.reset_index().sort_values("ts")["x"].to_numpy()
        held = rolled.count().reset_index().sort_values("ts")["x"].to_numpy() > 0
        np.testing.assert_allclose(found[name].to_numpy()[held], expected[held])
        assert found[name].isna().to_numpy()[~held].all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("every", "span", "closed"), [(5, 12, "left"), (6, 6, "right")])
def test_every_as_duckdb(shape: str, every: int, span: int, closed: str) -> None:
    """Each end with each row that its window holds, joined and grouped the slow way."""
    table = random_table(shape)
    inside = "t >= e - {0} AND t < e" if closed == "left" else "t > e - {0} AND t <= e"
    query = f"""
        SELECT k, e, sum(x) AS s, count(*) AS n, max(y) AS m
        FROM given, (SELECT unnest(generate_series(-60, 7000, 1)) AS e)
        WHERE (e - 1) % {every} = 0 AND {inside.format(span)} GROUP BY k, e ORDER BY k, e
    """
    with duckdb.connect() as connection:
        connection.register("given", table)
        expected = pa.table(connection.sql(query).to_arrow_table())
    window = sf.time(span, closed=closed)
    found = sf.rolling(
        on="t",
        by="k",
        every=sf.time(every),
        offset=1,
        s=sf.sum("x").over(window),
        n=sf.count().over(window),
        m=sf.max("y").over(window),
    ).run(table)
    found = found.sort_by([("k", "ascending"), ("window_end", "ascending")])
    assert found["k"].to_pylist() == expected["k"].to_pylist()
    assert found["window_end"].to_pylist() == expected["e"].to_pylist()
    for name in ("s", "n", "m"):
        assert_same(found[name], expected[name], f"{name} of {shape}")
