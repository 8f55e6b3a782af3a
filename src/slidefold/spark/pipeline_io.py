"""Read and write files as DataFrames for pipelines, batch and streaming."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BinaryType,
    DoubleType,
    FloatType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from slidefold.errors import ColumnError
from slidefold.spark.types import conform, spark_schema
from slidefold.spark.worker import map_in_arrow

# The name of the column that holds a broken row as JSON.
BAD = "slidefold.bad"
_FILE = (
    StructType()
    .add("path", StringType())
    .add("modificationTime", TimestampType())
    .add("length", LongType())
    .add("content", BinaryType())
)
_OFFSETS = ("topic", "partition", "offset")  # the columns of Kafka that name a value
Parse = Callable[[str, bytes], tuple[Any, Sequence[Any]]]
ParseValues = Callable[
    [Sequence[bytes | None], Sequence[tuple[str, int | None]]], tuple[Any, Sequence[Any]]
]


@dataclass(frozen=True)
class Place:
    """The files of a folder that match a pattern, read as a batch or as a stream."""

    session: SparkSession
    path: str
    glob: str
    streaming: bool
    files_per_batch: int = 0

    def reader(self, schema: StructType | None = None) -> Any:
        """Return the reader of these files; a stream needs the schema."""
        reader: Any = self.session.readStream if self.streaming else self.session.read
        if self.streaming and schema is not None:
            reader = reader.schema(schema)
        if self.streaming and self.files_per_batch:
            reader = reader.option("maxFilesPerTrigger", self.files_per_batch)
        reader = reader.option("pathGlobFilter", self.glob)
        return reader.option("recursiveFileLookup", "true")


def read_parsed(at: Place, parse: Parse, schema: Any, as_text: Callable[[Any], str]) -> DataFrame:
    """Read text files with our own parser, so that rows are the same as in one process.

    One task parses a whole file. The column `slidefold.bad` is null in a valid row, and has the
    text of `as_text` in a broken one.
    """
    files = at.reader(_FILE).format("binaryFile").load(at.path).select("path", "content")

    def tables(batch: Any) -> Iterator[tuple[Any, Sequence[Any]]]:
        for file in batch.to_pylist():
            yield parse(file["path"].removeprefix("file:"), file["content"])

    return _parsed(files, tables, schema, as_text)


def read_values(
    data: DataFrame, name: str, parse: ParseValues, schema: Any, as_text: Callable[[Any], str]
) -> DataFrame:
    """Parse the column `value`, as `read_parsed` does with files.

    A broken value is named by its topic, partition and offset if the data has these columns, as
    Kafka's does, or else by the name of the format.
    """
    if "value" not in data.columns:
        raise ColumnError(
            f"value= parses the column 'value', which {name} does not have: it has "
            f"{', '.join(data.columns)}"
        )
    known = all(column in data.columns for column in _OFFSETS)
    chosen = data.select(F.col("value").cast("binary"), *(_OFFSETS if known else ()))

    def tables(batch: Any) -> Iterator[tuple[Any, Sequence[Any]]]:
        values = batch.column(0).to_pylist()
        places = [(name, None)] * len(values)
        if known:
            rows = zip(*(batch.column(i).to_pylist() for i in (1, 2, 3)), strict=True)
            places = [(f"{topic}[{part}]", offset) for topic, part, offset in rows]
        yield parse(values, places)

    return _parsed(chosen, tables, schema, as_text)


def _parsed(
    data: DataFrame,
    tables: Callable[[Any], Iterator[tuple[Any, Sequence[Any]]]],
    schema: Any,
    as_text: Callable[[Any], str],
) -> DataFrame:
    schema = pa.schema([_known(field) for field in schema])
    whole = schema.append(pa.field(BAD, pa.string()))

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for table, bad in tables(batch):
                good = table.append_column(BAD, pa.nulls(len(table), pa.string()))
                yield from conform(good, whole).to_batches(1 << 16)
                if bad:
                    empty = {field.name: pa.nulls(len(bad), field.type) for field in schema}
                    lost = pa.table({**empty, BAD: [as_text(row) for row in bad]}, schema=whole)
                    yield from lost.to_batches()

    return map_in_arrow(data, rows, spark_schema(whole))


def marking_bad(data: DataFrame, required: Sequence[str]) -> DataFrame:
    """Mark the rows without a value in a required column; Spark does not know their lines."""
    reason = F.lit(None).cast("string")
    known = {field.name: field.dataType for field in data.schema.fields}
    for name in reversed([name for name in required if name in known]):
        column = F.col("`" + name.replace("`", "``") + "`")
        if isinstance(known[name], FloatType | DoubleType):
            reason = F.when(F.isnan(column), f"the column {name!r} is NaN").otherwise(reason)
        reason = F.when(column.isNull(), f"the column {name!r} is null").otherwise(reason)
    row = F.struct(
        F.regexp_replace(F.input_file_name(), "^file:/*", "/").alias("file"),
        F.lit(None).cast("long").alias("line"),
        reason.alias("reason"),
        F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("text"),
    )
    bad = F.when(reason.isNotNull(), F.to_json(row, {"ignoreNullFields": "false"}))
    return data.withColumn(BAD, bad)


def good_rows(parsed: DataFrame) -> DataFrame:
    """Return the rows that are not broken."""
    return parsed.where(F.col(f"`{BAD}`").isNull()).drop(BAD)


def counting_bad(parsed: DataFrame) -> DataFrame:
    """Count the broken rows of each batch of a stream."""
    return parsed.observe(BAD, F.count(F.col(f"`{BAD}`")).alias("rows"))


def bad_lines(parsed: DataFrame) -> DataFrame:
    """Return the broken rows as one column of JSON lines."""
    return parsed.where(F.col(f"`{BAD}`").isNotNull()).select(F.col(f"`{BAD}`").alias("value"))


def bad_rows(parsed: DataFrame) -> list[str]:
    """Collect the broken rows as JSON lines."""
    return [row[0] for row in bad_lines(parsed).collect()]


def read_parquet(at: Place, schema: Any) -> DataFrame:
    """Read Parquet files."""
    data: DataFrame = at.reader(spark_schema(schema)).parquet(at.path)
    return data


def is_naive(data: DataFrame, name: str) -> bool:
    """Tell whether a column has times without a zone; Spark supports no watermark on those."""
    return any(
        field.name == name and isinstance(field.dataType, TimestampNTZType)
        for field in data.schema.fields
    )


def with_zone(data: DataFrame, names: Sequence[str]) -> DataFrame:
    """Read times without a zone as UTC, which is the zone of the session."""
    return _cast(data, names, "timestamp")


def without_zone(data: DataFrame, names: Sequence[str]) -> DataFrame:
    """Undo `with_zone`."""
    return _cast(data, names, "timestamp_ntz")


def _cast(data: DataFrame, names: Sequence[str], kind: str) -> DataFrame:
    columns = []
    for name in data.columns:
        column = F.col("`" + name.replace("`", "``") + "`")
        columns.append(column.cast(kind).alias(name) if name in names else column)
    return data.select(*columns)


def _known(field: Any) -> Any:
    """Return a field with Spark's unit of time, microseconds."""
    if pa.types.is_timestamp(field.type):
        field = field.with_type(pa.timestamp("us", field.type.tz))
    return field.with_nullable(True)


def read_format(
    session: SparkSession,
    name: str,
    path: str | None,
    options: Mapping[str, str],
    *,
    streaming: bool,
) -> DataFrame:
    """Read any format that the session supports."""
    reader: Any = session.readStream if streaming else session.read
    reader = reader.format(name).options(**options)
    return reader.load() if path is None else reader.load(path)  # type: ignore[no-any-return]


def write(
    data: DataFrame, name: str, path: str | None, options: Mapping[str, str], *, replace: bool
) -> int:
    """Write a batch DataFrame, and return its number of rows."""
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
    keep: Callable[[Any], None] | None = None,
) -> Any:
    """Start a query that reads the available data and ends, or with `follow` keeps running.

    With `keep`, each batch is passed to it as an Arrow table instead of being written.
    """
    if name == "csv":
        options = {"header": "true", **options}
    writer: Any = data.writeStream.option("checkpointLocation", checkpoint).outputMode("append")
    if keep is not None:
        writer = writer.foreachBatch(lambda batch, _: keep(batch.toArrow()))
    else:
        writer = writer.format(name).options(**options)
    if path is not None:
        writer = writer.option("path", path)
    if not follow:
        writer = writer.trigger(availableNow=True)
    return writer.start()
