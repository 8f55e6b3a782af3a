"""Throughput against recomputation."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.figure import Claim, Figure, where
from benchmarks.papers.reactive import ISS, RA, lines
from benchmarks.papers.shapes import ratios, typical


def claims(rows: list[Row]) -> list[Claim]:
    """Judge the largest and the smallest window."""
    found = []
    for operator in lines.OPERATORS:
        chosen = where(rows, operator=operator)
        last = max(row["n"] for row in chosen)
        speed = {row["side"]: row["million_per_second"] for row in where(chosen, n=last)}
        ratio = speed[RA] / speed[ISS]
        small = [row for row in chosen if row["n"] <= 4]
        little = typical(ratios(small, "million_per_second", RA, ISS, by="n"))
        found += [
            Claim(
                "at windows of 1,024 RA is several times as fast (3x to 10x)",
                ratio >= 2,
                f"RA has {ratio:.1f}x the throughput at n = {last}",
                about=operator,
            ),
            Claim(
                "at small windows RA is slightly slower (5 to 10%)",
                0.5 <= little <= 1.1,
                f"{little:.2f}x the throughput of recomputation at n <= 4",
                about=operator,
            ),
        ]
    return found


FIGURE = Figure(
    "reactive.fig6",
    "Reactive Aggregator figure 6: throughput against recomputation",
    "RA is 5 to 10% slower on small windows, and 3x (max) to 10x (std) as fast at 1,024.",
    partial(lines.cells, sides=(RA, ISS), bulks={"m=1": lambda n: 1}, largest=1_024),
    claims,
    partial(lines.charts, y="million_per_second", label="million tuples per second"),
)
