"""Latency of bulk inserts out of order."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.bulk import TREES, latency
from benchmarks.papers.figure import Claim, Figure, where


def claims(rows: list[Row]) -> list[Claim]:
    """Judge bulk against single inserts at d = m."""
    last = max(row["m"] for row in where(rows, operator="counted"))
    counts = {row["side"]: row["combines"] for row in where(rows, operator="counted", m=last)}
    fewer = counts["nb_fiba4"] / counts["b_fiba4"]
    found = [
        Claim(
            "a late bulk takes fewer combines than late single inserts",
            fewer > 1,
            f"single inserts take {fewer:.1f}x the combines at m = d = {last}",
            promised=True,
        )
    ]
    for operator in dict.fromkeys(row["operator"] for row in rows if "median" in row):
        median = {row["side"]: row["median"] for row in where(rows, operator=operator)}
        ratio = median["nb_fiba4"] / median["b_fiba4"]
        found.append(
            Claim(
                "a late bulk insert is faster than single inserts",
                ratio > 1,
                f"single inserts take {ratio:.1f}x as long",
                about=operator,
            )
        )
    return found


FIGURE = Figure(
    "bulk.fig9",
    "Bulk FiBA figure 9: latency of bulk inserts out of order",
    "Bulk inserts have lower latency than loops of single inserts.",
    partial(latency.cells, sides=TREES, part="insert", late=True, insert=True),
    claims,
    latency.charts,
    remark="The distance d equals m. Bloom filters run at n = 2^20.",
)
