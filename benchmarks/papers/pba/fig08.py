"""max over 2^10 rows per plug on Spark, by parallelism."""

from __future__ import annotations

from functools import partial

from benchmarks.papers import spark
from benchmarks.papers.data import plugs
from benchmarks.papers.figure import Cell, Context, Figure
from benchmarks.papers.spark import Side

PLUGS = 84  # of the generator
LENGTH = {"smoke": 2**4, "quick": 2**8}


def cells(context: Context) -> list[Cell]:
    """Return one cell per number of partitions that work at a time."""
    n = LENGTH.get(context.size, 2**10)
    rows = spark.SIZES[context.size][0]
    own = spark.bearable(context, n, window=n, keys=PLUGS)

    def sides(parts: int) -> list[Side]:
        return [
            Side(
                "slidefold",
                rows,
                lambda data: spark.rows_features(data, "max", n, partitions=parts),
                events=plugs(context, rows),
            ),
            Side(
                "spark",
                own,
                lambda data: spark.rows_window(data.repartition(parts, "k"), "max", n),
                events=plugs(context, own),
            ),
        ]

    return [spark.cell(context, {"parts": parts}, partial(sides, parts)) for parts in (1, 2)]


FIGURE = Figure(
    "pba.fig8",
    "PBA figure 8: max over 2^10 rows per plug, on Spark instead of Flink",
    "Throughput rises with the parallelism, and PBA stays well above the built-in window.",
    cells,
    partial(spark.claims, x="parts", rising=("slidefold", "spark")),
    partial(spark.charts, x="parts", label="partitions"),
    missing=spark.missing,
    remark="The number of partitions stands for the parallelism.",
)
