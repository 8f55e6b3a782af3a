"""Latency of bulk inserts in order."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.bulk import SIDES, TREES, latency
from benchmarks.papers.figure import Claim, Figure, where
from benchmarks.papers.shapes import values


def claims(rows: list[Row]) -> list[Claim]:
    """Judge O(m) inserts by combines, and the ranking by time."""
    counts = where(rows, operator="counted")
    growth = counts[-1]["m"] / counts[0]["m"]
    rises = {
        side: values(counts, "combines", side=side)[-1] / values(counts, "combines", side=side)[0]
        for side in ("two_stacks_lite", "daba_lite", "b_fiba4")
    }
    found = [
        Claim(
            "inserting m values in order takes O(m)",
            max(rises.values()) <= 1.5 * growth,
            f"{growth:.0f}x the bulk takes at most {max(rises.values()):.0f}x the combines",
            promised=True,
        )
    ]
    for operator in dict.fromkeys(row["operator"] for row in rows if "median" in row):
        median = {row["side"]: row["median"] for row in where(rows, operator=operator)}
        trees = min(median[side] for side in (*TREES, "amta"))
        ratio = trees / max(median["two_stacks_lite"], median["daba_lite"])
        found.append(
            Claim(
                "Two-Stacks Lite and DABA Lite insert faster than the trees",
                ratio > 1,
                f"the best tree takes {ratio:.1f}x as long as the slower of them",
                about=operator,
            )
        )
    return found


FIGURE = Figure(
    "bulk.fig8",
    "Bulk FiBA figure 8: latency of bulk inserts in order",
    "All algorithms take O(m); Two-Stacks Lite and DABA Lite are the fastest.",
    partial(latency.cells, sides=SIDES, part="insert", late=False, insert=True),
    claims,
    latency.charts,
    remark="Bloom filters run at n = 2^20, because 2^22 of them do not fit in memory.",
)
