"""Files as DataFrames and DataFrames as files, for pipelines: batch and streaming alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from slidefold.spark.types import conform, spark_schema

# Broken rows travel with the good ones in a column of their own, as JSON.
BAD = "slidefold.bad"
Parse = Callable[[str, bytes], tuple[Any, Sequence[Any]]]


def read_parsed(
    session: SparkSession,
    path: str,
    endings: Sequence[str],
    parse: Parse,
    schema: Any,
    told: Callable[[Any], str],
    *,
    streaming: bool,
) -> DataFrame:
    """Read text files with the parser of this package: the same rows as in one process.

    A file is parsed by one task. A row is broken where the column `slidefold.bad` is not null;
    `told` makes the text in it.
    """
    reader: Any = session.readStream if streaming else session.read
    schema = pa.schema([field.with_nullable(True) for field in schema])
    if streaming:
        reader = reader.schema(
            "path string, modificationTime timestamp, length long, content binary"
        )
    files = (
        reader.format("binaryFile")
        .option("recursiveFileLookup", "true")
        .option("pathGlobFilter", _glob(endings))
        .load(path)
        .select("path", "content")
    )
    whole = schema.append(pa.field(BAD, pa.string()))

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for file in batch.to_pylist():
                table, bad = parse(file["path"].removeprefix("file:"), file["content"])
                good = table.append_column(BAD, pa.nulls(len(table), pa.string()))
                yield from conform(good, whole).to_batches(1 << 16)
                if bad:
                    empty = {field.name: pa.nulls(len(bad), field.type) for field in schema}
                    lost = pa.table({**empty, BAD: [told(each) for each in bad]}, schema=whole)
                    yield from lost.to_batches()

    found: DataFrame = files.mapInArrow(rows, spark_schema(whole))
    return found


def good_rows(parsed: DataFrame) -> DataFrame:
    """Return the rows that are not broken."""
    return parsed.where(F.col(f"`{BAD}`").isNull()).drop(BAD)


def bad_rows(parsed: DataFrame) -> list[str]:
    """Return what is said of the rows that are broken."""
    return [
        row[0] for row in parsed.where(F.col(f"`{BAD}`").isNotNull()).select(f"`{BAD}`").collect()
    ]


def read_parquet(
    session: SparkSession, path: str, endings: Sequence[str], schema: Any, *, streaming: bool
) -> DataFrame:
    """Read Parquet files."""
    reader: Any = session.readStream if streaming else session.read
    if streaming:
        reader = reader.schema(spark_schema(schema))
    reader = reader.option("recursiveFileLookup", "true")
    reader = reader.option("pathGlobFilter", _glob(endings))
    return reader.parquet(path)  # type: ignore[no-any-return]


def read_format(
    session: SparkSession,
    name: str,
    path: str | None,
    options: Mapping[str, str],
    *,
    streaming: bool,
) -> DataFrame:
    """Read any format that the session knows."""
    reader: Any = session.readStream if streaming else session.read
    reader = reader.format(name).options(**options)
    return reader.load() if path is None else reader.load(path)  # type: ignore[no-any-return]


def write(
    data: DataFrame, name: str, path: str | None, options: Mapping[str, str], *, replace: bool
) -> int:
    """Write a batch DataFrame, and return how many rows it had."""
    from pyspark.sql import Observation

    counted = Observation()
    watched = data.observe(counted, F.count(F.lit(1)).alias("rows"))
    if name == "csv":
        options = {"header": "true", **options}
    writer = watched.write.format(name).options(**options).mode("overwrite" if replace else "error")
    writer.save() if path is None else writer.save(path)
    return int(counted.get["rows"])


def start_stream(
    data: DataFrame,
    name: str,
    path: str | None,
    options: Mapping[str, str],
    checkpoint: str,
    *,
    follow: bool,
) -> Any:
    """Start a query that takes what is there and ends, or that follows the source."""
    if name == "csv":
        options = {"header": "true", **options}
    writer = (
        data.writeStream.format(name)
        .options(**options)
        .option("checkpointLocation", checkpoint)
        .outputMode("append")
    )
    if path is not None:
        writer = writer.option("path", path)
    if not follow:
        writer = writer.trigger(availableNow=True)
    return writer.start()


def _glob(endings: Sequence[str]) -> str:
    return "*{" + ",".join(endings) + "}"
