"""`sf.rolling` over whole tables: Polars, pandas, DuckDB, bottleneck and hand-written numba."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks import column_peers
from benchmarks.harness import Row, Side, best_of, measured_apart, pivot

# One thread per side; Polars reads this once, on import.
os.environ.setdefault("POLARS_MAX_THREADS", "1")


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int
    windows: tuple[int, ...]  # average rows per window
    keys: tuple[int, ...]
    rounds: int
    seconds: float  # for each side


SIZES = {
    "full": Sizes(1_000_000, (10, 1_000, 100_000), (1, 1_000, 100_000), 5, 4.0),
    "quick": Sizes(1_000_000, (10, 1_000), (1, 1_000), 3, 1.0),
    "smoke": Sizes(500, (10,), (1, 5), 1, 0.1),
}
OPERATORS = ("sum", "max", "std")
STEP = 10_000  # microseconds from one row to the next, on average


def table_of(rows: int, keys: int, late: float = 0.0) -> Any:
    """Return rows in time order except for late ones, with random keys."""
    random = np.random.default_rng(5)
    times = np.sort(random.integers(0, rows * STEP, rows))
    moved = random.random(rows) < late
    times[moved] -= random.integers(0, 600 * STEP, moved.sum())
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us")),
            "k": random.integers(0, keys, rows),
            "x": random.normal(size=rows),
        }
    )


def measure(sizes: Sizes) -> list[Row]:
    """Measure all parts, one after another."""
    results: list[Row] = []

    def add(part: str, place: Row, sides: dict[str, Side]) -> None:
        for side, timing in best_of(sides, rounds=sizes.rounds, seconds=sizes.seconds).items():
            milliseconds = 1e3 * timing.seconds * 1e6 / sizes.rows
            results.append({"part": part, **place, "side": side, "ms_per_million": milliseconds})

    for keys in sizes.keys:
        table = table_of(sizes.rows, keys)
        for window in sizes.windows:
            if window * keys > sizes.rows:
                continue
            for operator in OPERATORS:
                place = {"operator": operator, "keys": keys, "window": window}
                add("time window", place, dict(_time_sides(table, operator, keys, window)))
    table = table_of(sizes.rows, 1)
    for window in sizes.windows:
        place = {"operator": "max", "keys": 1, "window": window}
        add("rows window", place, dict(_rows_sides(table, window)))
    for keys in sizes.keys[:2]:
        late = table_of(sizes.rows, keys, 0.05)
        place = {"operator": "sum", "keys": keys, "window": 1_000}
        add("5% late", place, dict(_time_sides(late, "sum", keys, 1_000)))
    for keys in sizes.keys[:2]:
        table = table_of(sizes.rows, keys)
        for count in (1, 2, 3, 6):
            definition = _six(keys, count)
            place = {"operator": "sum", "keys": keys, "window": count}
            add("windows", place, {"slidefold": lambda d=definition, t=table: d.run(t)})  # type: ignore[misc]
    for threads in (1, 2):
        definition = _six(1, 6)
        place = {"operator": "sum", "keys": 1, "window": threads}
        table = table_of(sizes.rows, 1)
        run = lambda n=threads, d=definition, t=table: d.run(t, threads=n)  # noqa: E731
        add("threads", place, {"slidefold": run})
    results += [_memory(sizes.rows, keys) for keys in sizes.keys[:2]]
    return results


def _duration(window: int, keys: int) -> str:
    return f"{window * keys * STEP}us"


def _time_sides(table: Any, operator: str, keys: int, window: int) -> Iterator[tuple[str, Side]]:
    length = _duration(window, keys)
    column = getattr(sf, operator)("x").over(length)
    definition = sf.rolling(on="ts", by="k" if keys > 1 else (), r=column)
    yield "slidefold", lambda: definition.run(table)
    in_order = bool(np.all(np.diff(table["ts"].to_numpy().view(np.int64)) >= 0))
    yield from column_peers.time_peers(table, operator, keys > 1, length, in_order)


def _rows_sides(table: Any, window: int) -> Iterator[tuple[str, Side]]:
    definition = sf.rolling(on="ts", order="input", r=sf.max("x").over(window))
    yield "slidefold", lambda: definition.run(table)
    yield from column_peers.rows_peers(table, window)


def _six(keys: int, count: int) -> Any:
    windows = (10, 30, 100, 300, 1_000, 3_000)[:count]
    columns = {f"r{w}": sf.sum("x").over(_duration(w, keys)) for w in windows}
    return sf.rolling(on="ts", by="k" if keys > 1 else (), columns=columns)


_MEMORY = """
import sys
from benchmarks.figures.rolling import table_of, _six
rows, keys = int(sys.argv[1]), int(sys.argv[2])
definition = _six(keys, 1)
definition.run(table_of(1000, keys))
table = table_of(rows, keys)
before = largest()
result = definition.run(table)
print(largest() - before, table.nbytes, result.nbytes)
"""


def _memory(rows: int, keys: int) -> Row:
    """Measure how much a run adds to the peak memory of a process."""
    grown, given, result = measured_apart(_MEMORY, rows, keys)
    return {
        "part": "memory",
        "operator": "sum",
        "keys": keys,
        "window": 0,
        "side": "slidefold",
        "grown": grown,
        "due": 2 * given + result - given,  # the target; the input is in memory before the run
    }


def show(rows: list[Row]) -> str:
    """Format one table per part."""
    tables = []
    for part in dict.fromkeys(row["part"] for row in rows):
        chosen = [row for row in rows if row["part"] == part]
        if part == "memory":
            continue
        lines = [
            {**row, "what": f"{row['operator']}, {row['keys']} keys, {row['window']}"}
            for row in chosen
        ]
        title = f"{part}: ms per million rows"
        tables.append(pivot(title, lines, down="what", across="side", value="ms_per_million"))
    return "\n".join(tables)
