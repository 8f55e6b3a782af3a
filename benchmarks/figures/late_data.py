"""Trees by time: slides per second by distance of late events, by window and by bulk size.

A slide inserts one event, evicts expired events and queries the window. `distance`: every other
event arrives that many events after its place in time, so that the tree changes that far from its
young end; `random` draws the delay evenly up to it. `bulk`: so many events are inserted and evicted
at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import slidefold as sf
from benchmarks.harness import Row, Side, best_of, pivot
from benchmarks.workloads import Array, column
from slidefold.algorithms import BTree, DabaLite, Fiba


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    window: int  # of the distance and bulk parts
    windows: tuple[int, ...]
    slides: int
    distances: tuple[int, ...]
    bulks: tuple[int, ...]
    rounds: int
    steps: int  # of the latency part


SIZES = {
    "full": Sizes(
        2**22,
        (2**10, 2**14, 2**18, 2**22),
        2**21,
        (0, 2**4, 2**7, 2**10, 2**13, 2**16, 2**20),
        (1, 2, 4, 16, 64, 2**8, 2**10, 2**12, 2**14, 2**16, 2**18),
        3,
        3000,
    ),
    "quick": Sizes(2**18, (2**10, 2**18), 2**19, (0, 2**4, 2**10, 2**16), (1, 16, 2**10), 2, 300),
    "smoke": Sizes(2**7, (2**6,), 2**8, (0, 2**4), (1, 8), 1, 10),
}


TITLES = {"bytes an entry": "bytes per entry"}  # recorded names that read better in a table


def arrival(rows: int, distance: int, *, spread: bool = False) -> Array:
    """Return times of `rows` events, every other one `distance` events late, or up to it."""
    places = np.arange(rows, dtype=np.int64)
    delay = np.where(places % 2 == 1, distance, 0)
    if spread:
        delay = np.random.default_rng(5).integers(0, distance + 1, rows)
    order = np.argsort(places + delay, kind="stable")
    return np.ascontiguousarray(places[order])


def _runs(sizes: Sizes) -> list[tuple[dict[str, Any], dict[str, Side], int]]:
    """Return the cases: their keys, their sides, and the number of slides."""
    runs: list[tuple[dict[str, Any], dict[str, Side], int]] = []
    rows = sizes.window + sizes.slides
    values = column(rows)
    for kind, spread in (("constant", False), ("random", True)):
        for distance in sizes.distances:
            times = arrival(rows, distance, spread=spread)
            sides: dict[str, Side] = {
                "fiba": partial(Fiba(sf.sum()).slide, times, values, sizes.window)
            }
            if kind == "constant" and distance in (0, 2**10):
                sides["btree"] = partial(BTree(sf.sum()).slide, times, values, sizes.window)
            keys = {"part": f"distance, {kind}", "x": distance, "window": sizes.window}
            runs.append((keys, sides, rows))
    for window in sizes.windows:
        rows = window + sizes.slides
        times = np.arange(rows, dtype=np.int64)
        values = column(rows)
        sides = {
            "fiba": partial(Fiba(sf.sum()).slide, times, values, window),
            "daba_lite": partial(DabaLite(sf.sum()).slide, values, window),
        }
        runs.append(({"part": "window, in order", "x": window, "window": window}, sides, rows))
    for part, distance in (("bulk, in order", 0), ("bulk, late", 2**10)):
        rows = sizes.window + sizes.slides
        times, values = arrival(rows, distance), column(rows)
        for bulk in sizes.bulks:
            run = partial(Fiba(sf.sum()).slide, times, values, sizes.window, bulk=bulk)
            sides = {"fiba": run}
            if bulk == 1:
                sides = {"fiba": run, "loop": run}
            runs.append(({"part": part, "x": bulk, "window": sizes.window}, sides, rows))
    return runs


def measure(sizes: Sizes) -> list[Row]:
    """Time all cases in turns; then the latency of bulks, sharing, and bytes."""
    rows: list[Row] = []
    for keys, sides, count in _runs(sizes):
        for side, timing in best_of(sides, rounds=sizes.rounds, seconds=0.1).items():
            speed = count / timing.seconds / 1e6
            rows.append({**keys, "side": side, "million_slides_per_second": speed})
    return [*rows, *latencies(sizes), *sharing(sizes), *memory(sizes)]


def latencies(sizes: Sizes) -> list[Row]:
    """Time bulk inserts and evicts of 1024 events, each a call from Python."""
    bulk = min(1024, sizes.window // 4)
    tree = Fiba(sf.sum())
    tree.bulk_insert(np.arange(sizes.window), np.ones(sizes.window))
    values = np.ones(bulk)
    taken: dict[str, list[float]] = {"bulk_insert": [], "bulk_evict": []}
    for step in range(sizes.steps):
        times = np.arange(bulk) + sizes.window + step * bulk
        start = time.perf_counter()
        tree.bulk_insert(times, values)
        middle = time.perf_counter()
        tree.bulk_evict((step + 1) * bulk - 1)
        end = time.perf_counter()
        taken["bulk_insert"].append(middle - start)
        taken["bulk_evict"].append(end - middle)
    return [
        {
            "part": f"latency of a bulk of {bulk}, us",
            "x": name,
            "side": side,
            "us": float(np.quantile(times, q)) * 1e6,
        }
        for name, times in taken.items()
        for side, q in (("median", 0.5), ("99.9%", 0.999), ("worst", 1.0))
    ]


def sharing(sizes: Sizes) -> list[Row]:
    """Compare two windows over one tree with range queries to two trees; per event, from Python."""
    window, steps = min(sizes.window, 2**16), sizes.steps * 20
    both = sf.Window(sf.sum(), sf.time(window), lateness=0)
    one = sf.Window(sf.sum(), sf.time(window), lateness=0)
    other = sf.Window(sf.sum(), sf.time(window // 8), lateness=0)

    def shared(start: int) -> None:
        push, query, first = both.push, both.query, window // 8 - 1
        for step in range(start, start + steps):
            push(step, 1.0)
            query(step - first, step)

    def two(start: int) -> None:
        push, also = one.push, other.push
        for step in range(start, start + steps):
            push(step, 1.0)
            also(step, 1.0)

    rows: list[Row] = []
    clock = {"one tree": (shared, both), "two trees": (two, one)}
    best = dict.fromkeys(clock, float("inf"))
    for trial in range(1 + sizes.rounds):
        for name, (run, _) in clock.items():
            start = time.perf_counter()
            run(trial * steps)
            best[name] = min(best[name], time.perf_counter() - start)
    kept = {"one tree": both.nbytes, "two trees": one.nbytes + other.nbytes}
    for name, seconds in best.items():
        rows.append(
            {
                "part": "two windows",
                "x": window,
                "side": name,
                "ns_per_event": seconds / steps * 1e9,
                "nbytes": kept[name],
            }
        )
    return rows


def memory(sizes: Sizes) -> list[Row]:
    """Measure the bytes per entry of an int64 time and a float64 state."""
    rows: list[Row] = []
    for name, times in (
        ("in order", np.arange(sizes.window)),
        ("late by 1024", arrival(sizes.window, 1024)),
        ("random", np.random.default_rng(3).permutation(sizes.window)),
    ):
        tree = Fiba(sf.sum())
        for start in range(0, sizes.window, 4096):
            chunk = times[start : start + 4096]
            for at in chunk.tolist() if name == "random" else ():
                tree.insert(at, 1.0)
            if name != "random":
                tree.bulk_insert(chunk, np.ones(len(chunk)))
        rows.append(
            {
                "part": "bytes an entry",
                "x": name,
                "side": "fiba",
                "bytes": tree.nbytes / sizes.window,
            }
        )
    return rows


def show(rows: list[Row]) -> str:
    """Format one table per part."""
    tables = []
    for part in dict.fromkeys(row["part"] for row in rows):
        chosen = [row for row in rows if row["part"] == part]
        value = next(
            name
            for name in ("million_slides_per_second", "us", "ns_per_event", "bytes")
            if name in chosen[0]
        )
        title = f"{TITLES.get(part, part)}: {value}"
        tables.append(pivot(title, chosen, down="x", across="side", value=value))
    return "\n".join(tables)
