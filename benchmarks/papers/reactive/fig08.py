"""Tumbling windows: nothing can be reused."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.figure import Claim, Figure, where
from benchmarks.papers.reactive import ISS, RA, lines
from benchmarks.papers.shapes import ratios, typical


def claims(rows: list[Row]) -> list[Claim]:
    """Judge the overhead of RA."""
    found = []
    for operator in lines.OPERATORS:
        ratio = typical(ratios(where(rows, operator=operator), "ns", RA, ISS, by="n"))
        found.append(
            Claim(
                "tumbling windows cost about the same in both",
                ratio <= 2,
                f"RA takes {ratio:.1f}x as long",
                about=operator,
            )
        )
    return found


FIGURE = Figure(
    "reactive.fig8",
    "Reactive Aggregator figure 8: tumbling windows",
    "Where nothing can be reused, RA costs about as much as recomputation.",
    partial(lines.cells, sides=(RA, ISS), bulks={"m=n": lambda n: n}, largest=4_096),
    claims,
    partial(lines.charts, y="us_per_firing", label="microseconds per firing"),
)
