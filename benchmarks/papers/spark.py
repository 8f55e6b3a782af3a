"""The papers' experiments inside Flink, on Spark: `run` over a DataFrame and Spark's own windows.

Spark's own windows cost time in proportion to the window, so they get fewer rows, but each key has
several full windows. Costs are per row.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks.figures.spark_batch import best, new_session
from benchmarks.harness import Row
from benchmarks.papers.data import Events
from benchmarks.papers.figure import Cell, Chart, Claim, Context, curves
from benchmarks.papers.shapes import ratios, spread, typical, values

WINDOW = {"smoke": 2**4, "quick": 2**9, "default": 2**13, "full": 2**13}
KEYS = 4
COPY = 40  # to copy a row into a window and group it there costs as much as so many steps
LONG = 10.0  # seconds
# rows of slidefold, steps that Spark's own windows may take, turns
SIZES = {
    "smoke": (2_000, 20_000, 1),
    "quick": (50_000, 2_000_000, 1),
    "default": (500_000, 200_000_000, 2),
    "full": (10_000_000, 2_000_000_000, 3),
}


def missing(context: Context) -> str | None:
    """Say why Spark cannot be measured, or return None."""
    if context.size == "quick" and not context.named:
        return "the quick run leaves Spark out, unless --only names the figure"
    if find_spec("pyspark") is None:
        return "pyspark is not installed"
    return None if shutil.which("java") else "there is no Java"


def table(spark: Any, rows: int, keys: int = KEYS, *, distance: int = 0) -> Any:
    """Return cached rows, one per second; every other one is `distance` places late."""
    from pyspark.sql import functions as fn

    place = fn.col("id") + fn.when(fn.col("id") % 2 == 1, distance).otherwise(0)
    data = spark.range(rows).orderBy(place) if distance else spark.range(rows)
    data = data.select(
        fn.timestamp_seconds("id").alias("ts"),
        fn.pmod(fn.hash("id"), fn.lit(keys)).cast("long").alias("k"),
        fn.randn(5).alias("x"),
    ).cache()
    data.count()
    return data


def table_of(spark: Any, events: Events) -> Any:
    """Return events as cached rows, in the order in which they came."""
    from pyspark.sql import functions as fn

    # One microsecond apart: Spark's own windows leave the order of equal times open.
    starts = np.flatnonzero(np.diff(events.times, prepend=events.times[0] - 1))
    places = np.arange(len(events)) - np.repeat(starts, np.diff(starts, append=len(events)))
    columns = {
        "us": pa.array(events.times + places),
        "k": pa.array(events.keys),
        "x": pa.array(events.values),
    }
    data = spark.createDataFrame(pa.table(columns))
    data = data.select(fn.timestamp_micros("us").alias("ts"), "k", "x").cache()
    data.count()
    return data


def rows_window(data: Any, operator: str, n: int) -> Any:
    """Return Spark's own window of n rows per key."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    frame = Window.partitionBy("k").orderBy("ts").rowsBetween(1 - n, 0)
    return data.withColumn("r", getattr(fn, operator)("x").over(frame))


def rows_features(data: Any, operator: str, n: int, **options: Any) -> Any:
    """Return the same with slidefold."""
    definition = sf.rolling(on="ts", by="k", r=getattr(sf, operator)("x").over(sf.rows(n)))
    return definition.run(data, **options)


def time_features(data: Any, length: int) -> Any:
    """Return windows of time with a result for each row, without slices."""
    return sf.rolling(on="ts", by="k", r=sf.sum("x").over(f"{length}s")).run(data)


def sliding_window(data: Any, length: int, slide: int) -> Any:
    """Return Spark's own sliding windows of time, which copy a row into each of its windows."""
    from pyspark.sql import functions as fn

    window = fn.window("ts", f"{length} seconds", f"{slide} seconds")
    return data.groupBy("k", window).agg(fn.sum("x").alias("r"))


