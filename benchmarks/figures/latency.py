"""The time of single steps, measured in native code: evict, insert, query of a full window.

The machine interrupts some steps of every round. So there are several rounds, and a quantile is the
smallest over the rounds. `steady_max_ns` is the slowest step when each step counts with its best
round. `raw_max_ns` is the slowest step of all rounds, including noise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import slidefold as sf
from benchmarks.harness import Row, power, table
from benchmarks.workloads import Array, column, event_algorithms

QUANTILES = {"p50_ns": 50.0, "p99_9_ns": 99.9, "p99_999_ns": 99.999, "max_ns": 100.0}
OPERATORS: dict[str, Callable[[], sf.Operator]] = {
    "sum": sf.sum,
    "max": sf.max,
    "sum_int64": lambda: sf.sum(dtype="int64"),
}
LEFT_OUT = ("recalc",)  # n - 1 combines per step would take hours


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    windows: tuple[int, ...]
    steps: int  # at least; more steps than the window has rows cover all phases of an algorithm
    rounds: int


SIZES = {
    "full": Sizes((2**14, 2**22), 2**20, 5),
    "quick": Sizes((2**14, 2**20), 2**18, 3),
    "smoke": Sizes((2**6,), 2**8, 2),
}


def measure(sizes: Sizes) -> list[Row]:
    """Run every algorithm in turns; subtract-on-evict on integers, the others on floats."""
    rows: list[Row] = []
    for operator, make in OPERATORS.items():
        sides = {
            name: algorithm(make())
            for name, algorithm in event_algorithms(make()).items()
            if name not in LEFT_OUT and (operator != "sum_int64" or name == "subtract_on_evict")
        }
        for window in sizes.windows:
            values = column(window + max(sizes.steps, window + window // 4), operator)
            summaries = {name: Summary() for name in sides}
            for _ in range(sizes.rounds):
                for name, ready in sides.items():
                    summaries[name].add(ready.latencies(values, window))
            rows += (
                {"operator": operator, "window": window, "side": name, **summary.row()}
                for name, summary in summaries.items()
            )
    return rows


class Summary:
    """The rounds of one side, without keeping them all."""

    def __init__(self) -> None:
        self.rounds = 0
        self.least = dict.fromkeys(QUANTILES, float(sys.maxsize))
        self.raw_max = 0
        self.best: Array | None = None

    def add(self, steps: Array) -> None:
        """Add a round: the nanoseconds of every step."""
        self.rounds += 1
        self.best = steps.copy() if self.best is None else np.minimum(self.best, steps)
        self.raw_max = max(self.raw_max, int(steps.max()))
        quantiles = np.percentile(steps, list(QUANTILES.values()), method="higher")
        for name, value in zip(QUANTILES, quantiles, strict=True):
            self.least[name] = min(self.least[name], float(value))

    def row(self) -> Row:
        """Return the reported values."""
        assert self.best is not None
        return {
            "steps": len(self.best),
            "rounds": self.rounds,
            **self.least,
            "steady_max_ns": int(self.best.max()),
            "raw_max_ns": self.raw_max,
        }


def show(rows: list[Row]) -> str:
    """Format one table per window size and operator: algorithms down, quantiles across."""
    parts = []
    for window, operator in dict.fromkeys((row["window"], row["operator"]) for row in rows):
        title = f"{operator}, n = {power(window)}: nanoseconds per step, best of the rounds"
        chosen = [row for row in rows if (row["window"], row["operator"]) == (window, operator)]
        columns = [*QUANTILES, "steady_max_ns", "raw_max_ns"]
        header = ["p50", "p99.9", "p99.999", "max", "steady max", "raw max"]
        body = [[row["side"], *(row[name] for name in columns)] for row in chosen]
        parts.append(table(title, ["algorithm", *header], body))
    return "\n".join(parts)
