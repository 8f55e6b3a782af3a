"""Let a stream run while time moves on, and see that it does not grow: `make soak`.

Spark's `rate-micro-batch` source gives rows whose times move a minute a batch, so that windows fill
and empty within seconds. Rows and entries in the logs, bytes in the checkpoint and the memory of
the Python workers are written down after each batch; their means over the last quarter must not be
much larger than those over the second one.

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
from tools.crash.processes import of_session

FEATURES = sf.rolling(
    on="ts",
    by="k",
    five=sf.sum("value").over("5m"),
    hour=sf.max("value").over("1h", closed="left"),
    last=sf.mean("value").over(20),
)
KEYS = 200
GROWTH = 1.25  # memory is in pages, and RocksDB compacts when it likes


def stream(spark: Any) -> Any:
    """Return rows of many keys, a minute of event time a batch."""
    from pyspark.sql import functions as fn

    rate = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 5000)
        .option("advanceMillisPerBatch", 60_000)
        .option("startTimestamp", 1_700_000_000_000)
        .load()
    )
    # All rows of a batch have one time: spread them over its minute.
    spread = (fn.col("timestamp").cast("double") + fn.rand(1) * 60).cast("timestamp")
    rows = rate.select(spread.alias("ts"), (fn.col("value") % KEYS).alias("k"), "value")
    return rows.withWatermark("ts", "2 minutes")


def sample(progress: Any, checkpoint: Path) -> dict[str, float]:
    """Return what must not grow, after a batch."""
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
    """Return by which factor each thing grew from the second to the last quarter.

    >>> grown([{"rows": n} for n in (1, 9, 2, 2, 2, 2, 3, 3)])
    {'rows': 1.5}
    """
    quarter = len(samples) // 4
    found = {}
    for name in samples[0]:
        before = statistics.fmean(each[name] for each in samples[quarter : 2 * quarter])
        after = statistics.fmean(each[name] for each in samples[-quarter:])
        found[name] = after / before if before else 1.0
    return found


def run(spark: Any, folder: Path, seconds: float) -> list[dict[str, float]]:
    """Run the stream for so long; return samples of the batches after the first hour of data."""
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
    """Soak a stream; return 1 if something grows."""
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
        .config("spark.sql.streaming.minBatchesToRetain", "5")
        .getOrCreate()
    )
    with tempfile.TemporaryDirectory(prefix="slidefold-soak-") as folder:
        try:
            samples = run(spark, Path(folder), 60 * chosen.minutes)
        finally:
            spark.stop()
    if len(samples) < 8:
        print(f"soak: only {len(samples)} batches after the first hour of data: give it longer")
        return 1
    factors = grown(samples)
    for name, factor in factors.items():
        print(f"soak: {name}: {samples[-1][name]:,.0f}, {factor:.2f} times what they were")
    worst = max(factors.values())
    print(f"soak: {len(samples)} batches, {'flat' if worst <= GROWTH else 'IT GROWS'}")
    return 0 if worst <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
