"""Citi Bike trips: windows of time over real disorder."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.harness import Row
from benchmarks.papers.data import Events, trips
from benchmarks.papers.fiba import CLASSIC, FINGERS, OURS
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, curves, where
from benchmarks.papers.rounds import PAPER_OPERATORS, speeds, total
from benchmarks.papers.shapes import ratios, typical

SIDES = (*FINGERS, *CLASSIC, OURS)
DAY = 86_400 * 1_000_000
# events, windows in days, events with bloom, turns
SIZES = {
    "smoke": (2_000, (0.01,), 500, 1),
    "quick": (120_000, (0.25, 1), 5_000, 1),
    "default": (4_000_000, (0.25, 1, 4, 16, 32), 400_000, 1),
    "full": (8_000_000, (0.25, 0.5, 1, 2, 4, 8, 16, 32), 8_000_000, 3),
}


def window_side(side: str, operator: str, events: Events, days: float, *, bulk: bool) -> int:
    """Return the nanoseconds of the second half of the events, over a window of time."""
    values = events.keys if operator == "bloom" else events.values
    half = len(events) // 2
    return total(
        side, operator, values=np.ascontiguousarray(values), window=half,
        count=len(events) - half, over_time=(events.times, int(days * DAY)), bulk_evict=bulk,
    )  # fmt: skip


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator and window."""
    count, windows, bloom_count, turns = SIZES[context.size]

    def measured(operator: str, days: float) -> list[Row]:
        events = trips(context, bloom_count if operator == "bloom" else count)
        sides = {
            side: partial(window_side, side, operator, events, days, bulk=False) for side in SIDES
        }
        found = speeds(sides, len(events) - len(events) // 2, turns)
        return [{**row, "source": events.source} for row in found]

    # Half of the events fill the window, so it must be no longer than they are.
    whole = {name: trips(context, n).seconds / 86_400 for name, n in
             (("bloom", bloom_count), ("others", count))}  # fmt: skip
    return [
        Cell({"operator": operator, "days": days}, partial(measured, operator, days))
        for operator in PAPER_OPERATORS
        for days in windows
        if 2 * days <= whole["bloom" if operator == "bloom" else "others"] or days == windows[0]
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Judge finger trees against classic ones of the same arity."""
    found = []
    for operator in dict.fromkeys(row["operator"] for row in rows):
        chosen = where(rows, operator=operator)
        gains = [
            typical(ratios(chosen, "million_per_second", finger, classic, by="days"))
            for finger, classic in zip(FINGERS, CLASSIC, strict=True)
        ]
        found.append(
            Claim(
                "finger trees outperform the classic trees of their arity",
                min(gains) > 1,
                f"at least {min(gains):.1f}x the throughput",
                about=operator,
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return throughput against the window."""
    return [
        Chart(
            operator,
            "window in days",
            "million items per second",
            curves(where(rows, operator=operator), "days", "million_per_second", grey=(OURS,)),
        )
        for operator in dict.fromkeys(row["operator"] for row in rows)
    ]


FIGURE = Figure(
    "fiba.fig15",
    "FiBA figure 15: Citi Bike trips",
    "Finger trees consistently outperform classic trees on real disorder.",
    cells,
    claims,
    charts,
    remark="Bloom filters fold the start station, the others the duration. A window is measured "
    "where the data is at least twice as long.",
)
