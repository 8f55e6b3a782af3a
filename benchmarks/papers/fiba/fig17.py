"""In-order data on Spark, by window size."""

from __future__ import annotations

from functools import partial

from benchmarks.papers import spark
from benchmarks.papers.figure import Cell, Context, Figure
from benchmarks.papers.spark import Side

WINDOWS = {"smoke": (1, 2**4), "quick": (1, 2**4, 2**9)}


def cells(context: Context) -> list[Cell]:
    """Return one cell per window size."""
    rows = spark.SIZES[context.size][0]

    def sides(n: int) -> list[Side]:
        own = spark.bearable(context, n, window=n)
        return [
            Side("slidefold", rows, lambda data: spark.rows_features(data, "sum", n)),
            Side("spark", own, lambda data: spark.rows_window(data, "sum", n)),
        ]

    windows = WINDOWS.get(context.size, (*(2**k for k in range(0, 14, 2)), 2**13))
    return [spark.cell(context, {"n": n}, partial(sides, n)) for n in windows]


FIGURE = Figure(
    "fiba.fig17",
    "FiBA figure 17: in-order data, on Spark instead of Flink",
    "The throughput of the built-in window falls linearly with n; the incremental ones are flat.",
    cells,
    partial(spark.claims, x="n", least=10, flat=("slidefold",), falling=("spark",)),
    partial(spark.charts, x="n", label="window size n"),
    missing=spark.missing,
    remark="A batch of 4 keys, windows of n rows.",
)
