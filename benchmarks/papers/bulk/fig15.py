"""Citi Bike: histograms of the window size, of the bulks that leave, and of the distance."""

from __future__ import annotations

import heapq

import numpy as np

from benchmarks.harness import Row
from benchmarks.papers.data import trips
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series, where
from benchmarks.workloads import Array

DAY = 86_400 * 1_000_000
SIZES = {"smoke": 2_000, "quick": 100_000, "default": 2_000_000, "full": 8_000_000}
PARTS = {"n": "window size n", "m": "bulk that leaves, m", "d": "distance d"}


def window_steps(times: Array, length: int) -> tuple[Array, Array]:
    """Return the size of a time window after each event, and how many events left for it."""
    newest = np.maximum.accumulate(times)
    gone = np.zeros(len(times), np.int64)
    sizes = np.zeros(len(times), np.int64)
    held: list[int] = []
    for row, (time, now) in enumerate(zip(times.tolist(), newest.tolist(), strict=True)):
        heapq.heappush(held, time)
        while held and held[0] <= now - length:
            heapq.heappop(held)
            gone[row] += 1
        sizes[row] = len(held)
    return sizes, gone


def histogram(numbers: Array) -> tuple[list[float], list[int]]:
    """Return counts in bins that double, by the lower edge of each bin."""
    top = max(int(numbers.max()), 1).bit_length()
    edges = [0, *(2**k for k in range(top + 1))]
    counts, _ = np.histogram(numbers, bins=edges)
    return [float(edge) for edge in edges[:-1]], [int(count) for count in counts]


def cells(context: Context) -> list[Cell]:
    """Return one cell with the three histograms."""

    def measured() -> list[Row]:
        events = trips(context, SIZES[context.size])
        sizes, gone = window_steps(events.times, DAY)
        late = events.distances()
        rows = []
        for part, numbers in {"n": sizes, "m": gone, "d": late}.items():
            edges, counts = histogram(numbers)
            rows.append(
                {
                    "part": part,
                    "edges": edges,
                    "counts": counts,
                    "mean": float(numbers.mean()),
                    "p99": float(np.percentile(numbers, 99)),
                    "max": int(numbers.max()),
                    "source": events.source,
                }
            )
        return rows

    return [Cell({"days": 1}, measured)]


def claims(rows: list[Row]) -> list[Claim]:
    """Judge disorder and bulks."""
    late, bulk = where(rows, part="d")[0], where(rows, part="m")[0]
    ones = dict(zip(bulk["edges"], bulk["counts"], strict=True))
    small = (ones.get(0.0, 0) + ones.get(1.0, 0)) / max(sum(bulk["counts"]), 1)
    return [
        Claim(
            "nearly all events are hardly late, a few of them very much",
            late["p99"] <= 20 and late["max"] >= 100 * max(late["p99"], 1),
            f"99% are at most {late['p99']:.0f} late, on average {late['mean']:.0f}, at most "
            f"{late['max']:,}",
        ),
        Claim(
            "most insertions evict at most one entry, some evict hundreds or thousands",
            small >= 0.5 and bulk["max"] >= 100,
            f"{small:.0%} evict at most one, at most {bulk['max']:,}",
        ),
    ]


def charts(rows: list[Row]) -> list[Chart]:
    """Return the three histograms."""
    return [
        Chart(
            PARTS[row["part"]],
            f"{PARTS[row['part']]}, from",
            "events",
            [Series(row["part"], [f"{edge:g}" for edge in row["edges"]], row["counts"])],
            kind="bars",
            log_x=False,
            log_y=True,
        )
        for row in rows
    ]


FIGURE = Figure(
    "bulk.fig15",
    "Bulk FiBA figure 15: Citi Bike, window of one day",
    "Window sizes vary broadly; most insertions evict one entry, some thousands; most distances "
    "are small, some are tens of thousands.",
    cells,
    claims,
    charts,
)
