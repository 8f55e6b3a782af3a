"""Citi Bike: throughput with bulk evicts and with single ones."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.data import trips
from benchmarks.papers.fiba.fig15 import window_side
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series, where
from benchmarks.papers.rounds import PAPER_OPERATORS, speeds

# events, events with bloom, turns
SIZES = {
    "smoke": (2_000, 500, 1),
    "quick": (100_000, 5_000, 2),
    "default": (2_000_000, 200_000, 3),
    "full": (8_000_000, 8_000_000, 5),
}


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator: a window of one day."""
    count, bloom_count, turns = SIZES[context.size]

    def measured(operator: str) -> list[Row]:
        events = trips(context, bloom_count if operator == "bloom" else count)
        sides = {
            f"{kind}_fiba{arity}": partial(
                window_side, f"fiba{arity}", operator, events, 1, bulk=kind == "b"
            )
            for kind in ("b", "nb")
            for arity in (4, 8)
        }
        found = speeds(sides, len(events) - len(events) // 2, turns)
        return [{**row, "source": events.source} for row in found]

    return [
        Cell({"operator": operator}, partial(measured, operator)) for operator in PAPER_OPERATORS
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Judge bulk against single evicts."""
    found = []
    for operator in dict.fromkeys(row["operator"] for row in rows):
        speed = {row["side"]: row["million_per_second"] for row in where(rows, operator=operator)}
        gain = max(speed["b_fiba4"], speed["b_fiba8"]) / max(speed["nb_fiba4"], speed["nb_fiba8"])
        found.append(
            Claim(
                "bulk evicts give an advantage on real data",
                gain > 1.02,  # less is noise
                f"{gain:.2f}x the throughput of single evicts",
                about=operator,
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return bars per operator."""
    sides = dict.fromkeys(row["side"] for row in rows)
    series = [
        Series(
            side,
            [row["operator"] for row in where(rows, side=side)],
            [row["million_per_second"] for row in where(rows, side=side)],
        )
        for side in sides
    ]
    title = "window of one day"
    return [Chart(title, "", "million items per second", series, kind="bars", log_x=False)]


FIGURE = Figure(
    "bulk.fig16",
    "Bulk FiBA figure 16: Citi Bike, bulk and single evicts",
    "On real data bulk evicts give FiBA an advantage over single ones.",
    cells,
    claims,
    charts,
)
