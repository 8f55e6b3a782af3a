"""Batch DataFrames: one shuffle by key or by chunk of time, then the engine over whole partitions.

Rows are hashed by key into an explicit number of partitions, so that nothing else decides about
them; a worker sorts its partition and walks all its keys in one native pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from slidefold.columns import run
from slidefold.columns.compute import Definition
from slidefold.errors import DefinitionError
from slidefold.spark.keyless import Chunking, can_chunk, run_chunks
from slidefold.spark.sizes import estimated_bytes, partitions_for
from slidefold.spark.types import arrow_schema, conform, result_schema, spark_schema
from slidefold.spark.worker import OUT_ROWS, Shipped, naming_keys


def run_batch(
    definition: Definition,
    data: DataFrame,
    *,
    partitions: int | None = None,
    types: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Run a definition over a batch DataFrame."""
    if definition.order == "input":
        raise DefinitionError("order='input' is for tables in process: rows in Spark have no order")
    given = arrow_schema(data.schema)
    made = result_schema(definition, given, types)
    count = partitions_for(data, partitions)
    # Numbers for names: Spark looks names up again, and stumbles over dots and doubles.
    numbered = data.toDF(*[f"c{i}" for i in range(len(given))])
    task = Chunking(definition, numbered, given, made, Shipped(definition))
    if definition.by:
        return _run_keyed(task, count)
    found = None
    if count > 1 and can_chunk(definition):
        found = run_chunks(task, count, estimated_bytes(data))
    return _run_whole(task, numbered.coalesce(1)) if found is None else found


def _run_keyed(task: Chunking, count: int) -> DataFrame:
    places = [task.given.get_field_index(name) for name in task.definition.by]
    keys = [task.data[f"c{i}"] for i in places]
    return _run_whole(task, task.data.repartition(count, *keys))


def _run_whole(task: Chunking, spread: DataFrame) -> DataFrame:
    """Run a definition over each partition as a table."""
    names, made, shipped = task.given.names, task.made, task.shipped

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        held = [batch.rename_columns(names) for batch in batches]
        if not held:
            return
        table, definition = pa.Table.from_batches(held), shipped.load()
        with naming_keys(definition, table):
            found = run(definition, table)
        yield from conform(found, made).to_batches(OUT_ROWS)

    safe = pa.schema([field.with_name(f"c{i}") for i, field in enumerate(made)])
    return spread.mapInArrow(fold, spark_schema(safe)).toDF(*made.names)
