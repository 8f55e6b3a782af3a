"""Event-time windows over the manufacturing data of DEBS 2012: throughput and latency."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Row
from benchmarks.papers.daba import SIDES
from benchmarks.papers.data import Events, manufacturing
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series, curves, where
from benchmarks.papers.rounds import latencies, rounds, speeds
from benchmarks.papers.shapes import ratios, spread, typical, values
from benchmarks.workloads import Array

SECOND = 1_000_000  # times are microseconds
OPERATOR = "relative_variation"
# rows, windows in seconds, turns
SIZES = {
    "smoke": (2_000, (0.01, 1), 1),
    "quick": (200_000, (0.01, 1, 60, 600), 2),
    "default": (5_000_000, (0.01, 0.1, 1, 10, 60, 600, 3_600, 21_600), 2),
    "full": (32_300_000, (0.01, 0.1, 1, 10, 60, 600, 3_600, 21_600), 3),
}
LATENCY = 600  # seconds
LONG = 1_000  # seconds


def evictions(times: Array, length: int) -> Array:
    """Return how many events leave when each event comes: those `length` or more older."""
    left = np.searchsorted(times, times - length, side="right")
    return np.diff(left, prepend=0).astype(np.int64)


def _run(events: Events, seconds: float, side: str, timed: str) -> Array:
    length = int(seconds * SECOND)
    leaving = evictions(events.times, length)
    first = int(np.argmax(leaving > 0))  # the measurement begins when the first event leaves
    if leaving[first] == 0 or first == 0:
        first = len(leaving) // 2
    plan: dict[str, Any] = {"window": first, "count": len(leaving) - first, "timed": timed}
    if side.startswith("fiba"):
        return rounds(
            side, OPERATOR, values=events.values, over_time=(events.times, length),
            bulk_evict=True, **plan,
        )  # fmt: skip
    return rounds(
        side, OPERATOR, values=events.values, leaving=np.ascontiguousarray(leaving[first:]), **plan
    )


def cells(context: Context) -> list[Cell]:
    """Return one cell per window, and one of latencies."""
    count, windows, turns = SIZES[context.size]
    events = manufacturing(context, count)

    def throughput(seconds: float) -> list[Row]:
        sides = {
            side: lambda side=side: int(_run(events, seconds, side, "run")[0]) for side in SIDES
        }
        first = int(np.argmax(evictions(events.times, int(seconds * SECOND)) > 0))
        measured = speeds(sides, max(len(events.times) - first, 1), turns)
        return [{**row, "source": events.source} for row in measured]

    def latency(seconds: float) -> list[Row]:
        sides = {side: partial(_run, events, seconds, side, "round") for side in SIDES}
        return [{**row, "source": events.source} for row in latencies(sides, turns)]

    fitting = [seconds for seconds in windows if events.seconds > 2 * seconds]
    slow = max((seconds for seconds in fitting if seconds <= LATENCY), default=windows[0])
    return [
        *(Cell({"part": "throughput", "window": s}, partial(throughput, s)) for s in fitting),
        Cell({"part": "latency", "window": slow}, partial(latency, slow)),
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Judge flatness, Lite against original, and that bulk evictions level the slowest rounds."""
    speeds_ = where(rows, part="throughput")
    short = [row for row in speeds_ if row["window"] <= LONG]
    flat = max(spread(values(short, "ns", side=side)) for side in SIDES)
    gain = typical(ratios(speeds_, "million_per_second", "daba_lite", "daba", by="window"))
    slow = {row["side"]: row["max"] for row in where(rows, part="latency")}
    apart = spread(taken for side, taken in slow.items() if side != "fiba4")
    return [
        Claim(
            "the throughput is about the same for all windows up to 1,000 seconds",
            flat <= 4,
            f"each algorithm within {flat:.1f}x",
        ),
        *_longest(speeds_),
        Claim(
            "DABA Lite outperforms DABA",
            gain >= 1,
            f"DABA Lite typically has {gain:.2f}x the throughput of DABA",
        ),
        Claim(
            "rare bulk evictions give all in-order algorithms similar slowest rounds",
            apart < 10,
            f"the slowest rounds are within {apart:.1f}x",
        ),
    ]


def _longest(rows: list[Row]) -> list[Claim]:
    """Judge windows that are long beside the data, if there are any."""
    long = [row for row in rows if row["window"] > LONG]
    if not long:
        return []
    short = [row for row in rows if row["window"] <= LONG]
    kept = {
        side: typical(values(long, "million_per_second", side=side))
        / typical(values(short, "million_per_second", side=side))
        for side in SIDES
    }
    return [
        Claim(
            "longer windows have a somewhat lower throughput",
            typical(list(kept.values())) < 1,
            f"{min(kept.values()):.2f} to {max(kept.values()):.2f}x of the shorter ones",
        )
    ]


def charts(rows: list[Row]) -> list[Chart]:
    """Return throughput against the window, and violins."""
    slow = where(rows, part="latency")
    return [
        Chart(
            "relative variation",
            "window in seconds",
            "million items per second",
            curves(where(rows, part="throughput"), "window", "million_per_second"),
        ),
        Chart(
            f"latency at {slow[0]['window']:g} seconds" if slow else "latency",
            "",
            "nanoseconds per round",
            [Series(row["side"], [], row["quantiles"]) for row in slow],
            kind="violins",
            log_y=True,
        ),
    ]


FIGURE = Figure(
    "daba.fig12",
    "DABA figure 12: event-time windows over manufacturing data",
    "As with synthetic data, but rare bulk evictions give all in-order algorithms similar slowest "
    "rounds, and the throughput falls somewhat beyond 1,000 seconds.",
    cells,
    claims,
    charts,
)
