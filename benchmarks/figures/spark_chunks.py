"""What chunks of time cost on Spark: few rows with many columns, chunks and hot keys.

Each column has a window of its own length, so that the halos and middles of all columns differ. The
rows are so few that one worker would do. `whole` is the same definition without chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import slidefold as sf
from benchmarks.figures.spark_batch import best, new_session
from benchmarks.harness import Row, table

NEEDS_SPARK = True
HOURS = 720  # the time that the rows cover
OPERATORS: tuple[Callable[[str], Any], ...] = (
    *(sf.sum, sf.max, sf.mean, sf.min, sf.std, sf.count, sf.last),
)


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int
    columns: tuple[int, ...]
    chunks: tuple[int, ...]
    hot: tuple[int, ...]  # numbers of hot keys, which have 70% of the rows
    rounds: int


SIZES = {
    "full": Sizes(53_000, (3, 35), (5, 16), (1, 7), 3),
    "quick": Sizes(53_000, (3, 35), (16,), (7,), 2),
    "smoke": Sizes(200, (2,), (3,), (1,), 1),
}
PARTITIONS, SHARE = 4, 0.05


def measure(sizes: Sizes) -> list[Row]:
    """Time runs without a key in chunks, and by key with hot keys."""
    from pyspark.sql import SparkSession

    given = SparkSession.getActiveSession()
    spark = given or new_session()
    try:
        return [row for columns in sizes.columns for row in _measure(spark, sizes, columns)]
    finally:
        if given is None:
            spark.stop()


def _measure(spark: Any, sizes: Sizes, columns: int) -> list[Row]:
    features = {
        f"f{i}": OPERATORS[i % len(OPERATORS)]("x").over(f"{3 * i + 1}h") for i in range(columns)
    }
    keyless = sf.rolling(on="t", columns=features)
    keyed = sf.rolling(on="t", by="k", columns=features)
    results: list[Row] = []

    def note(what: str, definition: Any, data: Any, **options: Any) -> None:
        definition.run(data, **options).write.format("noop").mode("overwrite").save()
        seconds = best(lambda: definition.run(data, **options), sizes.rounds)
        results.append({"columns": columns, "what": what, "seconds": seconds})

    for hot in sizes.hot:
        data = _rows(spark, sizes.rows, hot).cache()
        data.count()
        if hot == sizes.hot[0]:
            note("no key, whole", keyless, data, partitions=1)
            for chunks in sizes.chunks:
                note(f"no key, {chunks} chunks", keyless, data, partitions=chunks)
            note("by key, whole", keyed, data, partitions=PARTITIONS, skew="off")
        note(f"by key, {hot} hot", keyed, data, partitions=PARTITIONS, skew=SHARE)
        data.unpersist()
    return results


def _rows(spark: Any, rows: int, hot: int) -> Any:
    from pyspark.sql import functions as fn

    def random(seed: int, below: int) -> Any:
        return fn.pmod(fn.xxhash64("id", fn.lit(seed)), fn.lit(below))

    return spark.range(rows, numPartitions=PARTITIONS).select(
        fn.timestamp_micros(random(1, HOURS * 3_600_000_000)).alias("t"),
        fn.when(random(2, 10) < 7, random(3, hot)).otherwise(100 + random(4, 1000)).alias("k"),
        fn.rand(5).alias("x"),
    )


def show(rows: list[Row]) -> str:
    """Format one table."""
    cells = [[row["columns"], row["what"], row["seconds"]] for row in rows]
    return table("Chunks of time over few rows", ["columns", "what", "seconds"], cells)
