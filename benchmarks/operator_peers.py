"""Operators of other libraries over rows windows that compute the same as one of ours.

A peer is a function of a table and a window. Each library is used in its fastest way, on one
thread. Like ours, a peer also gives results for windows that are not full yet.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

Peer = Callable[[Any, int], object]

# The method of a pandas or Polars rolling object, of bottleneck and numbagg, and DuckDB's function.
_PANDAS = {
    "sum": ("sum", ()),
    "min": ("min", ()),
    "max": ("max", ()),
    "mean": ("mean", ()),
    "var": ("var", ()),
    "std": ("std", ()),
    "median": ("median", ()),
    "quantile": ("quantile", (0.9,)),
    "count": ("count", ()),
    "skewness": ("skew", ()),
    "kurtosis": ("kurt", ()),
    "rank": ("rank", ()),
}
_PANDAS_PAIRS = {"covariance": "cov", "correlation": "corr"}
_POLARS = ("sum", "min", "max", "mean", "var", "std", "median", "quantile")
_BOTTLENECK = ("sum", "min", "max", "mean", "var", "std", "median")
_NUMBAGG = {"sum": "move_sum", "mean": "move_mean", "var": "move_var", "std": "move_std"}
_NUMBAGG_PAIRS = {"covariance": "move_cov", "correlation": "move_corr"}
_DUCKDB = {
    "sum": "sum(x)",
    "min": "min(x)",
    "max": "max(x)",
    "mean": "avg(x)",
    "geomean": "geomean(x)",
    "var": "var_samp(x)",
    "std": "stddev_samp(x)",
    "skewness": "skewness(x)",
    "kurtosis": "kurtosis(x)",
    "median": "median(x)",
    "quantile": "quantile_cont(x, 0.9)",
    "count": "count(x)",
    "first": "first_value(x)",
    "last": "last_value(x)",
    "max_by": "arg_max(y, x)",
    "min_by": "arg_min(y, x)",
    "top_k": "max(x, 10)",
    "any": "bool_or(b)",
    "all": "bool_and(b)",
    "bit_and": "bit_and(i)",
    "bit_or": "bit_or(i)",
    "bit_xor": "bit_xor(i)",
    "covariance": "covar_samp(x, y)",
    "correlation": "corr(x, y)",
    "trend": "regr_slope(x, t)",
    "approx_distinct": "approx_count_distinct(i)",
    "approx_quantile": "approx_quantile(x, 0.5)",
}


def peers(operator: str) -> dict[str, Peer]:
    """Return the peers of an operator by library."""
    by_library: dict[str, Peer | None] = {
        "pandas": _pandas(operator),
        "polars": _polars(operator),
        "bottleneck": _bottleneck(operator),
        "numbagg": _numbagg(operator),
        "duckdb": _duckdb(operator),
    }
    return {name: peer for name, peer in by_library.items() if peer is not None and find_spec(name)}


def _pandas(operator: str) -> Peer | None:
    if operator in _PANDAS_PAIRS:
        method = _PANDAS_PAIRS[operator]
        return lambda table, window: getattr(
            _series(table, "x").rolling(window, min_periods=1), method
        )(_series(table, "y"))
    if operator not in _PANDAS:
        return None
    name, arguments = _PANDAS[operator]
    return lambda table, window: getattr(_series(table, "x").rolling(window, min_periods=1), name)(
        *arguments
    )


def _series(table: Any, name: str) -> Any:
    return import_module("pandas").Series(table[name].to_numpy(), copy=False)


def _polars(operator: str) -> Peer | None:
    if operator not in _POLARS:
        return None

    def run(table: Any, window: int) -> object:
        series = import_module("polars").from_arrow(table["x"])
        options: dict[str, Any] = {"window_size": window, "min_samples": 1}
        if operator == "quantile":
            options |= {"quantile": 0.9, "interpolation": "linear"}
        return getattr(series, f"rolling_{operator}")(**options)

    return run


def _bottleneck(operator: str) -> Peer | None:
    if operator not in _BOTTLENECK:
        return None
    options = {"ddof": 1} if operator in ("var", "std") else {}

    def run(table: Any, window: int) -> object:
        move = getattr(import_module("bottleneck"), f"move_{operator}")
        return move(table["x"].to_numpy(), min(window, len(table)), min_count=1, **options)

    return run


def _numbagg(operator: str) -> Peer | None:
    columns = ("x", "y") if operator in _NUMBAGG_PAIRS else ("x",)
    name = {**_NUMBAGG, **_NUMBAGG_PAIRS}.get(operator)
    if name is None:
        return None

    def run(table: Any, window: int) -> object:
        arrays = [table[column].to_numpy() for column in columns]
        move = getattr(import_module("numbagg"), name)
        return move(*arrays, window=min(window, len(table)), min_count=1)

    return run


def _duckdb(operator: str) -> Peer | None:
    if operator not in _DUCKDB:
        return None
    call = _DUCKDB[operator]

    def run(table: Any, window: int) -> object:
        frame = f"ORDER BY t ROWS BETWEEN {window - 1} PRECEDING AND CURRENT ROW"
        connection = _connection()
        connection.register("given", table)
        return connection.sql(f"SELECT {call} OVER ({frame}) AS r FROM given").to_arrow_table()

    return run


@cache
def _connection() -> Any:
    connection = import_module("duckdb").connect()
    connection.execute("SET threads = 1")
    return connection
