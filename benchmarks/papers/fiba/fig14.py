"""Window sharing: one tree with range queries against two trees."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.harness import Row
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, curves, where
from benchmarks.papers.rounds import PAPER_OPERATORS, combines, speeds, total
from benchmarks.papers.shapes import per_doubling, ratios, typical, values

ARITIES = (2, 4, 8)
# window, window of bloom, step between powers, rounds, rounds with bloom, turns
SIZES = {
    "smoke": (2**6, 2**6, 3, 2**6, 2**5, 1),
    "quick": (2**14, 2**10, 4, 2**14, 2**9, 2),
    "default": (2**22, 2**19, 4, 2**17, 2**12, 1),
    "full": (2**22, 2**19, 1, 100_000_000, 10_000_000, 1),
}


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator and small window; the distance is half of the small window."""
    window, bloom_window, step, count, bloom_count, turns = SIZES[context.size]

    def plan(n: int, small: int, twin: bool) -> dict[str, Any]:
        return {"window": n, "distance": small // 2, "small": small, "twin": twin}

    def measured(operator: str, n: int, small: int) -> list[Row]:
        rounds = bloom_count if operator == "bloom" else count
        sides = {
            f"{kind}{arity}": partial(
                total, f"fiba{arity}", operator, count=rounds, **plan(n, small, kind == "twin")
            )
            for kind in ("twin", "range")
            for arity in ARITIES
        }
        return speeds(sides, rounds, turns)

    def counted(n: int, small: int) -> list[Row]:
        return [
            {**combines("fiba4", count=n // 4, **plan(n, small, kind == "twin")), "side": kind}
            for kind in ("twin", "range")
        ]

    few = min(window, 2**14)
    found = [
        Cell({"operator": "counted", "small": 2**k}, partial(counted, few, 2**k))
        for k in range(1, few.bit_length(), max(step, 2))
    ]
    for operator in PAPER_OPERATORS:
        n = bloom_window if operator == "bloom" else window
        found += [
            Cell({"operator": operator, "small": 2**k}, partial(measured, operator, n, 2**k))
            for k in sorted({*range(0, n.bit_length(), step), n.bit_length() - 1})
        ]
    return found


def claims(rows: list[Row]) -> list[Claim]:
    """Judge that both grow with log d, and that sharing does not gain time."""
    counts = where(rows, operator="counted")
    found = []
    if len({row["small"] for row in counts}) >= 3:
        slopes = {
            side: per_doubling(
                values(counts, "small", side=side), values(counts, "combines", side=side)
            )
            for side in ("twin", "range")
        }
        found.append(
            Claim(
                "both ways take O(log d)",
                all(0 < slope < 12 for slope, _ in slopes.values()),
                ", ".join(
                    f"{side}: {slope:.2f} combines per doubling of n_small"
                    for side, (slope, _) in slopes.items()
                ),
                promised=True,
            )
        )
    for operator in dict.fromkeys(row["operator"] for row in rows if "ns" in row):
        chosen = where(rows, operator=operator)
        gain = typical(ratios(chosen, "million_per_second", "range4", "twin4", by="small"))
        found.append(
            Claim(
                "sharing a window does not consistently change the throughput",
                1 / 3 <= gain <= 3,
                f"one tree has {gain:.2f}x the throughput of two",
                about=operator,
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return throughput against the small window."""
    return [
        Chart(
            operator,
            "small window",
            "million items per second",
            curves(where(rows, operator=operator), "small", "million_per_second"),
        )
        for operator in dict.fromkeys(row["operator"] for row in rows if "ns" in row)
    ]


FIGURE = Figure(
    "fiba.fig14",
    "FiBA figure 14: window sharing",
    "One tree with range queries takes about as long as two trees; it saves space.",
    cells,
    claims,
    charts,
    remark="Bloom filters run at n = 2^19: two trees of 2^22 of them do not fit in memory.",
)
