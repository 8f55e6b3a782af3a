"""Streams for tests: files as a source, a query that drains it, and the stages without Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import slidefold as sf
from slidefold.spark.packing import PACKET, Pack, Unpack

MINUTE = 60_000_000


class Files:
    """A folder that tables are written to, one a file, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        folder.mkdir(parents=True)

    def add(self, *tables: Any) -> None:
        """Write tables; each is a micro-batch of its own."""
        for table in tables:
            name = self.folder / f"{self.count:05}.parquet"
            pq.write_table(table, name.with_suffix(".hidden"))
            stamp = 1_500_000_000 + self.count  # Spark takes the oldest first
            os.utime(name.with_suffix(".hidden"), (stamp, stamp))
            name.with_suffix(".hidden").rename(name)
            self.count += 1

    def stream(self, spark: Any, delay: str, on: str = "ts") -> Any:
        """Return the stream of all files."""
        path = str(self.folder)
        schema = spark.read.parquet(path).schema
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(path).withWatermark(on, delay)


def drain(out: Any, folder: Path) -> list[Any]:
    """Run a query until its source is used up; return the progress of its batches."""
    query = (
        out.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return list(query.recentProgress)


def written(spark: Any, folder: Path) -> Any:
    """Return all that queries wrote so far; Spark knows which files count."""
    return spark.read.parquet(str(folder / "out")).toArrow()


def observed(progress: list[Any], name: str = "slidefold") -> dict[str, Any]:
    """Return the sums of a query's metrics over its batches."""
    total: dict[str, Any] = {}
    for each in progress:
        row = each["observedMetrics"].get(name)
        for key, value in ({} if row is None else row.asDict()).items():
            total[key] = total.get(key, 0) + (value or 0)
    return total


class Stages:
    """The stages of a stream in this process: one bucket, and a watermark that tests move."""

    def __init__(self, definition: sf.Rolling, schema: Any, **options: Any) -> None:
        from pyspark.sql.streaming.tws_tester import TwsTester

        from slidefold.spark.processor import BucketProcessor
        from slidefold.spark.stream import job_of

        self.job = job_of(definition, schema, 1, **options)
        self.processor = BucketProcessor(self.job)
        self.tester = TwsTester(
            self.processor, timeMode="EventTime", eventTimeExtractor=lambda _: 1 << 62
        )

    def feed(self, rows: Any) -> Any:
        """Send rows through all stages; return what comes out."""
        from pyspark.sql import Row

        first = pa.array([0] * rows.num_rows, pa.int32())
        numbered = rows.add_column(0, "bucket", first).to_batches()
        came: dict[int, list[Any]] = {}
        for batch in Pack(self.job.schema, 1)(iter(numbered)):
            for row in batch.to_pylist():
                came.setdefault(row["bucket"], []).append(Row(**row))
        return self._unpacked(
            row for label, packets in came.items() for row in self.tester.test(label, packets)
        )

    def advance(self, watermark: int) -> Any:
        """Move the watermark, in milliseconds; return what timers bring."""
        return self._unpacked(self.tester.setWatermark(watermark))

    def _unpacked(self, rows: Any) -> Any:
        packets = [row[PACKET] for row in rows]
        batch = pa.RecordBatch.from_pydict({PACKET: pa.array(packets, pa.binary())})
        found: Iterator[Any] = Unpack(self.job.result)(iter([batch]))
        return pa.Table.from_batches(list(found), self.job.result)
