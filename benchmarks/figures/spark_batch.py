"""`run` over Spark DataFrames, compared with Spark's own windows and the floor of Python workers.

The floor is the least time of any engine in Python workers: the same shuffle, with rows sent to
Python and back. All sides run in one session over the same cached rows, one after another. There
are so many rows that the fixed cost of a job does not matter. If Spark's own windows would take
minutes, they get fewer rows with fewer keys, so that frames have about the same length (shorter for
the slowest operators). Costs are per row. Arrow batches are limited by rows only, as in the stream
figure; this does not affect Spark's own windows.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import slidefold as sf
from benchmarks.harness import Row, pivot

# `make bench` leaves this out: `make bench-spark` installs Spark first.
NEEDS_SPARK = True
TREE = "spark.sql.window.segmentTree.enabled"
TREES = ("sum", "max", "std")  # the operators that the segment tree supports
FLOORS = ("sum", "max")  # the floor is the same for all operators, so it is measured for these
# Rows times rows per frame that Spark's own sum processes in half a minute on two cores.
BEARABLE = 4_000_000_000
MEDIAN = 40  # the cost of a median in Spark, in multiples of a sum
SPREAD = 8  # enough keys for all cores


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int
    fewer: tuple[int, ...]  # rows for sides that would take too long
    keys: tuple[int, ...]
    frames: tuple[int, ...]  # average rows per window
    operators: tuple[str, ...]
    keyless_rows: int
    shares: tuple[float, ...]  # the share of all rows in a window without a key
    rounds: int

    @property
    def all_rows(self) -> tuple[int, ...]:
        """All numbers of rows, the largest first."""
        return (self.rows, *self.fewer)


SIZES = {
    "full": Sizes(
        4_000_000,
        (250_000, 25_000),
        (100, 1, 10_000, 100_000),
        (10, 1_000, 10_000),
        ("sum", "max", "std", "max_by", "approx_distinct", "median", "user"),
        5_000_000,
        (0.0001, 0.01, 0.1, 0.5),
        2,
    ),
    "quick": Sizes(
        1_000_000,
        (250_000, 25_000),
        (100, 100_000),
        (1_000,),
        ("sum", "max", "max_by", "approx_distinct"),
        1_000_000,
        (0.001, 0.3),
        3,
    ),
    "smoke": Sizes(500, (100, 10), (5,), (10,), ("sum",), 400, (0.5,), 1),
}  # fmt: skip


@sf.operator(state={"n": "i8", "sum": "f8"}, returns="f8", commutative=True)
class Average(sf.Fold):
    """A user operator: the mean."""

    identity = staticmethod(lambda: (0, 0.0))
    lift = staticmethod(lambda x: (1, x))
    combine = staticmethod(lambda a, b: (a.n + b.n, a.sum + b.sum))
    lower = staticmethod(lambda s: s.sum / s.n if s.n else 0.0)


def measure(sizes: Sizes) -> list[Row]:
    """Measure all operators by key, then all shares without a key."""
    from pyspark.sql import SparkSession

    given = SparkSession.getActiveSession()
    spark = given or new_session()
    try:
        return [*_keyed(spark, sizes), *_keyless(spark, sizes)]
    finally:
        spark.conf.unset(TREE)
        if given is None:
            spark.stop()


def new_session() -> Any:
    """Start Spark on all cores of this machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]").appName("spark_batch")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _rows(spark: Any, rows: int, keys: int) -> Any:
    """Return rows in time order, one per step, with random keys and values."""
    from pyspark.sql import functions as fn

    data = spark.range(rows).select(
        fn.col("id").alias("t"),
        (fn.hash("id") % keys).cast("long").alias("k"),
        fn.randn(5).alias("x"),
        (fn.hash(fn.col("id") + 1) % 1000).cast("long").alias("y"),
    )
    data = data.repartition(2 * spark.sparkContext.defaultParallelism).cache()
    data.count()
    return data


def best(make: Callable[[], Any], rounds: int) -> float:
    """Return the best time in which a DataFrame is computed, in seconds."""
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        make().write.format("noop").mode("overwrite").save()
        least = min(least, time.perf_counter() - start)
    return least


def _keyed(spark: Any, sizes: Sizes) -> Iterator[Row]:
    for keys in sizes.keys:
        tables = {rows: _rows(spark, rows, _keys(sizes, keys, rows)) for rows in sizes.all_rows}
        if keys == sizes.keys[0]:
            # Warm up: Java keeps compiling for many queries.
            few = replace(sizes, rows=sizes.fewer[0])
            for _, _, make in _sides(spark, tables, few, "sum", keys, few.frames[0]):
                best(make, 6 * sizes.rounds)
        for operator in sizes.operators:
            for frame in sizes.frames:
                place: Row = {"part": "by key", "operator": operator, "keys": keys, "frame": frame}
                for side, rows, make in _sides(spark, tables, sizes, operator, keys, frame):
                    cost = best(make, sizes.rounds) / rows * 1e6
                    yield {**place, "side": side, "rows": rows, "us_per_row": cost}
        for table in tables.values():
            table.unpersist()


