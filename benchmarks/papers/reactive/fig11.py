"""RA against the base intervals of Arasu and Widom."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.figure import Claim, Figure, where
from benchmarks.papers.reactive import AW, RA, lines
from benchmarks.papers.shapes import per_doubling, ratios, typical, values

BULKS = {name: lines.FIXED[name] for name in ("m=1", "m=n/16")}


def claims(rows: list[Row]) -> list[Claim]:
    """Judge that both grow alike, and which is faster."""
    counts = where(rows, operator="counted")
    slopes = {
        side: per_doubling(
            values(counts, "n", side=f"{side} m=1"), values(counts, "combines", side=f"{side} m=1")
        )[0]
        for side in (RA, AW)
    }
    gains = {
        label: typical(
            ratios(where(rows, operator="max"), "ns", f"{AW} {label}", f"{RA} {label}", by="n")
        )
        for label in BULKS
    }
    return [
        Claim(
            "both are logarithmic in n",
            all(0.3 < slope < 8 for slope in slopes.values()),
            ", ".join(
                f"{side}: {slope:.2f} combines per doubling" for side, slope in slopes.items()
            ),
            promised=True,
        ),
        *(
            Claim(
                "RA is faster by a constant factor",
                gain > 1,
                f"AW takes {gain:.2f}x as long",
                about=label,
            )
            for label, gain in gains.items()
        ),
    ]


FIGURE = Figure(
    "reactive.fig11",
    "Reactive Aggregator figure 11: against base intervals",
    "Arasu and Widom's algorithm has the same complexity and is slower by a constant factor.",
    partial(lines.cells, sides=(RA, AW), bulks=BULKS, operators=("max",), counts=True),
    claims,
    lines.charts,
)
