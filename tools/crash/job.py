"""The query of the crash test, in a process that may be killed: `python -m tools.crash.job FOLDER`.

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


def session() -> Any:
    """Return a small session that retries a task whose worker dies."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master("local[2,8]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config(map=STREAM_SETTINGS)
        .config("spark.sql.streaming.minBatchesToRetain", "4")
        .getOrCreate()
    )


def main(folder: Path) -> None:
    """Run the query until it has read all files."""
    warnings.simplefilter("ignore")
    spark = session()
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
    main(Path(sys.argv[1]))
