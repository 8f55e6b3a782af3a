"""Throughput of max by range and slide, for figures 4 to 6."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.data import manufacturing
from benchmarks.papers.figure import Cell, Chart, Claim, Context, curves, where
from benchmarks.papers.pba import SIDES, total
from benchmarks.papers.rounds import speeds
from benchmarks.papers.shapes import ratios, spread, typical

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


LARGE = 2**15  # slices of a window; from there on the paper's curves are flat


def _gains(rows: list[Row], side: str, other: str) -> list[float]:
    return ratios(rows, "million_per_second", side, other, by="cell")


def claims(rows: list[Row]) -> list[Claim]:
    """Judge SBA at all windows, and PBA against all others where windows are large."""
    found = []
    for other, name in (("two_stacks", "Two-Stacks"), ("slick_deque", "SlickDeque")):
        gains = _gains(rows, "sba", other)
        wins = sum(gain > 1 for gain in gains)
        found.append(
            Claim(
                f"SBA has a higher throughput than {name}, with small windows too",
                wins >= 0.8 * len(gains),
                f"at {wins} of {len(gains)} windows, typically {typical(gains):.1f}x",
            )
        )
    slices = [row["range"] // row["slide"] for row in rows]
    large = [row for row, n in zip(rows, slices, strict=True) if n >= min(LARGE, max(slices))]
    return [*found, _best(large, "PBA has the best throughput with large windows")]


def _best(rows: list[Row], finding: str) -> Claim:
    others = ("sba", "two_stacks", "slick_deque")
    gains = {other: typical(_gains(rows, "pba", other)) for other in others}
    numbers = ", ".join(f"{gain:.2f}x of {other}" for other, gain in gains.items())
    return Claim(finding, min(gains.values()) > 1, f"PBA has {numbers}")


def closer(rows: list[Row]) -> list[Claim]:
    """Judge that larger slides raise the throughput, and bring the algorithms closer together."""

    def speeds_at(slide: float) -> dict[str, float]:
        chosen = [row for row in where(rows, x=slide) if row["side"] != "recalc"]
        return {row["side"]: row["million_per_second"] for row in chosen}

    slides = sorted({row["x"] for row in rows})
    first, last = speeds_at(slides[0]), speeds_at(slides[-1])
    faster = sum(last[side] > first[side] for side in first)
    apart = spread(first.values()), spread(last.values())
    return [
        _best(where(rows, x=slides[0]), "PBA has the best throughput with a small slide"),
        Claim(
            "larger slides raise the throughput of all",
            faster == len(first),
            f"{faster} of {len(first)} are faster at a slide of {slides[-1]} than at {slides[0]}",
        ),
        Claim(
            "with larger slides the algorithms come closer together",
            apart[1] < apart[0],
            f"they are within {apart[0]:.1f}x at a slide of {slides[0]} and {apart[1]:.1f}x at "
            f"{slides[-1]}",
        ),
    ]


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
