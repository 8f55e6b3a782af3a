"""Count-based windows: ranges 2^3 to 2^20, slide 1."""

from __future__ import annotations

from functools import partial

from benchmarks.papers.figure import Cell, Context, Figure
from benchmarks.papers.pba import throughput

POWERS = {"smoke": (3, 5), "quick": (3, 7, 11, 15), "default": tuple(range(3, 21))}


def cells(context: Context) -> list[Cell]:
    """Return one cell per range."""
    powers = POWERS.get(context.size, POWERS["default"])
    return throughput.cells(context, [("range", 2**k, 2**k, 1) for k in powers])


FIGURE = Figure(
    "pba.fig4",
    "PBA figure 4: throughput by range",
    "SBA beats Two-Stacks and SlickDeque at all ranges; from 2^15 on PBA is 2.5x and 4x as fast as "
    "they are.",
    cells,
    throughput.claims,
    partial(throughput.charts, labels={"range": "range in rows"}, log=True),
)
