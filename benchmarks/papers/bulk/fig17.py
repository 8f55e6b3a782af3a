"""Bulk evicts on Spark: so many rows leave at once."""

from __future__ import annotations

from functools import partial

from benchmarks.papers import spark
from benchmarks.papers.figure import Cell, Context, Figure
from benchmarks.papers.spark import Side

SLIDES = {"smoke": (4, 16), "quick": (2**3, 2**9)}


def cells(context: Context) -> list[Cell]:
    """Return one cell per slide."""
    n = spark.WINDOW[context.size]
    rows = spark.SIZES[context.size][0]

    def sides(slide: int) -> list[Side]:
        own = spark.bearable(context, spark.COPY * n // slide)
        found = [Side("slidefold", rows, lambda data: spark.sliding_features(data, n, slide))]
        if spark.plannable(context, n // slide):
            found.append(Side("spark", own, lambda data: spark.sliding_window(data, n, slide)))
        return found

    slides = SLIDES.get(context.size, (*(2**k for k in range(0, 13, 3)), 2**13))
    return [spark.cell(context, {"m": slide}, partial(sides, slide)) for slide in slides]


FIGURE = Figure(
    "bulk.fig17",
    "Bulk FiBA figure 17: bulk evicts, on Spark instead of Flink",
    "FiBA is much faster than the built-in window, and improves with larger bulks.",
    cells,
    partial(spark.claims, x="m", rising=("slidefold",)),
    partial(spark.charts, x="m", label="rows that leave at once, m"),
    missing=spark.missing,
    remark="A window that slides by m seconds, with one row per second. Spark's own windows "
    "begin at m = 64, except in a full run: finer ones take minutes beside other work.",
)
