"""Out-of-order data on Spark, by distance."""

from __future__ import annotations

from functools import partial

from benchmarks.papers import spark
from benchmarks.papers.figure import Cell, Context, Figure
from benchmarks.papers.spark import Side

DISTANCES = {"smoke": (0, 4), "quick": (0, 2**6)}


def cells(context: Context) -> list[Cell]:
    """Return one cell per distance of the input's order."""
    n = spark.WINDOW[context.size]
    rows = spark.SIZES[context.size][0]

    def sides(d: int) -> list[Side]:
        own = spark.bearable(context, n, window=n)
        return [
            Side("slidefold", rows, lambda data: spark.rows_features(data, "sum", n), d),
            Side("spark", own, lambda data: spark.rows_window(data, "sum", n), d),
        ]

    distances = DISTANCES.get(context.size, (0, 2**4, 2**8, 2**12))
    return [spark.cell(context, {"d": d}, partial(sides, d)) for d in distances]


FIGURE = Figure(
    "fiba.fig16",
    "FiBA figure 16: out-of-order data, on Spark instead of Flink",
    "The built-in window does not depend on the distance, and is orders of magnitude slower.",
    cells,
    partial(spark.claims, x="d", least=10, flat=("spark",)),
    partial(spark.charts, x="d", label="distance d (0 at the left)"),
    missing=spark.missing,
    remark="A batch: both sides sort after the shuffle. Windows of 2^13 rows per key, 4 keys.",
)
