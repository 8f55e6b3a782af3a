"""Questions on Spark: `at=` against `run` over as many rows, also with one hot key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.figures.questions import SPAN, definition
from benchmarks.figures.spark_batch import best, new_session
from benchmarks.harness import Row, table

NEEDS_SPARK = True


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    events: int
    questions: int
    keys: int
    rounds: int


SIZES = {
    "full": Sizes(4_000_000, 400_000, 40_000, 3),
    "quick": Sizes(1_000_000, 100_000, 10_000, 2),
    "smoke": Sizes(400, 40, 10, 1),
}
HOT = 0.2  # the share of the rows from which a key is cut into chunks of time


def measure(sizes: Sizes) -> list[Row]:
    """Time both by key, and with one key that holds half of the rows."""
    from pyspark.sql import SparkSession

    given = SparkSession.getActiveSession()
    spark = given or new_session()
    try:
        return [row for hot in (False, True) for row in _measure(spark, sizes, hot)]
    finally:
        if given is None:
            spark.stop()


def _measure(spark: Any, sizes: Sizes, hot: bool) -> list[Row]:
    features = definition(sizes.events // sizes.keys)
    if hot:  # rows windows cannot be cut in time
        features = features.only("total", "count", "top", "mean")
    events = _rows(spark, sizes.events, sizes.keys, hot).cache()
    questions = _rows(spark, sizes.questions, sizes.keys, hot).select("t", "k").cache()
    both = _rows(spark, sizes.events + sizes.questions, sizes.keys, hot).cache()
    for data in (events, questions, both):
        data.count()
    # Without partitions= so few rows would not be cut.
    partitions = 2 * spark.sparkContext.defaultParallelism
    options: dict[str, Any] = {"skew": HOT, "partitions": partitions} if hot else {}
    features.run(both, **options).write.format("noop").mode("overwrite").save()  # to start workers
    runs = best(lambda: features.run(both, **options), sizes.rounds)
    asks = best(lambda: features.run(events, at=questions, **options), sizes.rounds)
    for data in (events, questions, both):
        data.unpersist()
    keys = "one key has half of the rows" if hot else "keys alike"
    return [
        {"keys": keys, "what": "run over as many rows", "seconds": runs, "ratio": None},
        {"keys": keys, "what": "at=", "seconds": asks, "ratio": asks / runs},
    ]


def _rows(spark: Any, rows: int, keys: int, hot: bool) -> Any:
    """Return rows whose times and keys are spread evenly, but for a hot key."""
    from pyspark.sql import functions as fn

    key = fn.pmod(fn.xxhash64("id"), fn.lit(keys))
    if hot:
        key = fn.when(fn.pmod(fn.hash("id"), fn.lit(2)) == 0, fn.lit(0)).otherwise(key)
    return spark.range(rows, numPartitions=2 * spark.sparkContext.defaultParallelism).select(
        fn.pmod(fn.xxhash64(fn.col("id") + 1), fn.lit(SPAN)).alias("t"),
        key.alias("k"),
        fn.rand(3).alias("x"),
    )


def show(rows: list[Row]) -> str:
    """Format one table."""
    cells = [[row["keys"], row["what"], row["seconds"], row["ratio"]] for row in rows]
    return table("Questions on Spark", ["keys", "what", "seconds", "ratio"], cells)
