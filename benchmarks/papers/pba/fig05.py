"""Count-based windows: slides 1 to 10 over a range of 2^17."""

from __future__ import annotations

from functools import partial

from benchmarks.papers.figure import Cell, Context, Figure
from benchmarks.papers.pba import throughput

SLIDES = {"smoke": (1, 3), "quick": (1, 5, 10)}
RANGE = {"smoke": 2**6, "quick": 2**14}


def cells(context: Context) -> list[Cell]:
    """Return one cell per slide."""
    slides = SLIDES.get(context.size, tuple(range(1, 11)))
    length = RANGE.get(context.size, 2**17)
    return throughput.cells(context, [("slide", slide, length, slide) for slide in slides])


FIGURE = Figure(
    "pba.fig5",
    "PBA figure 5: throughput by slide",
    "PBA is the best with small slides; with larger ones all algorithms become faster and come "
    "closer to each other.",
    cells,
    throughput.closer,
    partial(throughput.charts, labels={"slide": "slide in rows"}, log=False),
    remark="Where the slide does not divide the range, Two-Stacks, SlickDeque and Recalc hold "
    "one slice less than the range.",
)
