"""Batch DataFrames: one shuffle by key or by chunk of time, then the engine over whole partitions.

Rows are hashed by key into an explicit number of partitions, so that Spark's settings do not change
it. A worker sorts its partition and processes all its keys in one native pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from slidefold.columns import run
from slidefold.columns.backfill import known_period
from slidefold.definition.rolling import Rolling
from slidefold.errors import DefinitionError
from slidefold.options import require_alone, require_flags
from slidefold.spark.backfill import between, history
from slidefold.spark.failures import naming_place
from slidefold.spark.keyless import Chunking, can_chunk, run_chunks
from slidefold.spark.parts import by_parts
from slidefold.spark.segments import fold_sorted
from slidefold.spark.sizes import size_of, too_large
from slidefold.spark.skew import hot_keys, share_of
from slidefold.spark.sql_windows import require_over, run_over
from slidefold.spark.types import (
    arrow_schema,
    named,
    result_schema,
    sendable,
    spark_schema,
)
from slidefold.spark.worker import Shipped, map_in_arrow, returned


def run_batch(
    definition: Rolling,
    data: DataFrame,
    *,
    partitions: int | None = None,
    types: Mapping[str, Any] | None = None,
    skew: Any = "auto",
    presorted: bool = False,
    spill: bool | None = None,
    engine: str = "native",
    since: Any = None,
    until: Any = None,
) -> DataFrame:
    """Run a definition over a batch DataFrame.

    `partitions` is the number of shuffle partitions, or of chunks of time without a key. `types`
    are the Spark types of results that are Python objects. `skew` is the share of rows above which
    a key is cut into chunks of time, "auto" or "off". `presorted` declares that all rows of a key
    lie in one partition, sorted by key and time; this is verified. `spill` sorts with Spark, which
    spills to disk, instead of in memory; the default is to do so if partitions are too large.
    `engine="spark"` computes everything with Spark's own OVER. `since` and `until` select a period.
    """
    if definition.order == "input":
        raise DefinitionError(
            "order='input' works for in-process tables only, since rows in Spark have no order: "
            "name the columns to order by"
        )
    require_batch_options(presorted, partitions, spill, engine)
    given = arrow_schema(data.schema)
    results = result_schema(definition, given, types)
    period = None
    if since is not None or until is not None:
        period = known_period(definition, given.field(definition.on).type, since, until)
        data = history(definition, data, since, until)
    # Spark resolves names again and fails on dots and duplicates, so columns are numbered.
    numbered = data.toDF(*[f"c{i}" for i in range(len(given))])
    if engine == "spark":
        require_over(definition, given)
        kinds = [field.dataType for field in spark_schema(results).fields[len(given) :]]
        typed = zip(run_over(definition, numbered, given), kinds, strict=True)
        computed = numbered.select("*", *(column.cast(kind) for column, kind in typed))
        if period is not None:
            computed = between(computed, f"c{given.get_field_index(definition.on)}", period.results)
        return computed.toDF(*results.names)
    task = Chunking(definition, numbered, given, results, Shipped(definition), period)
    known = size_of(data)
    size, count = known.nbytes, known.partitions(partitions)
    hot = share_of(skew, size)
    if presorted:
        return _run_presorted(task)
    if not definition.by:
        least = known.least(partitions)
        return _run_keyless(task, known.chunks(partitions), size, spill, least)
    cuts = hot is not None and count > 1 and not known.too_small(partitions)
    spills = too_large(size, count) if spill is None else spill
    if cuts and hot is not None and can_chunk(definition):
        return _run_skewed(task, count, size, spills, hot, known.least(partitions))
    return _run_keyed(task, None if known.adaptive and partitions is None else count, spills)


def require_batch_options(
    presorted: bool, partitions: int | None, spill: bool | None, engine: str
) -> None:
    """Refuse wrong options of a batch, and options that would have no effect."""
    require_flags({"presorted": presorted, "spill": spill})
    if engine not in ("native", "spark"):
        raise DefinitionError(f"expected engine 'native' or 'spark', got {engine!r}")
    shuffling = {"partitions": partitions, "spill": spill}
    if presorted:
        require_alone("presorted", shuffling, shuffling)


def _run_keyless(
    task: Chunking, count: int, size: int | None, spill: bool | None, least: int
) -> DataFrame:
    results = None
    if count > 1 and can_chunk(task.definition):
        results = run_chunks(task, count, size, least)
    if results is not None:
        return results
    whole = task.data.coalesce(1)
    sorting = too_large(size, 1) if spill is None else spill
    return _run_sorted(task, _sorted(task, whole)) if sorting else _run_whole(task, whole)


def _run_skewed(
    task: Chunking,
    count: int,
    size: int | None,
    spill: bool,
    hot: tuple[float, float],
    least: int,
) -> DataFrame:
    """Cut hot keys into chunks of time, and run all other keys by key.

    Hot keys with fewer than `least` bytes are not cut; it is not 0 if the size is unknown.
    """
    keys = hot_keys(task.data, _key_columns(task), *hot)
    if not keys:
        return _run_keyed(task, count, spill)
    cold = task.data.where(~reduce(lambda a, b: a | b, keys))
    rest = _run_keyed(replace(task, data=cold), count, spill)
    hot_rows = task.data.where(reduce(lambda a, b: a | b, keys))
    chunks = run_chunks(replace(task, data=hot_rows, hot=tuple(keys)), count, size, least)
    if chunks is None:  # no hot key can be cut
        return _run_keyed(task, count, spill)
    return rest.unionAll(chunks)


def _key_columns(task: Chunking) -> list[str]:
    return [f"c{task.given.get_field_index(name)}" for name in task.definition.by]


def _run_keyed(task: Chunking, count: int | None, spill: bool) -> DataFrame:
    """Run by key; without a count Spark's adaptive execution merges small partitions."""
    keys = [task.data[name] for name in _key_columns(task)]
    data = task.data
    spread = data.repartition(*keys) if count is None else data.repartition(count, *keys)
    return _run_sorted(task, _sorted(task, spread)) if spill else _run_whole(task, spread)