def sliding_features(data: Any, length: int, slide: int) -> Any:
    """Return the same with slidefold, in slices of the slide."""
    kind = sf.sum("x").over(f"{length}s")
    return sf.rolling(on="ts", by="k", every=f"{slide}s", r=kind).run(data)


@dataclass(frozen=True)
class Side:
    """One side of a cell: what it runs, and over how many rows."""

    name: str
    rows: int
    run: Callable[[Any], Any]
    distance: int = 0
    events: Events | None = None  # instead of generated rows


def bearable(context: Context, copies: int, *, window: int = 1, keys: int = KEYS) -> int:
    """Return the rows for a side that takes `copies` steps per row: at least 3 windows per key."""
    rows, steps, _ = SIZES[context.size]
    return min(rows, max(steps // max(copies, 1), 3 * window * keys, 200))


def plannable(context: Context, copies: int) -> bool:
    """Say whether Spark's own sliding windows can be measured in a short time.

    Its plan has one projection per copy of a row. Of 8,192 it generates 340,000 lines of Java,
    which do not compile; of 1,024, 4,882 rows took over a minute beside other work.
    """
    return context.size == "full" or copies <= 2**7


def cell(context: Context, key: Row, sides: Callable[[], Sequence[Side]]) -> Cell:
    """Return a cell that measures its sides one after another, after a run to warm up."""

    def measure() -> list[Row]:
        from pyspark.sql import SparkSession

        given = SparkSession.getActiveSession()
        spark = given or new_session()
        found: list[Row] = []
        for side in sides():
            if side.events is not None:
                data, rows = table_of(spark, side.events), len(side.events)
            else:
                data, rows = table(spark, side.rows, distance=side.distance), side.rows
            run = partial(side.run, data)
            seconds = best(run, 1)
            if seconds < LONG:  # a long run has warmed itself up, and is not repeated
                seconds = best(run, SIZES[context.size][2])
            speed = rows / seconds / 1e6
            row = {"side": side.name, "rows": rows, "ns": seconds / rows * 1e9}
            source = {"source": side.events.source} if side.events is not None else {}
            found.append({**row, "million_per_second": speed, **source})
            data.unpersist()
        return found

    return Cell(key, measure)


def claims(
    rows: list[Row],
    *,
    x: str,
    least: float = 2,
    flat: Sequence[str] = (),
    rising: Sequence[str] = (),
    falling: Sequence[str] = (),
) -> list[Claim]:
    """Judge the gain over Spark's own window, and how the throughput of each side goes with x.

    The gain counts where `x` is largest if Spark's own window gets slower with it, else everywhere.
    """
    top = max(row[x] for row in rows)
    hardest = [row for row in rows if row[x] == top] if "spark" in falling else rows
    gain = typical(ratios(hardest, "million_per_second", "slidefold", "spark", by=x))
    found = [
        Claim(
            f"the incremental algorithm has at least {least:g}x the throughput of the built-in "
            "window",
            gain >= least,
            f"{gain:.1f}x the throughput of Spark's own window",
        )
    ]
    for side in flat:
        wide = spread(values(rows, "million_per_second", side=side))
        words = f"{side} is within {wide:.1f}x over all {x}"
        found.append(Claim(f"{side} does not depend on {x}", wide <= 3, words))
    for side in (*rising, *falling):
        speeds = {row[x]: row["million_per_second"] for row in rows if row["side"] == side}
        change = speeds[max(speeds)] / speeds[min(speeds)]
        up = side in rising
        words = f"{side} has {change:.2g}x the throughput at {x} = {max(speeds)} of {min(speeds)}"
        holds = change > 1.2 if up else change < 1 / 1.2
        found.append(Claim(f"{side} {'rises' if up else 'falls'} with {x}", holds, words))
    return found


def charts(rows: list[Row], *, x: str, label: str) -> list[Chart]:
    """Return throughput against `x`; both axes are logarithmic."""
    lines = curves([{**row, x: row[x] or 0.5} for row in rows], x, "million_per_second")
    return [Chart("sum", label, "million rows per second", lines, log_y=True)]
