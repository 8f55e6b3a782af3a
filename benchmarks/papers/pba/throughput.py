"""Throughput of max by range and slide, for figures 4 to 6."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.data import manufacturing
from benchmarks.papers.figure import Cell, Chart, Claim, Context, curves, where
from benchmarks.papers.pba import SIDES, total
from benchmarks.papers.rounds import speeds
from benchmarks.papers.shapes import ratios, typical

# rows, turns
SIZES = {"smoke": (2**8, 1), "quick": (2**17, 2), "default": (2**23, 5), "full": (200_000_000, 20)}
LARGEST_RECALC = 2**10


def cells(
    context: Context, windows: Sequence[tuple[str, float, int, int]], *, real: bool = False
) -> list[Cell]:
    """Return one cell per (part, x, range, slide); the range and the slide are in rows."""
    rows, turns = SIZES[context.size]

    def measured(length: int, slide: int) -> list[Row]:
        events = manufacturing(context, min(rows, 2**20)) if real else None
        count = max(rows // slide, 4)
        sides = {}
        for side in SIDES:
            if side == "recalc" and length // slide > LARGEST_RECALC:
                continue
            values = events.values if events else None
            sides[side] = partial(total, side, "max", length, slide, count, values=values)
        found = speeds(sides, count * slide, turns)
        return [{**row, "source": events.source} for row in found] if events else found

    return [
        Cell({"part": part, "x": x, "range": length, "slide": slide},
             partial(measured, length, slide))
        for part, x, length, slide in windows
    ]  # fmt: skip


def claims(rows: list[Row]) -> list[Claim]:
    """Judge SBA and PBA against the others where windows are large."""
    large = [row for row in rows if row["range"] // row["slide"] >= 2**13] or rows
    found = []
    for other in ("two_stacks", "slick_deque"):
        gain = typical(ratios(large, "million_per_second", "sba", other, by="cell"))
        found.append(
            Claim(
                f"SBA has a higher throughput than {other}",
                gain > 1,
                f"SBA has {gain:.1f}x the throughput of {other} at large windows",
            )
        )
    gain = typical(ratios(large, "million_per_second", "pba", "sba", by="cell"))
    cores = os.cpu_count() or 1
    found.append(
        Claim(
            "PBA has the best throughput with large windows",
            gain > 1,
            f"PBA has {gain:.2f}x the throughput of SBA at large windows on {cores} cores",
        )
    )
    return found


def charts(rows: list[Row], *, labels: dict[str, str], log: bool) -> list[Chart]:
    """Return one chart per part."""
    return [
        Chart(
            "max",
            label,
            "million rows per second",
            curves(where(rows, part=part), "x", "million_per_second"),
            log_x=log,
        )
        for part, label in labels.items()
        if where(rows, part=part)
    ]
