"""Latency of single rounds of a static window."""

from __future__ import annotations

import math
from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.daba import SIDES
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series, where
from benchmarks.papers.rounds import PAPER_OPERATORS, combines, latencies, rounds

# window, rounds, turns
SIZES = {
    "smoke": (2**4, 2**6, 1),
    "quick": (2**14, 2**16, 2),
    "default": (2**14, 2**20, 3),
    "full": (2**14, 10_000_000, 3),
}


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator, and one that counts combines."""
    window, count, turns = SIZES[context.size]

    def measured(operator: str) -> list[Row]:
        sides = {
            side: partial(rounds, side, operator, window=window, count=count, timed="round")
            for side in SIDES
        }
        return latencies(sides, turns)

    def counted() -> list[Row]:
        return [combines(side, window=window, count=4 * window) for side in SIDES]

    return [
        Cell({"operator": "counted", "n": window}, counted),
        *(
            Cell({"operator": name, "n": window}, partial(measured, name))
            for name in PAPER_OPERATORS
        ),
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Hold worst steps against the theory, and slow steps against each other."""
    worst = {row["side"]: row["worst_combines"] for row in where(rows, operator="counted")}
    n = rows[0]["n"]
    found = [
        Claim(
            "DABA and DABA Lite have a constant worst step",
            worst["daba"] <= 8 and worst["daba_lite"] <= 6,
            f"at most {worst['daba']} and {worst['daba_lite']} combines per round",
            promised=True,
        ),
        Claim(
            "Two-Stacks, its Lite version and FlatFIT have steps that are linear in n",
            min(worst["two_stacks"], worst["two_stacks_lite"], worst["flat_fit"]) >= n - 2,
            f"up to {worst['two_stacks_lite']} combines in a round at n = {n}",
            promised=True,
        ),
        Claim(
            "the worst step of FiBA is logarithmic",
            worst["fiba4"] <= 12 * math.log2(n) + 24,
            f"at most {worst['fiba4']} combines per round",
            promised=True,
        ),
    ]
    for operator in dict.fromkeys(row["operator"] for row in rows if "max" in row):
        slow = {row["side"]: row["max"] for row in where(rows, operator=operator)}
        ratio = slow["two_stacks_lite"] / slow["daba_lite"]
        least = {row["side"]: row["min"] for row in where(rows, operator=operator)}
        first = min(least["two_stacks"], least["two_stacks_lite"])
        found.append(
            Claim(
                "Two-Stacks or its Lite version has the fastest rounds",
                first <= min(least["daba"], least["daba_lite"], least["fiba4"]),
                f"its fastest round takes {first} ns, that of FiBA {least['fiba4']} ns",
                about=operator,
            )
        )
        found.append(
            Claim(
                "the slowest round of Two-Stacks Lite is an order of magnitude above "
                "that of DABA Lite",
                ratio >= 10,
                f"the slowest round of Two-Stacks Lite takes {ratio:.1f}x as long",
                about=operator,
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return violins per operator."""
    return [
        Chart(
            f"{operator}, n = {rows[0]['n']:,}",
            "",
            "nanoseconds per round",
            [Series(row["side"], [], row["quantiles"]) for row in where(rows, operator=operator)],
            kind="violins",
            log_y=True,
        )
        for operator in dict.fromkeys(row["operator"] for row in rows if "quantiles" in row)
    ]


FIGURE = Figure(
    "daba.fig9",
    "DABA figure 9: latency of a static window",
    "Two-Stacks has the fastest rounds but regularly one an order of magnitude slower; DABA and "
    "DABA Lite have no slow rounds, and FiBA's are logarithmic.",
    cells,
    claims,
    charts,
    remark="Each round counts with its best time of several runs; lifting a value is not timed.",
)