def _keys(sizes: Sizes, keys: int, rows: int) -> int:
    """Return the number of keys for fewer rows, with the same number of rows per key."""
    return max(min(keys, SPREAD), keys * rows // sizes.rows)


def _sides(
    spark: Any, tables: dict[int, Any], sizes: Sizes, operator: str, keys: int, frame: int
) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    length, data = frame * keys, tables[sizes.rows]
    definition = sf.rolling(on="t", by="k", r=_operator(operator).over(sf.time(length)))
    parts = 2 * spark.sparkContext.defaultParallelism
    yield "slidefold", sizes.rows, lambda: definition.run(data, partitions=parts)
    if operator in FLOORS:
        yield "floor", sizes.rows, lambda: _floor(data, parts)
    if operator == "user":
        return  # a pandas function per frame would take minutes
    spark.conf.set(TREE, "false")
    rows = _bearable(sizes, operator, keys, frame)
    shorter = frame * _keys(sizes, keys, rows)
    yield "spark", rows, lambda: _over(tables[rows], operator, shorter)
    if operator in TREES:  # the segment tree does not change the others
        spark.conf.set(TREE, "true")
        yield "spark tree", sizes.rows, lambda: _over(data, operator, length)


def _bearable(sizes: Sizes, operator: str, keys: int, frame: int) -> int:
    """Return the number of rows for Spark's own windows; one core processes one key."""
    weight = (MEDIAN if operator == "median" else 1) * (2 if keys == 1 else 1)
    filled = (
        rows * min(frame, max(rows // _keys(sizes, keys, rows), 1)) for rows in sizes.all_rows
    )
    pairs = zip(sizes.all_rows, filled, strict=True)
    return next((rows for rows, steps in pairs if weight * steps <= BEARABLE), sizes.all_rows[-1])


def _operator(name: str) -> Any:
    if name == "user":
        return Average("x")
    return sf.max_by("y", "x") if name == "max_by" else getattr(sf, name)(_column(name))


def _column(name: str) -> str:
    return "y" if name == "approx_distinct" else "x"


def _over(data: Any, name: str, length: int, keyed: bool = True) -> Any:
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    column = {
        "sum": lambda: fn.sum("x"),
        "max": lambda: fn.max("x"),
        "std": lambda: fn.stddev("x"),
        "max_by": lambda: fn.max_by("y", "x"),
        "approx_distinct": lambda: fn.approx_count_distinct("y"),
        "median": lambda: fn.percentile("x", 0.5),
    }[name]()
    window = Window.partitionBy("k") if keyed else Window.partitionBy()
    return data.select("*", column.over(window.orderBy("t").rangeBetween(1 - length, 0)).alias("r"))


def _floor(data: Any, parts: int) -> Any:
    def same(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    return data.repartition(parts, "k").mapInArrow(same, data.schema)


def _keyless(spark: Any, sizes: Sizes) -> Iterator[Row]:
    data = _rows(spark, sizes.keyless_rows, 10)
    parts = 2 * spark.sparkContext.defaultParallelism
    for share in sizes.shares:
        length = max(1, int(share * sizes.keyless_rows))
        definition = sf.rolling(on="t", r=sf.sum("x").over(sf.time(length)))
        place: Row = {"part": "no key", "operator": "sum", "keys": 0, "frame": length}
        spark.conf.set(TREE, "true")
        for side, make in (
            # The default: one worker on few cores, chunks of time on more.
            ("slidefold", lambda d=definition: d.run(data)),
            ("chunks", lambda d=definition: d.run(data, partitions=parts)),
            ("spark tree", lambda n=length: _over(data, "sum", n, keyed=False)),
        ):
            cost = best(make, sizes.rounds) / sizes.keyless_rows * 1e6
            yield {**place, "side": side, "us_per_row": cost}
    data.unpersist()


def show(rows: list[Row]) -> str:
    """Format one table per part."""
    tables = []
    for part in dict.fromkeys(row["part"] for row in rows):
        lines = [
            {**row, "what": f"{row['operator']}, {row['keys']} keys, frames of {row['frame']}"}
            for row in rows
            if row["part"] == part
        ]
        title = f"Spark batch, {part}: us per row"
        tables.append(pivot(title, lines, down="what", across="side", value="us_per_row"))
    return "\n".join(tables)
