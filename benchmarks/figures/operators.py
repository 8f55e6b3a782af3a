"""Every operator over rows windows, compared with libraries that compute the same.

Libraries whose cost grows with the window get fewer rows: a side starts with a few thousand rows
and gets ten times as many while that is fast. The time per row counts; windows that are not full
yet favour the library. The median over time windows and the memory of distinct counts have separate
goals.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks.column_peers import time_peers
from benchmarks.harness import Row, Side, best_of, measured_apart, pivot
from benchmarks.operator_peers import peers
from slidefold.definition.operators import NAMED, RECORDS, Over

# One thread per side; the libraries read these once, on import.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int
    windows: tuple[int, ...]
    rounds: int
    seconds: float  # for each side
    median: tuple[int, ...]  # rows per time window of the median


SIZES = {
    "full": Sizes(1_000_000, (10, 1_000, 100_000), 3, 1.0, (1_000, 100_000)),
    "quick": Sizes(300_000, (10, 1_000), 2, 0.3, (100_000,)),
    "smoke": Sizes(300, (10,), 1, 0.1, (10,)),
}
_STEP = 1_000  # microseconds from one row to the next
_COLUMNS = {
    **dict.fromkeys(("max_by", "min_by"), ("y", "x")),
    **dict.fromkeys(("covariance", "correlation", "weighted_mean"), ("x", "y")),
    **dict.fromkeys(("trend", "decayed_mean", "decayed_sum"), ("x", "t")),
    **dict.fromkeys(("decayed_count", "longest_gap"), ("t",)),
    **dict.fromkeys(("any", "all"), ("b",)),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor", "bloom", "theta"), ("i",)),
    **dict.fromkeys(("distinct", "approx_distinct"), ("i",)),
    **dict.fromkeys(("mode", "entropy", "most_frequent", "concat", "frequent_items"), ("w",)),
    "naive_bayes": ("w", "c"),
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "histogram": {"edges": [0.5 + i / 16 for i in range(17)]},
    **{key: {"half_life": 100.0} for key in ("decayed_mean", "decayed_sum", "decayed_count")},
    "most_frequent": {"k": 3},
    "nth": {"n": 5},
    "quantile": {"q": 0.9},
    "count_min": {"epsilon": 0.1, "confidence": 0.9},  # 672 bytes per row
}
# The largest windows for states or results that grow with the window or are Python objects.
_LARGEST = {
    **dict.fromkeys(("collect", "concat", "collect_distinct"), 100),
    **dict.fromkeys(("bloom", "count_min", "moments", "naive_bayes"), 1_000),
    **dict.fromkeys(("approx_quantile", "theta", "frequent_items"), 100),
}


def table_of(rows: int) -> Any:
    """Return columns for all operators: floats, integers, booleans, strings."""
    random = np.random.default_rng(7)
    codes = random.integers(0, 20, rows)
    return pa.table(
        {
            "t": np.arange(rows),
            "x": random.random(rows) + 0.5,
            "y": random.normal(size=rows),
            "i": random.integers(0, 1_000_000, rows),
            "b": random.random(rows) < 0.3,
            "w": pa.array([f"w{code}" for code in codes]),
            "c": pa.array([f"c{code % 3}" for code in codes]),
        }
    )


def measure(sizes: Sizes) -> list[Row]:
    """Measure every operator at every window, then the median and the memory."""
    table = table_of(sizes.rows)
    results: list[Row] = []
    for name in NAMED:
        for window in sizes.windows[:1] if RECORDS[name].own_window else sizes.windows:
            if window <= min(sizes.rows, _LARGEST.get(name, sizes.rows)):
                results += _rows_windows(name, window, table, sizes)
    for window in sizes.median:
        results += _time_windows(window, sizes)
    if Path("/proc/self/status").exists():
        results.append(_memory(sizes.rows, max(sizes.windows)))
    return results


def column_of(name: str, window: int) -> Over:
    """Return an operator over columns of the table and a rows window, or over its own window."""
    make: Any = NAMED[name]
    operator = make(*_COLUMNS.get(name, ("x",)), **_OPTIONS.get(name, {}))
    over: Over = operator if RECORDS[name].own_window else operator.over(window)
    return over


def _rows_windows(name: str, window: int, table: Any, sizes: Sizes) -> list[Row]:
    column = column_of(name, window)
    definition = sf.rolling(on="t", order="input", r=column)
    used = table.select(list(dict.fromkeys(("t", *column.columns))))
    runs: dict[str, Callable[[Any], object]] = {"slidefold": definition.run}
    for library, peer in peers(name).items():
        runs[library] = lambda rows, peer=peer: peer(rows, window)  # type: ignore[misc]
    taken = {
        side: (used if side == "slidefold" else table).slice(0, _affordable(run, table, sizes))
        for side, run in runs.items()
    }
    sides: dict[str, Side] = {
        side: lambda run=run, rows=taken[side]: run(rows)  # type: ignore[misc]
        for side, run in runs.items()
    }
    place = {"part": "rows", "operator": name, "window": window}
    return [
        {**place, "side": side, **_rates(len(taken[side]), timing.seconds)}
        for side, timing in best_of(sides, rounds=sizes.rounds, seconds=sizes.seconds).items()
    ]


def _affordable(run: Callable[[Any], object], table: Any, sizes: Sizes) -> int:
    """Return how many rows a side gets: all, or as many as it processes in its seconds."""
    rows = min(2_000, len(table))
    run(table.slice(0, min(20, rows)))  # some libraries compile on the first call
    while rows < len(table):
        start = perf_counter()
        run(table.slice(0, rows))
        if (perf_counter() - start) * 10 > sizes.seconds:
            break
        rows = min(rows * 10, len(table))
    return rows


def _rates(rows: int, seconds: float) -> Row:
    return {
        "rows": rows,
        "ns_per_row": seconds / rows * 1e9,
        "million_rows_per_second": rows / seconds / 1e6,
    }


def _time_windows(window: int, sizes: Sizes) -> list[Row]:
    """Measure the exact median over time windows, also with pandas and Polars."""
    random = np.random.default_rng(8)
    times = pa.array(np.arange(sizes.rows) * _STEP).cast(pa.timestamp("us"))
    table = pa.table({"ts": times, "x": random.random(sizes.rows)})
    length = f"{window * _STEP}us"
    definition = sf.rolling(on="ts", r=sf.median("x").over(length))
    sides: dict[str, Side] = {"slidefold": lambda: definition.run(table)}
    others = time_peers(table, "median", False, length, True)
    sides |= {name: side for name, side in others if name in ("pandas", "polars")}
    place = {"part": "time median", "operator": "median", "window": window}
    return [
        {**place, "side": side, **_rates(sizes.rows, timing.seconds)}
        for side, timing in best_of(sides, rounds=sizes.rounds, seconds=sizes.seconds).items()
    ]


_MEMORY = """
import sys
import numpy as np
import pyarrow as pa
import slidefold as sf
rows, window = int(sys.argv[1]), int(sys.argv[2])
definition = sf.rolling(on="t", order="input", r=sf.approx_distinct("i").over(window))
definition.run(pa.table({"t": np.arange(1000), "i": np.arange(1000)}))
table = pa.table({"t": np.arange(rows), "i": np.arange(rows)})
before = largest()
definition.run(table)
print((largest() - before) / 2**20)
"""


def _memory(rows: int, window: int) -> Row:
    """Measure how much distinct counts add to the peak memory of a process, with the result."""
    (megabytes,) = measured_apart(_MEMORY, rows, window)
    place = {"part": "memory", "operator": "approx_distinct", "window": window}
    return {**place, "side": "slidefold", "megabytes": megabytes}


def show(rows: list[Row]) -> str:
    """Format one table per window, then the median over time windows."""
    tables = []
    timed = [row for row in rows if "ns_per_row" in row]
    for part, window in dict.fromkeys((row["part"], row["window"]) for row in timed):
        chosen = [row for row in timed if (row["part"], row["window"]) == (part, window)]
        title = f"{part} windows of {window}: nanoseconds per row"
        tables.append(pivot(title, chosen, down="operator", across="side", value="ns_per_row"))
    return "\n".join(tables)
