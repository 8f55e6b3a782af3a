"""The query of the crash test, in a process that may be killed.

    python -m tools.crash.job FOLDER [spark://...]

It reads the available files, prints its progress, and at the end writes all committed results to
one file.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from slidefold.spark.settings import STREAM_SETTINGS
from tools.crash.workload import BUCKETS, FEATURES

RESULT = "result.parquet"
LOCAL = "local[2,8]"
# On a cluster, tasks of killed executors are retried, and a slow task runs twice.
ON_CLUSTER: dict[str, Any] = {
    "spark.task.maxFailures": "8",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.5",
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def session(master: str = LOCAL) -> Any:
    """Return a small session that retries a task whose worker dies."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config(map=STREAM_SETTINGS)
        .config(map={} if master == LOCAL else ON_CLUSTER)
        .config("spark.sql.streaming.minBatchesToRetain", "4")
        .getOrCreate()
    )


def main(folder: Path, master: str = LOCAL) -> None:
    """Run the query until it has read all files."""
    warnings.simplefilter("ignore")
    spark = session(master)
    source = str(folder / "in")
    reader = spark.readStream.schema(spark.read.parquet(source).schema)
    stream = reader.option("maxFilesPerTrigger", 1).parquet(source)
    out = FEATURES.run(stream.withWatermark("ts", "20 seconds"), late="side", buckets=BUCKETS)
    query = (
        out.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    print("started", flush=True)
    query.awaitTermination()
    print("used up", flush=True)
    table = spark.read.parquet(str(folder / "out")).toArrow()
    pq.write_table(table, folder / f".{RESULT}")
    (folder / f".{RESULT}").rename(folder / RESULT)
    print("done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
