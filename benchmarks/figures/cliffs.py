"""What one complication of the data costs `sf.rolling`, against the plain case and Polars.

A complication stands alone: nulls, rows that share a time, rows out of place, shuffled rows, keys.
All cases of an operator run in turns in one process, so that ratios are of one moment.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks.harness import Row, Side, best_of, pivot
from slidefold import _native
from slidefold.columns.grouping import group_numbers

# One thread a side; Polars reads this once, when it is first imported.
os.environ.setdefault("POLARS_MAX_THREADS", "1")


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int
    window: int  # rows that a window holds, of a time window on average
    keyed: int  # the same for windows by key
    keys: int
    rounds: int
    seconds: float  # for each side


SIZES = {
    "full": Sizes(1_000_000, 1_000, 20, 1_000, 9, 4.0),
    "quick": Sizes(1_000_000, 1_000, 20, 1_000, 3, 1.0),
    "smoke": Sizes(500, 10, 5, 5, 1, 0.1),
}
OPERATORS: dict[str, Any] = {
    "count": sf.count("x"),
    "sum": sf.sum("x"),
    "mean": sf.mean("x"),
    "min": sf.min("x"),
    "max": sf.max("x"),
    "var": sf.var("x"),
    "std": sf.std("x"),
    "median": sf.median("x"),
    "first": sf.first("x"),
    "last": sf.last("x"),
    "max_by": sf.max_by("y", "x"),
    "correlation": sf.correlation("x", "y"),
}
WINDOWS = ("time", "rows")
STEP = 10_000  # microseconds from one row to the next, on average


def tables(sizes: Sizes) -> dict[str, Any]:
    """The same rows with each complication: a plain table and one per case."""
    random = np.random.default_rng(5)
    rows = sizes.rows
    times = np.cumsum(random.integers(1, 2 * STEP, rows))
    x, y = random.normal(size=rows), random.normal(size=rows)

    def made(times: Any, *, order: Any = None, null: float = 0.0, keys: int = 1) -> Any:
        masks = (random.random(rows) < null for _ in range(2)) if null else (None, None)
        table = pa.table(
            {
                "ts": pa.array(times).cast(pa.timestamp("us")),
                "k": random.integers(0, keys, rows),
                **{n: pa.array(v, mask=m) for n, v, m in zip("xy", (x, y), masks, strict=True)},
            }
        )
        return table if order is None else table.take(pa.array(order))

    tied = times.copy()
    second = np.flatnonzero(random.random(rows) < 0.025)
    tied[second] = times[np.maximum(second - 1, 0)]  # that of the row before: 5% share a time
    place = np.arange(rows, dtype=np.float64)
    moved = random.random(rows) < 0.05
    place[moved] = random.uniform(0, rows, moved.sum())  # anywhere
    return {
        "plain": made(times),
        "nulls": made(times, null=0.1),
        "ties": made(tied),
        "out of place": made(times, order=np.argsort(place, kind="stable")),
        "shuffled": made(times, order=random.permutation(rows)),
        "keys": made(times, keys=sizes.keys),
    }


def measure(sizes: Sizes) -> list[Row]:
    """All operators over both kinds of window, each case beside the plain one and Polars."""
    made = tables(sizes)
    frames = _polars_frames(made)
    found: list[Row] = []
    for kind in WINDOWS:
        for operator in OPERATORS:
            sides: dict[str, Side] = {}
            places: dict[str, Row] = {}
            # Windows by key are shorter, and so is the plain case that they are compared with.
            cases = [(case, sizes.keyed if case == "keys" else sizes.window) for case in made]
            for case, window in [*cases, ("plain", sizes.keyed)]:
                asked = (operator, kind, case, window, sizes)
                runs = {"slidefold": _own(made[case], *asked)}
                if case in ("shuffled", "keys"):
                    runs["sort"] = _sort(made[case], case == "keys")
                if peer := _polars(frames.get(case), *asked):
                    runs["polars"] = peer
                for side, run in runs.items():
                    name = f"{side}, {case} {window}"
                    sides[name] = run
                    places[name] = {"case": case, "window": window, "side": side}
            timings = best_of(sides, rounds=sizes.rounds, seconds=sizes.seconds)
            for name, timing in timings.items():
                milliseconds = 1e3 * timing.seconds * 1e6 / sizes.rows
                place = {"kind": kind, "operator": operator, **places[name]}
                found.append({**place, "ms_per_million": milliseconds})
    return found


def _length(case: str, window: int, sizes: Sizes) -> str:
    """A time window that holds so many rows of a key on average."""
    return f"{window * STEP * (sizes.keys if case == 'keys' else 1)}us"


def _own(table: Any, operator: str, kind: str, case: str, window: int, sizes: Sizes) -> Side:
    over = _length(case, window, sizes) if kind == "time" else window
    by = "k" if case == "keys" else ()
    definition = sf.rolling(on="ts", by=by, r=OPERATORS[operator].over(over))
    return lambda: definition.run(table)


def _sort(table: Any, keyed: bool) -> Side:
    """Our own sort of the keys and times alone."""

    def run() -> Any:
        groups, count = group_numbers(table, ["k"] if keyed else [])
        times = table["ts"].chunk(0).cast(pa.int64()).to_numpy()
        return _native.order_rows(groups, count, times)

    return run


# ---- Polars -------------------------------------------------------------------------------------

_ROLLING = ("sum", "mean", "min", "max", "var", "std", "median")


def _polars_frames(made: dict[str, Any]) -> dict[str, Any]:
    if not find_spec("polars"):
        return {}
    return {case: import_module("polars").from_arrow(table) for case, table in made.items()}


def _polars(
    frame: Any, operator: str, kind: str, case: str, window: int, sizes: Sizes
) -> Side | None:
    """Polars in its own best way; None where it has no such operator."""
    if frame is None:
        return None
    pl = import_module("polars")
    column: Any
    if operator == "count":
        counted = pl.col("x").is_not_null().cast(pl.Int64)
        column = _rolled(counted, "sum", kind, _length(case, window, sizes), window)
    elif operator in _ROLLING:
        column = _rolled(pl.col("x"), operator, kind, _length(case, window, sizes), window)
    elif operator == "correlation" and kind == "rows":
        column = pl.rolling_corr("x", "y", window_size=window, min_samples=2)
    else:
        return None
    if case == "keys":
        column = column.over("k")
    if kind == "rows" and case in ("out of place", "shuffled"):
        return lambda: frame.sort("ts").with_columns(r=column)
    return lambda: frame.with_columns(r=column)


def _rolled(column: Any, operator: str, kind: str, length: str, window: int) -> Any:
    if kind == "time":
        rolled: Callable[..., Any] = getattr(column, f"rolling_{operator}_by")
        return rolled("ts", length)
    return getattr(column, f"rolling_{operator}")(window, min_samples=1)


def show(rows: list[Row]) -> str:
    """One table for each kind of window and side."""
    tables = []
    for kind in WINDOWS:
        for side in ("slidefold", "sort", "polars"):
            chosen = [
                {**row, "case": f"{row['case']} {row['window']}"}
                for row in rows
                if (row["kind"], row["side"]) == (kind, side)
            ]
            title = f"{kind} windows, {side}: ms a million rows"
            tables.append(
                pivot(title, chosen, down="operator", across="case", value="ms_per_million")
            )
    return "\n".join(tables)
