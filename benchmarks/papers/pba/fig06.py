"""Time windows over data at 100 Hz: ranges of 6 to 60 minutes, slides of 10 to 100 ms."""

from __future__ import annotations

from functools import partial

from benchmarks.papers.figure import Cell, Context, Figure
from benchmarks.papers.pba import throughput

HERTZ = 100
MINUTES = {"smoke": (0.02,), "quick": (6, 30)}
SLIDES = {"smoke": (10, 30), "quick": (10, 100)}


def cells(context: Context) -> list[Cell]:
    """Return one cell per range at a slide of 10 ms, and one per slide at the longest range."""
    minutes = MINUTES.get(context.size, tuple(range(6, 61, 6)))
    slides = SLIDES.get(context.size, tuple(range(10, 101, 10)))
    longest = int(max(minutes) * 60 * HERTZ)
    windows: list[tuple[str, float, int, int]] = [
        ("range", length, int(length * 60 * HERTZ), 1) for length in minutes
    ]
    windows += [("slide", slide, longest, slide * HERTZ // 1000) for slide in slides]
    return throughput.cells(context, windows, real=True)


FIGURE = Figure(
    "pba.fig6",
    "PBA figure 6: throughput of time windows",
    "PBA has the best throughput, and SBA beats Two-Stacks and SlickDeque.",
    cells,
    throughput.claims,
    partial(
        throughput.charts,
        labels={"range": "range in minutes", "slide": "slide in milliseconds"},
        log=False,
    ),
    remark="A slide of 10 ms is one row of data at 100 Hz.",
)
