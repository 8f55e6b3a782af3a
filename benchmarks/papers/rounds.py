"""Rounds of evict, insert and query, timed inside native code, with the papers' names of sides.

A side is a name such as two_stacks_lite, fiba4 or btree8. fiba2, fiba4 and fiba8 have the papers'
arities, at most twice the least; `fiba` is our default with wider nodes. With `counted=True` a side
counts its combines instead of nanoseconds: that number is the same on every machine.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import slidefold as sf
from benchmarks.figures.latency import Summary
from benchmarks.harness import Row
from benchmarks.workloads import Array, column
from slidefold import algorithms
from slidefold.algorithms import BTree, Fiba

COLUMN = 2**16  # rows of the column that rounds read again and again
OPERATORS: dict[str, Callable[[], sf.Operator]] = {
    "sum": sf.sum,
    "geomean": sf.geomean,
    "bloom": lambda: sf.bloom(dtype="int64"),
    "max": sf.max,
    "std": sf.std,
    "relative_variation": sf.relative_variation,
    "moments": lambda: sf.moments(k=10),
}
PAPER_OPERATORS = ("sum", "geomean", "bloom")
# A Bloom filter of 2^14 bits keeps 2 KiB per aggregate.
LARGEST_BLOOM = 2**20
LEVELS = (0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 99.999, 100)

Side = Callable[[], int]


def make(side: str, operator: sf.Operator, *, counted: bool = False, **options: Any) -> Any:
    """Return an empty window of a side."""
    for kind in ("fiba", "btree"):
        if side.startswith(kind):
            least = int(side.removeprefix(kind) or 4)
            if kind == "btree":
                return BTree(operator, min_arity=least, counted=counted)
            most = 4 * least if side == kind else 2 * least
            return Fiba(operator, min_arity=least, max_arity=most, counted=counted)
    return algorithms.REGISTRY[side](operator, counted=counted, **options)


def operator_values(operator: str, rows: int = COLUMN) -> Array:
    """Return values for an operator of this module."""
    return column(rows, operator)


def rounds(
    side: str,
    operator: str,
    *,
    values: Array | None = None,
    counted: bool = False,
    options: Mapping[str, Any] | None = None,
    over_time: tuple[Array, int] | None = None,
    leaving: Array | None = None,
    **plan: Any,
) -> Array:
    """Run rounds and return nanoseconds or combines: one number, or one per round."""
    window = make(side, OPERATORS[operator](), counted=counted, **(options or {}))
    column_ = operator_values(operator) if values is None else values
    plan["count_combines"] = counted
    if over_time is not None:
        times, length = over_time
        return np.asarray(window._rounds(column_, plan, times, length))
    if leaving is not None:
        return np.asarray(window._rounds(column_, plan, leaving))
    return np.asarray(window._rounds(column_, plan))


def total(side: str, operator: str, **plan: Any) -> int:
    """Return the nanoseconds, or the combines, of a whole run."""
    return int(rounds(side, operator, **plan)[0])


def in_turns(sides: Mapping[str, Side], turns: int) -> dict[str, int]:
    """Run all sides in turns and return the best time of each."""
    best: dict[str, int] = {}
    gc.collect()
    names = list(sides)
    for turn in range(turns):
        shift = turn % max(len(names), 1)
        for name in names[shift:] + names[:shift]:
            taken = sides[name]()
            best[name] = min(best.get(name, taken), taken)
    return best


def speeds(sides: Mapping[str, Side], items: int, turns: int) -> list[Row]:
    """Return one row per side: nanoseconds per item and items per second."""
    return [
        {"side": side, "ns": taken / items, "million_per_second": 1e3 * items / max(taken, 1)}
        for side, taken in in_turns(sides, turns).items()
    ]


def distribution(steps: Sequence[Array]) -> Row:
    """Return the quantiles of steps in nanoseconds; of several runs each step's best one counts."""
    summary = Summary()
    for run in steps:
        summary.add(run)
    assert summary.best is not None
    quantiles = np.percentile(summary.best, LEVELS, method="higher")
    return {
        "quantiles": [int(value) for value in quantiles],
        "mean": float(summary.best.mean()),
        "std": float(summary.best.std()),
        "min": int(summary.best.min()),
        "median": int(np.percentile(summary.best, 50)),
        "p999": int(np.percentile(summary.best, 99.9, method="higher")),
        "max": int(summary.best.max()),
        "raw_max": summary.raw_max,
    }


def latencies(sides: Mapping[str, Callable[[], Array]], turns: int) -> list[Row]:
    """Return the distribution of the steps of each side, which take turns."""
    runs: dict[str, list[Array]] = {name: [] for name in sides}
    for _ in range(turns):
        for name, run in sides.items():
            runs[name].append(run())
    return [{"side": name, **distribution(steps)} for name, steps in runs.items()]


def combines(side: str, operator: str = "sum", **plan: Any) -> Row:
    """Count the combines of each round: the average and the worst."""
    per_round = rounds(side, operator, counted=True, timed="round", **plan)
    return {
        "side": side,
        "combines": float(per_round.mean()),
        "worst_combines": int(per_round.max()),
    }
