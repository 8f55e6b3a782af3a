"""Single events, questions and small batches: ten features by key."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks.harness import Row, table

SCHEMA = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.float64(), "n": pa.string()})


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    events: int
    keys: int
    batches: int
    rounds: int


SIZES = {
    "full": Sizes(200_000, 10_000, 1_000, 5),
    "quick": Sizes(50_000, 10_000, 200, 3),
    "smoke": Sizes(500, 20, 3, 1),
}


def features(count: int) -> dict[str, Any]:
    """Return features over three time windows and one of rows, with a max_by and a median."""
    short, middle, long = sf.time(100_000), sf.time(1_000_000), sf.time(5_000_000)
    every = {
        "sum_short": sf.sum("x").over(short),
        "mean_short": sf.mean("x").over(short),
        "count_short": sf.count().over(short),
        "sum_middle": sf.sum("x").over(middle),
        "max_middle": sf.max("x").over(middle),
        "mean_long": sf.mean("x").over(long),
        "std_long": sf.std("x").over(long),
        "mean_rows": sf.mean("x").over(20),
        "top": sf.max_by("n", "x").over(middle),
        "middle": sf.median("x").over(middle),
    }
    return dict(list(every.items())[:count])


def measure(sizes: Sizes) -> list[Row]:
    """Time push, ask and feed; river's statistics of one key beside them, if it is installed."""
    random = np.random.default_rng(3)
    keys = [f"card{key}" for key in random.integers(0, sizes.keys, sizes.events)]
    words = [f"m{word}" for word in random.integers(0, 50, sizes.events)]
    reals = random.random(sizes.events).tolist()
    events = [
        {"t": 10 * i, "k": keys[i], "x": reals[i], "n": words[i]} for i in range(sizes.events)
    ]
    results: list[Row] = []

    def note(what: str, cost: float) -> None:
        results.append({"what": what, "us": cost})

    for emit in ("arrival", "final"):
        live = _live(10, emit)
        note(f"push, {emit}", _each(live.push, events, sizes.rounds))
    note("ask one key", _each(live.ask, [{"k": key} for key in keys], sizes.rounds))
    asked = pa.table({"k": keys[: min(1_000, len(keys))]})
    best = min(_timed(live.ask, asked) for _ in range(3 * sizes.rounds))
    note("ask 1,000 keys, per key", best / len(asked) * 1e6)
    for count in (2, 10):
        for emit in ("arrival", "final"):
            live = _live(count, emit)
            tables = [pa.Table.from_pylist([event], SCHEMA) for event in events[:3_000]]
            note(f"feed one row, {count} features, {emit}", _each(live.feed, tables, sizes.rounds))
    for keys_held in (100, 10_000):
        one, ten = (_batches(count, keys_held, sizes.batches) for count in (1, 10))
        note(f"feed 1,000 rows, {keys_held:,} keys: first feature, per row", one)
        note(f"feed 1,000 rows, {keys_held:,} keys: each further, per row", (ten - one) / 9)
    note("a row 200 places late in its key", _late(sizes))
    note("sf.Window(median), 10,000 places late", _late_median(sizes))
    if find_spec("river") is not None:
        note("river: ten statistics of one key", _river(reals, sizes.rounds))
    return results


def _live(count: int, emit: str) -> Any:
    return sf.rolling(on="t", by="k", **features(count)).live(
        lateness=1_000, emit=emit, schema=SCHEMA
    )


def _timed(call: Callable[[Any], Any], value: Any) -> float:
    start = time.perf_counter()
    call(value)
    return time.perf_counter() - start


def _each(call: Callable[[Any], Any], values: list[Any], rounds: int) -> float:
    """Return the cost of one call in us, the best of several runs through a part of the values."""
    part = max(1, len(values) // rounds)
    best = float("inf")
    for first in range(0, part * rounds, part):
        chosen = values[first : first + part]
        start = time.perf_counter()
        for value in chosen:
            call(value)
        best = min(best, (time.perf_counter() - start) / len(chosen))
    return best * 1e6


def _batches(count: int, keys: int, batches: int) -> float:
    """Return the us per row of batches of 1,000 rows, once windows hold 100 rows per key."""
    random = np.random.default_rng(4)
    live = sf.rolling(on="t", by="k", **features(count)).live(lateness=10, emit="arrival")
    best = float("inf")
    for batch in range(batches):
        times = (np.arange(1_000) + 1_000 * batch) * 10
        chosen = random.integers(0, keys, 1_000)
        rows = pa.table({"t": times, "k": chosen, "x": random.random(1_000), "n": chosen % 50})
        cost = _timed(live.feed, rows)
        if batch >= batches - max(1, batches // 20):
            best = min(best, cost)
    return best / 1_000 * 1e6


def _late(sizes: Sizes) -> float:
    """Return the us per row of rows that have 200 newer ones of their key."""
    definition = sf.rolling(on="t", by="k", **features(10))
    live = definition.live(lateness=10**9, emit="arrival", schema=SCHEMA)
    count = min(sizes.events, 20_000)
    for i in range(count):
        live.push({"t": 1_000 * i, "k": "a", "x": 0.5, "n": "m"})
    late = [
        {"t": 1_000 * (count - 200) + 3 * i, "k": "a", "x": 0.25, "n": "m"}
        for i in range(min(300, count))
    ]
    return _each(live.push, late, sizes.rounds)


def _late_median(sizes: Sizes) -> float:
    """Return the us per event of a window of time in which every other event is late."""
    count = min(sizes.events, 60_000)
    late = min(10_000, count // 4)
    window = sf.Window(sf.median(), sf.time(late), lateness=late + 1)
    values = np.random.default_rng(6).random(count).tolist()
    half = count // 2
    for i in range(half):
        window.push(i, values[i])

    def push(i: int) -> None:
        window.push(i if i % 2 else i - late, values[i])

    return _each(push, list(range(half, count)), sizes.rounds)


def _river(values: list[float], rounds: int) -> float:
    from river import stats, utils

    kept: list[Any] = [
        utils.Rolling(kind, window_size=100) for kind in (stats.Sum, stats.Mean, stats.Var)
    ]
    kept += [utils.Rolling(kind, window_size=1_000) for kind in (stats.Mean, stats.Sum)]
    kept += [stats.RollingMax(100), stats.RollingMin(100), stats.RollingQuantile(0.5, 100)]
    kept += [stats.Count(), stats.RollingMax(1_000)]

    def update(value: float) -> None:
        for each in kept:
            each.update(value)
            each.get()

    return _each(update, values[:20_000], rounds)


def show(rows: list[Row]) -> str:
    """Format one table."""
    cells = [[row["what"], row["us"]] for row in rows]
    return table("Ten features by key, events one by one and in batches", ["what", "us"], cells)