def _sorted(task: Chunking, spread: DataFrame) -> DataFrame:
    """Let Spark sort partitions by key and time; it spills to disk what does not fit in memory."""
    return spread.sortWithinPartitions(*_key_columns(task), task.time)


def _run_presorted(task: Chunking) -> DataFrame:
    """Run over the existing partitions; the run fails if a key is in two of them.

    The check is part of the same plan, since Spark may plan another job over the same data
    differently. It reads all columns, so that a shuffle before it is reused as it is: a rebalance
    splits partitions by their bytes.
    """
    keys, data = _key_columns(task), task.data
    maps = [name for name in data.columns if "map<" in data.schema[name].dataType.simpleString()]
    hashed = fn.xxhash64(*(fn.map_keys(c) if c in maps else fn.col(c) for c in data.columns))
    placed = data.select(*keys, fn.spark_partition_id().alias("place"), hashed.alias("hashed"))
    ends = placed.groupBy(*keys).agg(
        fn.min("place").alias("a"), fn.max("place").alias("b"), fn.max("hashed").alias("read")
    )
    pairs = zip(task.definition.by, keys, strict=True)
    names = [
        fn.concat(fn.lit(f"{name}="), fn.coalesce(fn.col(key).cast("string"), fn.lit("null")))
        for name, key in pairs
    ]
    # The message names the partitions, which also keeps Spark from evaluating it before `ends`.
    told = fn.concat(
        fn.lit("presorted=True needs each key in one partition, but "),
        fn.concat_ws(", ", *names),
        fn.format_string(" is in two, %d and %d", "a", "b"),
        fn.lit(": repartition by the key, or leave presorted out"),
    )
    if not keys:
        told = fn.format_string(
            "presorted=True without a key needs all rows in one partition, but some are in %d and "
            "some in %d: use coalesce(1), or leave presorted out",
            *("a", "b"),
        )
    # A filter raises, since Spark removes columns that nobody reads, as in count().
    split = (fn.col("a") != fn.col("b")) & fn.col("read").isNotNull()
    raised = ends.where(split & fn.raise_error(told).cast("boolean"))
    fields = spark_schema(sendable(task.made)).fields
    failed = raised.select(*(fn.lit(None).cast(f.dataType).alias(f.name) for f in fields))
    return _run_sorted(task, data).unionAll(named(failed, task.made.names))


def _run_whole(task: Chunking, spread: DataFrame) -> DataFrame:
    """Run a definition over each partition as a table, or as a few if it is too large for one."""
    names, sent, shipped = task.given.names, sendable(task.made), task.shipped
    period = task.period

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        definition = shipped.load()
        renamed = (batch.rename_columns(names) for batch in batches)
        for table in by_parts(renamed, definition.by):
            with naming_place(definition, table):
                results = run(definition, table)
            del table
            yield from returned(results, sent, period)
            del results  # before the next part is read

    return _mapped(task, spread, fold)


def _run_sorted(task: Chunking, spread: DataFrame) -> DataFrame:
    """Run a definition over sorted partitions without holding a whole partition in memory."""
    names, sent, shipped = task.given.names, sendable(task.made), task.shipped
    period = task.period

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        renamed = (batch.rename_columns(names) for batch in batches)
        for results in fold_sorted(shipped.load(), renamed):
            yield from returned(results, sent, period)

    return _mapped(task, spread, fold)


def _mapped(task: Chunking, spread: DataFrame, fold: Any) -> DataFrame:
    return named(map_in_arrow(spread, fold, spark_schema(sendable(task.made))), task.made.names)
