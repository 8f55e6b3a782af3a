"""Batch DataFrames by key: one shuffle, then the columns engine over whole partitions.

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
from slidefold.spark.sizes import partitions_for
from slidefold.spark.types import arrow_schema, conform, result_schema, spark_schema
from slidefold.spark.worker import Shipped, naming_keys

# Rows of a batch that goes back to Spark: enough to be cheap, few enough for any row's size.
OUT_ROWS = 1 << 16


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
    count = partitions_for(data, partitions) if definition.by else 1
    # Numbers for names: Spark looks names up again, and stumbles over dots and doubles.
    numbered = data.toDF(*[f"c{i}" for i in range(len(given))])
    keys = [numbered[f"c{given.get_field_index(name)}"] for name in definition.by]
    spread = numbered.repartition(count, *keys) if keys else numbered.coalesce(1)
    names, shipped = given.names, Shipped(definition)

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        held = [batch.rename_columns(names) for batch in batches]
        if not held:
            return
        table, sent = pa.Table.from_batches(held), shipped.load()
        with naming_keys(sent, table):
            found = run(sent, table)
        yield from conform(found, made).to_batches(OUT_ROWS)

    safe = pa.schema([field.with_name(f"c{i}") for i, field in enumerate(made)])
    return spread.mapInArrow(fold, spark_schema(safe)).toDF(*made.names)
