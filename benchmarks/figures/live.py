"""Rows in order of arrival: what a row costs, by how many rows the windows hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks.harness import Row, pivot

KEYS = 100
BATCH = 1_000


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    held: tuple[int, ...]
    rounds: int
    operators: int  # how many, 0 for all


SIZES = {
    "full": Sizes((1_000, 10_000, 100_000, 1_000_000), 12, 0),
    "quick": Sizes((1_000, 100_000), 8, 0),
    "smoke": Sizes((1_000, 2_000), 1, 3),
}


@sf.operator(state={"n": "i8", "sum": "f8"}, returns="f8")
class Own(sf.Fold):
    """A mean, compiled."""

    identity = staticmethod(lambda: (0, 0.0))
    lift = staticmethod(lambda x: (1, x))
    combine = staticmethod(lambda older, newer: (older.n + newer.n, older.sum + newer.sum))
    lower = staticmethod(lambda state: state.sum / state.n)


# By name: the operator, and whether its result or its state grows with the window.
OPERATORS: dict[str, tuple[Any, str]] = {
    "count": (sf.count(), "fold"),
    "sum": (sf.sum("x"), "fold"),
    "mean": (sf.mean("x"), "fold"),
    "geomean": (sf.geomean("x"), "fold"),
    "var": (sf.var("x"), "fold"),
    "min": (sf.min("x"), "fold"),
    "max": (sf.max("x"), "fold"),
    "max of strings": (sf.max("word"), "fold"),
    "max_count": (sf.max_count("n"), "fold"),
    "max_by": (sf.max_by("word", "x"), "fold"),
    "range": (sf.range("x"), "fold"),
    "relative_variation": (sf.relative_variation("x"), "fold"),
    "m4": (sf.m4("x"), "fold"),
    "first": (sf.first("word"), "fold"),
    "last": (sf.last("x"), "fold"),
    "nth": (sf.nth("x", 3), "fold"),
    "any": (sf.any("flag"), "fold"),
    "bit_or": (sf.bit_or("n"), "fold"),
    "histogram": (sf.histogram("x", edges=(0.0, 0.5, 1.0)), "fold"),
    "top_k": (sf.top_k("x", 5), "fold"),
    "covariance": (sf.covariance("x", "y"), "fold"),
    "correlation": (sf.correlation("x", "y"), "fold"),
    "trend": (sf.trend("x", "y"), "fold"),
    "decayed_mean": (sf.decayed_mean("x", "y", half_life=10.0), "fold"),
    "a compiled operator": (Own("x"), "fold"),
    "median": (sf.median("x"), "order"),
    "quantile": (sf.quantile("n", 0.9), "order"),
    "approx_distinct": (sf.approx_distinct("n"), "sketch"),
    "bloom": (sf.bloom("n", bits=1024, hashes=4), "sketch"),
    "count_min": (sf.count_min("n", epsilon=0.05, confidence=0.9), "sketch"),
    "moments": (sf.moments("x", k=6), "sketch"),
}
WINDOWS: dict[str, Callable[[int], Any]] = {
    "time": sf.time,
    "rows": lambda held: sf.rows(max(1, held // KEYS)),
    "session": lambda held: sf.session(100 * KEYS),
    "delta": lambda held: sf.delta(held, on="km"),
    "punctuated": lambda held: sf.punctuated("mark"),
}


def _cells(sizes: Sizes) -> Iterator[tuple[str, str, str, float]]:
    chosen = list(OPERATORS)[: sizes.operators or None]
    for operator in chosen:
        for emit, late in (("final", 0.0), ("arrival", 0.0), ("arrival", 0.05)):
            yield operator, "time", emit, late
    for window in list(WINDOWS)[1 : sizes.operators or None]:
        for operator in ("sum", "max_by", "median"):
            if operator in chosen or not sizes.operators:
                yield operator, window, "arrival", 0.0


def measure(sizes: Sizes) -> list[Row]:
    """Feed batches of 1,000 rows of 100 keys to windows that hold more and more rows."""
    results: list[Row] = []
    for operator, window, emit, late in _cells(sizes):
        for held in sizes.held:
            cost, nbytes = _cost(operator, window, emit, late, held, sizes.rounds)
            results.append(
                {
                    "operator": operator,
                    "kind": OPERATORS[operator][1],
                    "window": window,
                    "emit": emit,
                    "late": late,
                    "held": held,
                    "us_per_row": cost,
                    "bytes_per_row": nbytes,
                }
            )
    return results


def _cost(
    operator: str, window: str, emit: str, late: float, held: int, rounds: int
) -> tuple[float, float]:
    random = np.random.default_rng(7)
    over = OPERATORS[operator][0].over(WINDOWS[window](held))
    live = sf.rolling(on="t", by="k", f=over).live(lateness=500, emit=emit)

    def batch(start: int, count: int) -> Any:
        times = np.arange(start, start + count)
        if late:
            times = times - np.where(random.random(count) < late, random.integers(0, 400, count), 0)
        x = random.random(count)
        return pa.table(
            {
                "t": times,
                "k": random.integers(0, KEYS, count),
                "x": x,
                "y": random.random(count),
                "n": random.integers(0, 1_000, count),
                "word": [f"w{value}" for value in random.integers(0, 100, count)],
                "flag": x > 0.5,
                "km": times,
                "mark": random.random(count) < min(1.0, KEYS / held),
            }
        )

    start = 0
    while start < held:
        count = min(50_000, held - start)
        live.feed(batch(start, count))
        start += count
    best = float("inf")
    for _ in range(rounds):
        rows = batch(start, BATCH)
        start += BATCH
        begin = time.perf_counter()
        live.feed(rows)
        best = min(best, time.perf_counter() - begin)
    return best / BATCH * 1e6, live.nbytes / max(held, 1)


def show(rows: list[Row]) -> str:
    """Format a table per kind of run: us per row by rows held."""
    tables = []
    for emit, late in (("final", 0.0), ("arrival", 0.0), ("arrival", 0.05)):
        chosen = [r for r in rows if (r["emit"], r["late"]) == (emit, late)]
        named = [{**r, "what": f"{r['operator']} over {r['window']}"} for r in chosen]
        said = "in order" if not late else f"{late:.0%} late"
        title = f"live.feed, emit={emit!r}, {said}: us per row, by rows held"
        tables.append(pivot(title, named, down="what", across="held", value="us_per_row"))
    return "\n".join(tables)
