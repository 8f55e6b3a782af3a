"""Latency of rounds in order and far out of order."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from benchmarks.harness import Row
from benchmarks.papers.fiba import CLASSIC, FINGERS
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series, where
from benchmarks.papers.rounds import PAPER_OPERATORS, combines, latencies, rounds

SIDES = (*FINGERS, *CLASSIC)
# window, window of bloom, rounds, rounds with bloom, turns
SIZES = {
    "smoke": (2**6, 2**6, 2**6, 2**5, 1),
    "quick": (2**16, 2**12, 2**14, 2**10, 2),
    "default": (2**22, 2**20, 2**18, 2**13, 2),
    "full": (2**22, 2**20, 10_000_000, 1_000_000, 3),
}


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator and distance: 0 and a quarter of the window."""
    window, bloom_window, count, bloom_count, turns = SIZES[context.size]

    def measured(operator: str, n: int, rounds_: int, d: int) -> list[Row]:
        plan: dict[str, Any] = {"window": n, "count": rounds_, "distance": d, "timed": "round"}
        return latencies({side: partial(rounds, side, operator, **plan) for side in SIDES}, turns)

    def counted(n: int, d: int) -> list[Row]:
        return [combines(side, window=n, count=n // 2, distance=d) for side in SIDES]

    found = []
    for late in (False, True):
        small = min(window, 2**14)
        d = small // 4 if late else 0
        key = {"operator": "counted", "late": late, "n": small}
        found.append(Cell(key, partial(counted, small, d)))
        for operator in PAPER_OPERATORS:
            bloom = operator == "bloom"
            n, rounds_ = (bloom_window, bloom_count) if bloom else (window, count)
            d = n // 4 if late else 0
            key = {"operator": operator, "late": late, "n": n}
            found.append(Cell(key, partial(measured, operator, n, rounds_, d)))
    return found


def claims(rows: list[Row]) -> list[Claim]:
    """Judge worst steps by combines and medians by time."""
    counts = where(rows, operator="counted")
    n = counts[0]["n"]
    # A repair walks up and down the tree; a node combines its children.
    most = max(row["worst_combines"] / (2 * int(row["side"][-1])) for row in counts)
    found = [
        Claim(
            "the worst round of every tree is logarithmic",
            most <= 8 * math.log2(n),
            f"at most {most:.0f} combines per child of a node at n = {n:,}",
            promised=True,
        )
    ]
    for operator in dict.fromkeys(row["operator"] for row in rows if "median" in row):
        first = {row["side"]: row["median"] for row in where(rows, operator=operator, late=False)}
        ratio = min(first[side] for side in CLASSIC) / min(first[side] for side in FINGERS)
        found.append(
            Claim(
                "the median of finger trees at d = 0 is far below that of classic",
                ratio >= 2,
                f"{ratio:.1f}x lower at d = 0",
                about=operator,
            )
        )
        far = {row["side"]: row["median"] for row in where(rows, operator=operator, late=True)}
        ratio = min(far[side] for side in CLASSIC) / min(far[side] for side in FINGERS)
        similar = 0.5 <= ratio <= 2
        found.append(
            Claim(
                "far out of order finger trees have a lower median than classic ones"
                if operator == "bloom"
                else "far out of order both kinds of trees have similar medians",
                ratio > 1 if operator == "bloom" else similar,
                f"classic trees have {ratio:.1f}x the median far out of order",
                about=operator,
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return violins per operator and distance."""
    return [
        Chart(
            f"{row['operator']}, d = {'n / 4' if row['late'] else 0}, n = {row['n']:,}",
            "",
            "nanoseconds per round",
            [
                Series(side["side"], [], side["quantiles"])
                for side in where(rows, operator=row["operator"], late=row["late"])
            ],
            kind="violins",
            log_y=True,
        )
        for row in rows
        if "quantiles" in row and row["side"] == SIDES[0]
    ]


FIGURE = Figure(
    "fiba.fig12",
    "FiBA figure 12: latency in order and far out of order",
    "In order, finger trees have far lower medians than classic ones; at d = 2^20 cheap operators "
    "have similar latencies in both.",
    cells,
    claims,
    charts,
    remark="The far distance is n / 4, which is 2^20 at the paper's n. Bloom filters: n = 2^20.",
)
