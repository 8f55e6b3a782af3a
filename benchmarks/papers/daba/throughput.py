"""Throughput by window size, for figures 10 and 11: the same sides, another pattern."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.harness import Row
from benchmarks.papers.daba import CONSTANT, SIDES
from benchmarks.papers.figure import Cell, Chart, Claim, Context, curves, where
from benchmarks.papers.rounds import LARGEST_BLOOM, PAPER_OPERATORS, combines, speeds, total
from benchmarks.papers.shapes import best, ratios, spread, typical, values

# windows, rounds, rounds with bloom, turns
SIZES = {
    "smoke": ((1, 2**4), 2**6, 2**5, 1),
    "quick": (tuple(2**k for k in range(0, 17, 4)), 2**17, 2**13, 2),
    "default": (tuple(2**k for k in range(0, 23, 2)), 2**21, 2**17, 3),
    "full": (tuple(2**k for k in range(23)), 200_000_000, 200_000_000, 1),
}
QUICK_BLOOM = 2**12  # a window of more Bloom filters takes too long to fill


def cells(context: Context, *, drain: bool) -> list[Cell]:
    """Return one cell per operator and window."""
    windows, count, bloom_count, turns = SIZES[context.size]

    def plan(window: int, rounds: int) -> dict[str, Any]:
        # A window that drains sees whole fills.
        whole = -(-rounds // window) * window
        return {"window": window, "count": whole if drain else rounds, "swing": drain}

    def measured(operator: str, window: int) -> list[Row]:
        steps = plan(window, bloom_count if operator == "bloom" else count)
        sides = {side: partial(total, side, operator, **steps) for side in SIDES}
        return speeds(sides, steps["count"], turns)

    def counted(window: int) -> list[Row]:
        rounds = 4 * window
        if not drain:
            return [combines(side, window=window, count=rounds) for side in SIDES]
        steps = plan(window, rounds)
        return [
            {"side": side, "combines": total(side, "sum", counted=True, **steps) / steps["count"]}
            for side in SIDES
        ]

    largest = QUICK_BLOOM if context.size == "quick" else LARGEST_BLOOM
    found = [
        Cell({"operator": "counted", "n": window}, partial(counted, window))
        for window in windows
        if window <= 2**16
    ]
    for operator in PAPER_OPERATORS:
        found += [
            Cell({"operator": operator, "n": window}, partial(measured, operator, window))
            for window in windows
            if operator != "bloom" or window <= largest
        ]
    return found


def claims(rows: list[Row], *, drain: bool) -> list[Claim]:
    """Judge flatness by combines and by time, and Lite against its original."""
    counts = [row for row in where(rows, operator="counted") if row["n"] >= 16]
    growth = max(spread(values(counts, "combines", side=side)) for side in CONSTANT)
    found = [
        Claim(
            "Two-Stacks, DABA and their Lite versions take constant amortised time",
            growth <= 1.4,
            f"combines per round grow by {growth:.2f}x over all n",
            promised=True,
        )
    ]
    for operator in dict.fromkeys(row["operator"] for row in rows if "ns" in row):
        chosen = where(rows, operator=operator)
        # A Bloom filter of few values is a list of them: it is one from 2^8 on.
        least = 2**8 if operator == "bloom" else 2**4
        small = [row for row in chosen if least <= row["n"] <= 2**14] or chosen
        flat = max(spread(values(small, "ns", side=side)) for side in SIDES)
        found.append(
            Claim(
                "the throughput is nearly flat in n",
                flat <= 3,
                f"within {flat:.1f}x for {least} <= n <= 2^14",
                about=operator,
            )
        )
        for lite, name in (("two_stacks_lite", "Two-Stacks"), ("daba_lite", "DABA")):
            gains = ratios(chosen, "million_per_second", lite, lite.removesuffix("_lite"), by="n")
            wins = sum(gain >= 1 for gain in gains)
            found.append(
                Claim(
                    f"{name} Lite always outperforms {name}",
                    wins >= 0.8 * len(gains),
                    f"at {wins} of {len(gains)} windows, typically {typical(gains):.2f}x",
                    about=operator,
                )
            )
        if drain and operator == "bloom":
            winner = best(chosen, "million_per_second")
            found.append(
                Claim(
                    "FlatFIT is the best for bloom, as it combines nothing when it evicts",
                    winner == "flat_fit",
                    f"{winner} is the best for bloom",
                )
            )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return throughput against the window, one chart per operator."""
    return [
        Chart(
            operator,
            "window size n",
            "million items per second",
            curves(where(rows, operator=operator), "n", "million_per_second"),
        )
        for operator in dict.fromkeys(row["operator"] for row in rows if "ns" in row)
    ]
