"""In-order data: trees against algorithms that only take data in order."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.fiba import CLASSIC, FINGERS, OURS
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, curves, where
from benchmarks.papers.rounds import LARGEST_BLOOM, PAPER_OPERATORS, combines, speeds, total
from benchmarks.papers.shapes import per_doubling, spread, typical, values

IN_ORDER = ("two_stacks", "daba", "flat_fat")
SIDES = (*IN_ORDER, *FINGERS, *CLASSIC, OURS)
# windows, rounds, rounds with bloom, turns
SIZES = {
    "smoke": ((1, 2**4), 2**6, 2**5, 1),
    "quick": (tuple(2**k for k in (2, 6, 10, 14)), 2**15, 2**10, 2),
    "default": (tuple(2**k for k in range(0, 23, 2)), 2**20, 2**14, 2),
    "full": (tuple(2**k for k in range(23)), 200_000_000, 10_000_000, 1),
}
QUICK_BLOOM = 2**10


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator and window, and the counts."""
    windows, count, bloom_count, turns = SIZES[context.size]
    largest = QUICK_BLOOM if context.size == "quick" else LARGEST_BLOOM

    def measured(operator: str, n: int) -> list[Row]:
        rounds = bloom_count if operator == "bloom" else count
        sides = {side: partial(total, side, operator, window=n, count=rounds) for side in SIDES}
        return speeds(sides, rounds, turns)

    def counted(n: int) -> list[Row]:
        return [combines(side, window=n, count=4 * n) for side in SIDES]

    found = [
        Cell({"operator": "counted", "n": n}, partial(counted, n)) for n in windows if n <= 2**14
    ]
    for operator in PAPER_OPERATORS:
        found += [
            Cell({"operator": operator, "n": n}, partial(measured, operator, n))
            for n in windows
            if operator != "bloom" or n <= largest
        ]
    return found


def claims(rows: list[Row]) -> list[Claim]:
    """Judge constant finger trees and logarithmic others by combines, and the ranking by time."""
    counts = [row for row in where(rows, operator="counted") if row["n"] >= 16]
    flat = max(spread(values(counts, "combines", side=side)) for side in FINGERS)
    found = [
        Claim(
            "finger trees take constant amortised time in order",
            flat <= 2,
            f"their combines per round vary by {flat:.2f}x over n",
            promised=True,
        )
    ]
    if len({row["n"] for row in counts}) >= 3:
        slopes = [
            per_doubling(values(counts, "n", side=side), values(counts, "combines", side=side))[0]
            for side in (*CLASSIC, "flat_fat")
        ]
        found.append(
            Claim(
                "classic B-trees and the Reactive Aggregator grow with log n",
                min(slopes) > 0.3,
                f"at least {min(slopes):.2f} more combines per doubling of n",
                promised=True,
            )
        )
    for operator in dict.fromkeys(row["operator"] for row in rows if "ns" in row):
        chosen = [row for row in where(rows, operator=operator) if row["n"] >= 2**4]
        speed = {side: typical(values(chosen, "million_per_second", side=side)) for side in SIDES}
        ratio = max(speed[side] for side in FINGERS) / speed["daba"]
        found.append(
            Claim(
                "algorithms for data in order outperform finger trees",
                ratio < 1,
                f"the best finger tree has {ratio:.2f}x the throughput of DABA",
                about=operator,
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return throughput against the window."""
    return [
        Chart(
            operator,
            "window size n",
            "million items per second",
            curves(where(rows, operator=operator), "n", "million_per_second", grey=(OURS,)),
        )
        for operator in dict.fromkeys(row["operator"] for row in rows if "ns" in row)
    ]


FIGURE = Figure(
    "fiba.fig13",
    "FiBA figure 13: in-order data",
    "Finger trees are constant in n but slower than Two-Stacks and DABA; classic trees and the "
    "Reactive Aggregator grow with log n.",
    cells,
    claims,
    charts,
    remark="Bloom filters go to n = 2^20, because 2^22 of them do not fit in memory.",
)
