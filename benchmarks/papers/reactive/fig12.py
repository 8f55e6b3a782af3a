"""Resident memory of RA and of recomputation."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row, measured_apart
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, curves
from benchmarks.papers.reactive import ISS, RA
from benchmarks.papers.shapes import values

WINDOWS: dict[str, tuple[int, ...]] = {
    "smoke": (4, 64),
    "quick": (4, 256, 4_096),
    "default": (4, 16, 64, 256, 1_024, 4_096),
    "full": (4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096),
}
PROGRAM = """
import sys
from benchmarks.papers.rounds import OPERATORS, make
side, n = sys.argv[1], int(sys.argv[2])
window = make(side, OPERATORS["max"]())
for i in range(n):
    window.insert(float(i % 97))
for i in range(n):
    window.evict()
    window.insert(float(i % 89))
    window.query()
print(largest(), window.nbytes)
"""


def cells(context: Context) -> list[Cell]:
    """Return one cell per window, each side in a process of its own."""

    def measured(n: int) -> list[Row]:
        rows = []
        for side in (RA, ISS):
            resident, kept = measured_apart(PROGRAM, side, n)
            rows.append({"side": side, "mb": resident / 1e6, "bytes": kept})
        return rows

    return [Cell({"n": n}, partial(measured, n)) for n in WINDOWS[context.size]]


def claims(rows: list[Row]) -> list[Claim]:
    """Judge linear space with a small constant."""
    largest = max(row["n"] for row in rows)
    per_value = values(rows, "bytes", side=RA, n=largest)[0] / largest
    ra, iss = (values(rows, "mb", side=side, n=largest)[0] for side in (RA, ISS))
    return [
        Claim(
            "RA needs O(n) space with a small constant",
            per_value <= 4 * 16,
            f"{per_value:.0f} bytes per value at n = {largest}",
            promised=True,
        ),
        Claim(
            "the window is small beside the process",
            ra / iss <= 1.1,
            f"{ra:.0f} MB with RA, {iss:.0f} MB with recomputation",
        ),
    ]


def charts(rows: list[Row]) -> list[Chart]:
    """Return the resident set against the window."""
    return [Chart("max", "window size n", "resident MB", curves(rows, "n", "mb"))]


FIGURE = Figure(
    "reactive.fig12",
    "Reactive Aggregator figure 12: resident memory",
    "At windows up to 4,096 the memory of RA is small beside that of the process.",
    cells,
    claims,
    charts,
)
