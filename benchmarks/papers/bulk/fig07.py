"""Latency of bulk evicts in order."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.bulk import SIDES, latency
from benchmarks.papers.figure import Claim, Figure, where
from benchmarks.papers.shapes import values


def claims(rows: list[Row]) -> list[Claim]:
    """Judge O(log m) evicts by combines, and the ranking by time."""
    counts = where(rows, operator="counted")
    bulk = values(counts, "combines", side="b_fiba4")
    single = values(counts, "combines", side="nb_fiba4")
    growth = counts[-1]["m"] / counts[0]["m"]
    found = [
        Claim(
            "a bulk evict of FiBA takes O(log m), a loop of evicts O(m)",
            bulk[-1] / max(bulk[0], 1) <= growth**0.5 and single[-1] / single[0] >= growth**0.5,
            f"{growth:.0f}x the bulk takes {bulk[-1] / max(bulk[0], 1):.1f}x the combines in bulk "
            f"and {single[-1] / single[0]:.1f}x in a loop",
            promised=True,
        ),
    ]
    for operator in dict.fromkeys(row["operator"] for row in rows if "median" in row):
        median = {row["side"]: row["median"] for row in where(rows, operator=operator)}
        ratio = median["nb_fiba4"] / median["b_fiba4"]
        others = min(median["two_stacks_lite"], median["daba_lite"])
        found += [
            Claim(
                "a bulk evict is much faster than a loop",
                ratio >= 5,
                f"a loop takes {ratio:.1f}x as long as a bulk evict",
                about=operator,
            ),
            Claim(
                "FiBA in bulk and AMTA have the best latencies",
                max(median["b_fiba4"], median["amta"]) < others,
                f"algorithms without bulk evicts take "
                f"{others / max(median['b_fiba4'], median['amta']):.1f}x as long",
                about=operator,
            ),
        ]
    return found


FIGURE = Figure(
    "bulk.fig7",
    "Bulk FiBA figure 7: latency of bulk evicts in order",
    "FiBA in bulk and AMTA have the best latencies; loops of single evicts take O(m).",
    partial(latency.cells, sides=SIDES, part="evict", late=False, insert=False),
    claims,
    latency.charts,
    remark="Bloom filters run at n = 2^20, because 2^22 of them do not fit in memory.",
)
