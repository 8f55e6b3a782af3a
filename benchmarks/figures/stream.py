"""`run` over a Spark stream: rows per second and seconds per batch, compared with Spark's own ways.

All sides read the same files, one per micro-batch, and discard the results. The floor has the same
stages (pack, a stateful operator, unpack) with a processor that returns the rows and keeps no
state. Spark's state per key gets fewer rows, since it is slow; costs are per row. For the length of
the window, batches cover so much time that the longest window is full half of the time. The first
batches start workers and compile; the median of the others counts. A warm-up run comes first, since
Java keeps compiling for many batches. Our side and the floor take turns.

The session is configured for a machine with a few cores. It has one state partition: one worker
folds faster than Spark delivers rows, and each further partition adds a store, a commit and a
worker to every batch. Arrow batches are limited by rows only: measuring the bytes of each row takes
Spark longer than writing it.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slidefold as sf
from benchmarks import stream_peers
from benchmarks.harness import Row, pivot
from benchmarks.stream_recovery import recovery

# `make bench` leaves this out: `make bench-stream` installs Spark first.
NEEDS_SPARK = True
START = 1_700_000_000_000_000
DELAY = "10 seconds"
WARM = 2  # the first batches do not count
BUCKETS = 4
THREE = ("5m", "1h", "24h")


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int  # per batch
    slow_rows: int  # per batch, for slow sides
    batches: int
    keys: tuple[int, ...]
    lengths: tuple[str, ...]
    slides: tuple[str, ...]  # lengths of Spark's windows, with one slide per second
    seconds: float  # of event time per batch
    slow_batches: int  # for slow sides and Spark's windows
    rounds: int  # of our side and the floor


SIZES = {
    "full": Sizes(
        100_000,
        5_000,
        24,
        (1_000, 10_000, 100_000),
        ("1m", "1h", "24h"),
        ("1m", "10m"),
        60.0,
        6,
        3,
    ),
    "quick": Sizes(100_000, 2_000, 12, (10_000,), ("1m", "24h"), ("1m",), 60.0, 4, 2),
    "smoke": Sizes(200, 50, 3, (5,), (), (), 5.0, 3, 1),
}


def measure(sizes: Sizes) -> list[Row]:
    """Measure many keys, long windows and Spark's sliding windows, each with its peers."""
    from pyspark.sql import SparkSession

    given = SparkSession.getActiveSession()
    spark = given or session()
    try:
        with tempfile.TemporaryDirectory() as folder:
            return list(_measure(spark, sizes, Path(folder)))
    finally:
        if given is None:
            spark.stop()


def _measure(spark: Any, sizes: Sizes, folder: Path) -> Iterator[Row]:
    for keys in sizes.keys:
        source = _files(folder / f"keys-{keys}", sizes.rows, sizes.batches, keys, sizes.seconds)
        sides: dict[str, Callable[[Any], Any]] = {
            "slidefold": over_three(),
            "floor": partial(stream_peers.floor, _definition(THREE), buckets=BUCKETS),
        }
        if keys == sizes.keys[0] and sizes.lengths:
            _run(spark, source, sides["slidefold"])
        results: dict[str, list[Row]] = {side: [] for side in sides}
        for _ in range(sizes.rounds):
            for side, make in sides.items():
                results[side].append(_run(spark, source, make))
        for side, runs in results.items():
            yield {"part": "keys", "x": keys, "side": side, **_middle(runs)}
        if sizes.lengths:  # a smoke test has no time for these
            few = _files(folder / f"few-{keys}", sizes.slow_rows, sizes.slow_batches, keys, 5.0)
            for side, make in stream_peers.by_key().items():
                yield {"part": "keys", "x": keys, "side": side, **_run(spark, few, make)}
    keys = 10_000
    long = 2 * 86_400.0 / sizes.batches
    for length in sizes.lengths:
        source = _files(folder / length, sizes.rows, sizes.batches, keys, long)
        one = _run(spark, source, partial(_definition((length,)).run, buckets=BUCKETS))
        yield {"part": "length", "x": length, "side": "slidefold", **one}
    for length in sizes.slides:
        batches = sizes.slow_batches
        source = _files(folder / f"slide-{length}", sizes.rows, batches, 100, 20.0)
        slide = sf.rolling(on="ts", by="k", every="1s", s=sf.sum("x").over(length))
        sides = {
            "slidefold": slide.run,
            "spark": partial(stream_peers.sliding, length=length),
        }
        for side, make in sides.items():
            yield {"part": "slide", "x": length, "side": side, **_run(spark, source, make)}
    if sizes.lengths:
        source = _files(folder / "recovery", sizes.rows, sizes.batches, keys, sizes.seconds)
        again = recovery(source, folder / "checkpoint")
        yield {"part": "recovery", "x": "driver killed", "side": "slidefold", **again}


