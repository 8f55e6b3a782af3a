"""Run a stream for a while and check that its state does not grow: `make soak`.

Spark's `rate-micro-batch` source gives rows whose times advance by a minute per batch, so that
windows fill and empty within seconds. After each batch the rows and entries in the logs, the bytes
in the checkpoint and the memory of the Python workers are recorded. Their means over the last
quarter must not be much larger than those over the second quarter.

    python -m tools.soak --minutes 5
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import slidefold as sf
from slidefold.spark.settings import STREAM_SETTINGS
from tools.crash.processes import of_session

FEATURES = sf.rolling(
    on="ts",
    by="k",
    five=sf.sum("value").over("5m"),
    hour=sf.max("value").over("1h", closed="left"),
    last=sf.mean("value").over(20),
)
KEYS = 200
GROWTH = 1.25  # memory is allocated in pages, and RocksDB compacts at any time


def stream(spark: Any) -> Any:
    """Return rows of many keys, one minute of event time per batch."""
    from pyspark.sql import functions as fn

    rate = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 5000)
        .option("advanceMillisPerBatch", 60_000)
        .option("startTimestamp", 1_700_000_000_000)
        .load()
    )
    # All rows of a batch have the same time: spread them over its minute.
    spread = (fn.col("timestamp").cast("double") + fn.rand(1) * 60).cast("timestamp")
    rows = rate.select(spread.alias("ts"), (fn.col("value") % KEYS).alias("k"), "value")
    return rows.withWatermark("ts", "2 minutes")


def sample(progress: Any, checkpoint: Path) -> dict[str, float]:
    """Return the sizes that must not grow, after a batch."""
    counts = progress["observedMetrics"]["slidefold"]
    files = [path.stat().st_size for path in checkpoint.rglob("*") if path.is_file()]
    return {
        "rows in logs": counts["log_rows"],
        "entries in logs": counts["entries"],
        "bytes in the checkpoint": sum(files),
        "bytes of Python workers": _resident(),
    }


def _resident() -> int:
    """Return the memory of this session's Python workers."""
    pages = 0
    for pid, command in of_session(os.getsid(0)).items():
        if "pyspark.daemon" in command:
            try:
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            except OSError:
                continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def grown(samples: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the factor by which each size grew from the second to the last quarter.

    >>> grown([{"rows": n} for n in (1, 9, 2, 2, 2, 2, 3, 3)])
    {'rows': 1.5}
    """
    quarter = len(samples) // 4
    factors = {}
    for name in samples[0]:
        before = statistics.fmean(one[name] for one in samples[quarter : 2 * quarter])
        after = statistics.fmean(one[name] for one in samples[-quarter:])
        factors[name] = after / before if before else 1.0
    return factors


def run(spark: Any, folder: Path, seconds: float) -> list[dict[str, float]]:
    """Run the stream for some seconds; return samples after the first hour of data."""
    checkpoint = folder / "checkpoint"
    query = (
        FEATURES.run(stream(spark), buckets=4)
        .writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    samples, seen, end = [], -1, monotonic() + seconds
    try:
        while monotonic() < end:
            sleep(0.2)
            if query.exception() is not None:
                raise RuntimeError(str(query.exception()))
            progress = query.lastProgress
            if progress is None or progress["batchId"] == seen:
                continue
            seen = progress["batchId"]
            counts = progress["observedMetrics"].get("slidefold")
            if seen > 70 and counts is not None and counts["log_rows"] is not None:
                samples.append(sample(progress, checkpoint))
    finally:
        query.stop()
    return samples


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak test; return 1 if a size grows."""
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    chosen = parser.parse_args(arguments)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config(map=STREAM_SETTINGS)
        .config("spark.sql.streaming.minBatchesToRetain", "5")
        .getOrCreate()
    )
    with tempfile.TemporaryDirectory(prefix="slidefold-soak-") as folder:
        try:
            samples = run(spark, Path(folder), 60 * chosen.minutes)
        finally:
            spark.stop()
    if len(samples) < 8:
        print(f"soak: only {len(samples)} batches after the first hour of data: increase --minutes")
        return 1
    factors = grown(samples)
    for name, factor in factors.items():
        print(f"soak: {name}: {samples[-1][name]:,.0f}, {factor:.2f} times the earlier mean")
    worst = max(factors.values())
    print(f"soak: {len(samples)} batches, {'flat' if worst <= GROWTH else 'IT GROWS'}")
    return 0 if worst <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
