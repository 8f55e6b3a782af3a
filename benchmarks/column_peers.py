"""Peers of `sf.rolling` over whole tables, each used in its fastest way.

A peer is a function without arguments that returns its result in its own type of frame. A peer
sorts rows that are not in time order itself, as a user would have to.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.harness import Side

_SQL = {"sum": "sum", "max": "max", "std": "stddev_samp", "median": "median"}


def time_peers(
    table: Any, operator: str, keyed: bool, length: str, in_order: bool
) -> Iterator[tuple[str, Side]]:
    """Yield peers for time windows over the column `x` by `ts`, and by `k` if keyed."""
    if find_spec("polars"):
        yield "polars", _polars(table, operator, keyed, length, in_order)
    if find_spec("pandas"):
        yield "pandas", _pandas(table, operator, keyed, length, in_order)
    if find_spec("duckdb"):
        yield "duckdb", _duckdb(table, operator, keyed, length)
    if find_spec("numba") and not keyed and in_order and operator in ("sum", "max"):
        yield "numba by hand", _numba(table, operator, length)


def rows_peers(table: Any, window: int) -> Iterator[tuple[str, Side]]:
    """Yield peers for the max of `x` over rows windows."""
    values = table["x"].to_numpy()
    if find_spec("bottleneck"):
        move_max = import_module("bottleneck").move_max
        yield "bottleneck", lambda: move_max(values, window, min_count=1)
    if find_spec("polars"):
        pl = import_module("polars")
        frame = pl.from_arrow(table)
        column = pl.col("x").rolling_max(window, min_samples=1)
        yield "polars", lambda: frame.with_columns(r=column)
    if find_spec("pandas"):
        pandas = table.to_pandas()
        yield "pandas", lambda: pandas["x"].rolling(window, min_periods=1).max()


def _polars(table: Any, operator: str, keyed: bool, length: str, in_order: bool) -> Side:
    pl = import_module("polars")
    frame = pl.from_arrow(table)
    column = getattr(pl.col("x"), f"rolling_{operator}_by")("ts", length)
    if keyed:
        column = column.over("k")
    if in_order or keyed:
        return lambda: frame.with_columns(r=column)
    return lambda: frame.sort("ts").with_columns(r=column)


def _pandas(table: Any, operator: str, keyed: bool, length: str, in_order: bool) -> Side:
    frame = table.to_pandas()

    def run() -> Any:
        rows = frame if in_order else frame.sort_values("ts", kind="stable")
        rows = rows.set_index("ts")
        chosen = rows.groupby("k")["x"] if keyed else rows["x"]
        return getattr(chosen.rolling(length), operator)()

    return run


def _duckdb(table: Any, operator: str, keyed: bool, length: str) -> Side:
    duckdb = import_module("duckdb")
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("given", table)
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    reach = int(length.removesuffix("us")) - 1
    split = "PARTITION BY k" if keyed else ""
    query = (
        f"SELECT *, {_SQL[operator]}(x) OVER ({split} ORDER BY ts RANGE BETWEEN INTERVAL "
        f"{reach} MICROSECONDS PRECEDING AND CURRENT ROW) AS r FROM rows"
    )
    return lambda: connection.sql(query).to_arrow_table()


def _numba(table: Any, operator: str, length: str) -> Side:
    """Return hand-written two-stacks: suffix folds of the old rows, one fold of the new rows."""
    numba = import_module("numba")
    add = numba.njit(inline="always")(_FOLDS[operator])
    times = table["ts"].to_numpy().view(np.int64)
    values = table["x"].to_numpy()
    span = int(length.removesuffix("us"))

    def plain(times: Any, values: Any, span: int) -> Any:
        rows = len(times)
        out = np.empty(rows)
        folds = np.empty(rows)
        low, high, turned, front = 0, 0, 0, 0.0
        for row in range(rows):
            while high < rows and times[high] <= times[row]:
                front = values[high] if high == turned else add(front, values[high])
                high += 1
            while times[low] <= times[row] - span:
                low += 1
            if low >= turned:
                turned = high
                fold = values[high - 1]
                folds[high - 1] = fold
                for i in range(high - 2, low - 1, -1):
                    fold = add(values[i], fold)
                    folds[i] = fold
            out[row] = folds[low] if high == turned else add(folds[low], front)
        return out

    loop = numba.njit(plain)
    loop(times[:10], values[:10], span)  # compile before the timing starts
    return lambda: loop(times, values, span)


def _added(older: float, newer: float) -> float:
    return older + newer


def _larger(older: float, newer: float) -> float:
    return newer if newer > older else older


_FOLDS = {"sum": _added, "max": _larger}