def over_three() -> Callable[[Any], Any]:
    """Return a function that runs three windows over a stream."""
    return partial(_definition(THREE).run, buckets=BUCKETS)


def _middle(runs: list[Row]) -> Row:
    """Return the run with the median cost."""
    return sorted(runs, key=lambda row: row["us_per_row"])[len(runs) // 2]


def _definition(lengths: tuple[str, ...]) -> sf.Rolling:
    columns = {f"s_{length}": sf.sum("x").over(length) for length in lengths}
    return sf.rolling(on="ts", by="k", columns=columns)


def _files(folder: Path, rows: int, batches: int, keys: int, seconds: float) -> Path:
    """Write one file per batch: times advance, and rows are up to five seconds late."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(3)
    step = int(seconds * 1e6)
    for number in range(batches):
        times = START + number * step + random.integers(0, step, rows)
        times -= random.integers(0, 5_000_000, rows)
        table = pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
                "k": random.integers(0, keys, rows),
                "x": random.integers(0, 1000, rows),
            }
        )
        name = folder / f"{number:04}.parquet"
        pq.write_table(table, name)
        os.utime(name, (1_500_000_000 + number,) * 2)
    return folder


def stream_of(spark: Any, source: Path) -> Any:
    """Return the stream of these files, one file per batch."""
    schema = spark.read.parquet(str(source)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(source)).withWatermark("ts", DELAY)


def _run(spark: Any, source: Path, make: Callable[[Any], Any]) -> Row:
    """Run a query over all files; return rows per second, and time and bytes per batch."""
    stream = stream_of(spark, source)
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            make(stream)
            .writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        progress = [batch for batch in query.recentProgress if batch["numInputRows"]]
    counted = progress[WARM:] or progress[-1:]
    seconds = statistics.median(batch["durationMs"]["triggerExecution"] for batch in counted) / 1000
    rows = counted[0]["numInputRows"]
    result: Row = {
        "seconds_per_batch": seconds,
        "rows_per_second": rows / seconds,
        "us_per_row": seconds / rows * 1e6,
    }
    counts = [batch["observedMetrics"].get("slidefold") for batch in counted]
    if all(counts):
        written = sum(row["log_bytes"] for row in counts)
        result["state_bytes_per_row"] = written / (rows * len(counts))
        calls = sum(row[name] for row in counts for name in ("hits", "catch_ups", "rebuilds"))
        result["hit_rate"] = sum(row["hits"] for row in counts) / max(calls, 1)
    return result


def session() -> Any:
    """Return a session for streams."""
    from pyspark.sql import SparkSession

    from slidefold.spark import STREAM_SETTINGS

    os.environ["PYSPARK_PYTHON"] = sys.executable
    cores = os.cpu_count() or 1
    builder = SparkSession.builder.master(f"local[{cores}]").appName("stream")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
        **STREAM_SETTINGS,
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def show(rows: list[Row]) -> str:
    """Format one table per part: us per row."""
    titles = {
        "keys": "Streams: us per row, three windows up to 24 h, by number of keys",
        "length": "Streams: us per row, by window length",
        "slide": "Streams: us per row, one slide per second, by window length",
    }
    tables = [
        pivot(title, chosen, down="x", across="side", value="us_per_row")
        for part, title in titles.items()
        if (chosen := [row for row in rows if row["part"] == part])
    ]
    return "\n".join(
        tables
        + [
            f"After a kill: {row['recovery_seconds']:.1f} s to the first batch, of which "
            f"{row['rebuild_seconds']:.1f} s to rebuild engines from {row['rebuilt_rows']:,} rows; "
            f"then {row['seconds_per_batch']:.2f} s per batch"
            for row in rows
            if row["part"] == "recovery"
        ]
    )
