"""Slide granularity on Spark, with and without slices."""

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
        found = [
            Side("slidefold", rows, lambda data: spark.sliding_features(data, n, slide)),
            Side("without slices", rows, lambda data: spark.time_features(data, n)),
        ]
        if spark.plannable(context, n // slide):
            found.append(Side("spark", own, lambda data: spark.sliding_window(data, n, slide)))
        return found

    slides = SLIDES.get(context.size, (*(2**k for k in range(0, 13, 3)), 2**13))
    return [spark.cell(context, {"slide": slide}, partial(sides, slide)) for slide in slides]


FIGURE = Figure(
    "fiba.fig18",
    "FiBA figure 18: slide granularity, on Spark instead of Flink",
    "Slices raise the throughput with coarser slides; the built-in window improves linearly.",
    cells,
    partial(spark.claims, x="slide", flat=("without slices",), rising=("slidefold", "spark")),
    partial(spark.charts, x="slide", label="slide in seconds"),
    missing=spark.missing,
    remark="One row per second, windows of 2^13 seconds, 4 keys. Without slices, a result is "
    "computed for every row, whatever the slide. Spark's own windows begin at a slide of 64, "
    "except in a full run: finer ones take minutes beside other work.",
)
