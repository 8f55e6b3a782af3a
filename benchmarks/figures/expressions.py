"""What expressions, conditions and the operators of counts cost over columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks.harness import Row, Side, best_of, table


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int
    window: int  # rows that a window of counts holds
    rounds: int
    seconds: float  # for each side


SIZES = {
    "full": Sizes(1_000_000, 100_000, 9, 8.0),
    "quick": Sizes(1_000_000, 100_000, 3, 2.0),
    "smoke": Sizes(500, 50, 1, 0.1),
}
LENGTHS = (100, 300, 1_000, 3_000, 10_000)


def measure(sizes: Sizes) -> list[Row]:
    """Time windows with and without expressions, in turns."""
    random = np.random.default_rng(5)
    rows = sizes.rows
    data = pa.table(
        {
            "t": np.arange(rows),
            "x": random.random(rows),
            "y": random.random(rows),
            "few": random.random(rows) < 0.01,
            "word": random.integers(0, 5_000, rows),
        }
    )
    results: list[Row] = []

    def note(what: str, cost: float, base: float | None = None) -> None:
        ratio = None if base is None else cost / base
        results.append({"what": what, "ns_per_row": cost / rows * 1e9, "ratio": ratio})

    windows: dict[str, Any] = {}
    for length in LENGTHS:
        windows[f"sum_{length}"] = sf.sum("x").over(sf.time(length))
        windows[f"mean_{length}"] = sf.mean("y").over(sf.time(length))
    ratios = {f"r_{n}": sf.col("x") / windows[f"mean_{n}"] - 1 for n in LENGTHS}
    plain = sf.rolling(on="t", **windows)
    both = sf.rolling(on="t", **windows, **ratios)
    few = sf.rolling(on="t", s=sf.sum("x").where("few").over(sf.time(1_000)))
    every = sf.rolling(on="t", s=sf.sum("x").over(sf.time(1_000)))
    sides: dict[str, Side] = {
        "ten windows": lambda: plain.run(data),
        "ten windows and five ratios": lambda: both.run(data),
        "sum": lambda: every.run(data),
        "sum where 1% of the rows pass": lambda: few.run(data),
    }
    times = best_of(sides, rounds=sizes.rounds, seconds=sizes.seconds)
    bases = {"ten windows and five ratios": "ten windows", "sum where 1% of the rows pass": "sum"}
    for name in sides:
        base = bases.get(name)
        note(name, times[name].seconds, None if base is None else times[base].seconds)
    counting = {
        "distinct": sf.distinct("word"),
        "mode": sf.mode("word"),
        "entropy": sf.entropy("word"),
        "rank": sf.rank("x"),
        "most_frequent": sf.most_frequent("word", k=3),
    }
    sides = {
        name: _runs(sf.rolling(on="t", c=operator.over(sf.time(sizes.window))), data)
        for name, operator in counting.items()
    }
    times = best_of(sides, rounds=max(1, sizes.rounds // 3), seconds=sizes.seconds)
    for name in counting:
        note(name, times[name].seconds)
    return results


def _runs(definition: sf.Rolling, data: Any) -> Any:
    return lambda: definition.run(data)


def show(rows: list[Row]) -> str:
    """Format one table."""
    cells = [[row["what"], row["ns_per_row"], row["ratio"]] for row in rows]
    title = "Expressions, conditions and counts over columns"
    return table(title, ["what", "ns per row", "ratio"], cells)
