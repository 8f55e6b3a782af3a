"""Changes per firing: m = 1, 4, 64, n/16, n/4, n."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.figure import Claim, Figure, where
from benchmarks.papers.reactive import RA, lines
from benchmarks.papers.shapes import per_doubling, spread, values


def claims(rows: list[Row]) -> list[Claim]:
    """Judge log n for a constant m, and a constant cost where m is a share of n."""
    counted = where(rows, operator="counted")
    # In smaller windows n/16 is less than 16 changes, and what each firing costs by itself shows.
    counts = [row for row in counted if row["n"] >= 256] or counted
    shares = [side for side in lines.FIXED if "n" in side]
    flat = max(spread(values(counts, "combines", side=side)) for side in shares)
    ones = where(counts, side="m=1")
    slope, fit = per_doubling(values(ones, "n"), values(ones, "combines"))
    return [
        Claim(
            "where m is a share of n, the cost per tuple is constant",
            flat <= 1.5,
            f"combines per tuple vary by {flat:.2f}x over n",
            promised=True,
        ),
        Claim(
            "for m = 1 it grows with log n",
            slope > 0.5 and fit >= 0.9,
            f"{slope:.2f} more combines per doubling of n, r2 = {fit:.2f}",
            promised=True,
        ),
    ]


FIGURE = Figure(
    "reactive.fig10",
    "Reactive Aggregator figure 10: changes per firing",
    "A firing of m changes costs O(1 + log(n/m)) per tuple: straight over log n for a constant m, "
    "constant where m is a share of n.",
    partial(lines.cells, sides=(RA,), bulks=lines.FIXED, operators=("std",), counts=True),
    claims,
    lines.charts,
)
