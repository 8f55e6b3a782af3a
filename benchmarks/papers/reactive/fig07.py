"""Cost per tuple to n = 8 M, and its fit to log n."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.figure import Chart, Claim, Figure, Series, where
from benchmarks.papers.reactive import RA, lines
from benchmarks.papers.shapes import per_doubling, values


def claims(rows: list[Row]) -> list[Claim]:
    """Judge the fit of combines, and of time."""
    counts = where(rows, operator="counted")
    slope, fit = per_doubling(values(counts, "n"), values(counts, "combines"))
    found = [
        Claim(
            "the cost is logarithmic in n",
            0.5 <= slope <= 8 and fit >= 0.9,
            f"{slope:.2f} more combines per doubling of n, r2 = {fit:.2f}",
            promised=True,
        )
    ]
    for operator in lines.OPERATORS:
        chosen = [row for row in where(rows, operator=operator) if row["n"] >= 4]
        slope, fit = per_doubling(values(chosen, "n"), values(chosen, "us"))
        found.append(
            Claim(
                "the time fits log n",
                fit >= 0.7,
                f"{1e3 * slope:.1f} ns per doubling, r2 = {fit:.2f}",
                about=operator,
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return the time and its fit."""
    found = []
    for chart in lines.charts(rows):
        x, y = list(chart.series[0].x), list(chart.series[0].y)
        slope, _ = per_doubling(x, y)
        middle = sum(y) / len(y)
        center = sum(n.bit_length() - 1 for n in x) / len(x)
        line = [middle + slope * (n.bit_length() - 1 - center) for n in x]
        series = [*chart.series, Series("fit to log n", x, line, grey=True)]
        found.append(Chart(chart.title, chart.x, chart.y, series))
    return found


FIGURE = Figure(
    "reactive.fig7",
    "Reactive Aggregator figure 7: cost per tuple",
    "The cost per tuple fits a straight line over log n up to 8 M, without a knee.",
    partial(lines.cells, sides=(RA,), bulks={"m=1": lambda n: 1}, counts=True),
    claims,
    charts,
)
