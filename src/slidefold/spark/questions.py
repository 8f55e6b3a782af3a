"""Features at the times and keys of another DataFrame: `run(events_df, at=questions_df)`.

Events and questions travel together, in one tagged union with one shuffle by key. Without a key,
and for hot keys, time is cut into chunks: a chunk has the questions of its time, and the events
that their windows can hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from slidefold.columns.questions import answer, check_names, require_questions
from slidefold.columns.spans import LEAST, MOST
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.errors import ColumnError, DefinitionError, ValueTypeError
from slidefold.live.known import answer_known, require_known
from slidefold.spark.clock import steps
from slidefold.spark.labels import place
from slidefold.spark.parts import by_parts
from slidefold.spark.sizes import size_of
from slidefold.spark.skew import hot_keys, share_of
from slidefold.spark.types import (
    arrow_schema,
    conform,
    named,
    result_schema,
    sendable,
    spark_schema,
)
from slidefold.spark.worker import OUT_ROWS, Shipped, map_in_arrow

ASKS, EVENT, QUESTION, CHUNK = "asks", "event", "question", "chunk"


@dataclass(frozen=True)
class _Both:
    """Events and questions in one DataFrame: keys, which side a row is of, and the row itself."""

    definition: Rolling
    data: DataFrame
    keys: list[str]
    time: Column  # of either side, as an integer
    events: Any  # the Arrow schema of the columns that are folded
    questions: Any  # the Arrow schema of the questions
    made: Any  # the Arrow schema of the results
    shipped: Shipped
    known: str | None
    asked: str | None


def run_questions(
    definition: Rolling,
    data: DataFrame,
    at: DataFrame,
    *,
    known: str | None = None,
    asked: str | None = None,
    lateness: Any = None,
    partitions: int | None = None,
    types: Mapping[str, Any] | None = None,
    skew: Any = "auto",
) -> DataFrame:
    """Run a definition over events, at the times and keys of questions.

    `known` names a column of the events with their arrival times: an event counts only if it had
    arrived by the question's time, or by the time in the column that `asked` names. `lateness` is
    for tables in process only. `partitions`, `types` and `skew` are those of a batch.
    """
    require_questions(definition)
    if definition.order == "input":
        raise DefinitionError(
            "order='input' works for in-process tables only, since rows in Spark have no order: "
            "name the columns to order by"
        )
    if known is None and asked is not None:
        raise DefinitionError("asked= needs known=, the column of arrival times")
    if lateness is not None:
        raise DefinitionError(
            "lateness= with at= works in process only, since it depends on all events in order of "
            "arrival: drop late events first"
        )
    if known is not None:
        require_known(definition, known, asked)
    if at.isStreaming:
        raise DefinitionError("at= must be a batch DataFrame, got a stream")
    both = _united(definition, data, at, types, known, asked)
    size = size_of(data).plus(size_of(at))
    count, cuts = size.partitions(partitions), _can_cut(definition)
    if not definition.by:
        chunks = size.chunks(partitions) if cuts else 1
        chunked = _run_chunks(both, chunks) if chunks > 1 else None
        return chunked if chunked is not None else _run(both, both.data.coalesce(1))
    hot = share_of(skew, size.nbytes)
    adaptive = size.adaptive and partitions is None

    def by_key(data: DataFrame) -> DataFrame:
        keys = both.keys
        return _run(both, data.repartition(*keys) if adaptive else data.repartition(count, *keys))

    if hot is None or count == 1 or not cuts or size.too_small(partitions):
        return by_key(both.data)
    conditions = hot_keys(both.data, both.keys, *hot)
    if not conditions:
        return by_key(both.data)
    is_hot = reduce(lambda a, b: a | b, conditions)
    hot_part = _run_chunks(replace(both, data=both.data.where(is_hot)), count)
    if hot_part is None:
        return by_key(both.data)
    return by_key(both.data.where(~is_hot)).unionAll(hot_part)


def _can_cut(definition: Rolling) -> bool:
    return all(window.in_time for window in definition.windows)


def _united(
    definition: Rolling,
    data: DataFrame,
    at: DataFrame,
    types: Mapping[str, Any] | None,
    known: str | None,
    asked: str | None,
) -> _Both:
    events, questions = arrow_schema(data.schema), arrow_schema(at.schema)
    check_names(definition, list(events.names), list(questions.names))
    if known is not None and known not in events.names:
        raise ColumnError(f"the data has no column {known!r}, which known= names")
    if asked is not None and asked not in questions.names:
        raise ColumnError(f"the questions have no column {asked!r}, which asked= names")
    used = list(dict.fromkeys((*definition.used, *((known,) if known else ()))))
    folded = pa.schema([events.field(name) for name in used])
    for name in (definition.on, *definition.by):
        if events.field(name).type != questions.field(name).type:
            raise ValueTypeError(
                f"the column {name!r} is {events.field(name).type} in the events and "
                f"{questions.field(name).type} in the questions: cast one of them"
            )
    none = questions.empty_table()
    made = answer(definition, folded.empty_table(), none)
    features = pa.schema([pa.field(name, values.type) for name, values in made.items()])
    result = pa.schema([*questions, *features])
    result = result_schema(definition, questions, types, results=result)
    # Spark resolves names again and fails on dots and duplicates, so columns are numbered.
    first = data.toDF(*[f"c{i}" for i in range(len(events))])
    second = at.toDF(*[f"c{i}" for i in range(len(questions))])
    sides = []
    for frame, schema, names, asks in (
        (first, events, used, False),
        (second, questions, questions.names, True),
    ):
        columns = [f"c{schema.get_field_index(name)}" for name in names]
        row = fn.struct(*(fn.col(c).alias(f"f{i}") for i, c in enumerate(columns)))
        keys = [
            fn.col(f"c{schema.get_field_index(name)}").alias(f"k{i}")
            for i, name in enumerate(definition.by)
        ]
        place = schema.get_field_index(definition.on)
        time = steps(f"c{place}", frame.schema[place].dataType).alias("t")
        sides.append((frame, [*keys, time, fn.lit(asks).alias(ASKS)], row))
    kinds = [frame.select(row.alias("row")).schema[0].dataType for frame, _, row in sides]
    both = [
        frame.select(
            *head,
            (row if place == 0 else fn.lit(None).cast(kinds[0])).alias(EVENT),
            (row if place == 1 else fn.lit(None).cast(kinds[1])).alias(QUESTION),
        )
        for place, (frame, head, row) in enumerate(sides)
    ]
    return _Both(
        definition,
        both[0].unionAll(both[1]),
        [f"k{i}" for i in range(len(definition.by))],
        fn.col("t"),
        folded,
        questions,
        result,
        Shipped(definition),
        known,
        asked,
    )


def _run(both: _Both, spread: DataFrame) -> DataFrame:
    """Answer the questions of each partition."""
    sent, shipped = sendable(both.made), both.shipped
    events, questions = both.events.names, both.questions.names
    known, asked, keys = both.known, both.asked, both.keys

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        for table in by_parts(iter(batches), keys):
            yield from fold_part(table.select([ASKS, EVENT, QUESTION]))

    def fold_part(table: Any) -> Iterator[Any]:
        asks = table[ASKS]
        rows = _flat(table.filter(pc.invert(asks)), EVENT, events)
        wanted = _flat(table.filter(asks), QUESTION, questions)
        if len(wanted) == 0:
            return
        definition = shipped.load()
        if known is None:
            found = answer(definition, rows, wanted)
        else:
            found = answer_known(definition, rows, wanted, known, asked)
        for name, values in found.items():
            wanted = wanted.append_column(name, values)
        yield from conform(wanted, sent).to_batches(OUT_ROWS)

    return named(map_in_arrow(spread, fold, spark_schema(sent)), both.made.names)


def _flat(table: Any, name: str, names: list[str]) -> Any:
    """Return the rows of one side with their own columns."""
    rows = table[name].combine_chunks()
    if isinstance(rows, pa.ChunkedArray):
        rows = pa.concat_arrays(rows.chunks) if rows.num_chunks else pa.array([], rows.type)
    return pa.table(rows.flatten(), names=names)


def _run_chunks(both: _Both, count: int) -> DataFrame | None:
    """Cut time into chunks and send events where windows hold them; None if there is no cut."""
    definition, time = both.definition, both.time
    times = both.data.where(fn.col(ASKS)).select(time.alias("t"))
    shares = [i / count for i in range(1, count)]
    row = times.agg(fn.percentile_approx("t", shares, 10000)).first()
    cuts = sorted(set(row[0])) if row is not None and row[0] else []
    if not cuts:
        return None
    kind = both.events.field(definition.on).type
    clock, _ = counted(definition.on, pa.array([], kind))
    reaches = [reach for window in definition.windows if (reach := window.reach(clock))]
    oldest, newest = max(far for far, _ in reaches), min(near for _, near in reaches)
    bounds = [LEAST, *cuts, MOST]
    own = _choice(time, list(pairwise(bounds)))
    held = _choice(
        time,
        [
            (max(low - oldest, LEAST) if low != LEAST else LEAST, min(high - newest, MOST))
            for low, high in pairwise(bounds)
        ],
    )
    chosen = fn.when(fn.col(ASKS), own).otherwise(held)
    spread = both.data.withColumn(CHUNK, fn.explode(chosen))
    return _run(both, place(spread, len(cuts) + 1, fn.col(CHUNK), len(cuts) + 1))


def _choice(time: Column, ranges: list[tuple[int, int]]) -> Column:
    """Return the numbers of the ranges that hold a time; the last one includes its end."""

    def inside(low: int, high: int) -> Column:
        last = time <= fn.lit(high) if high == MOST else time < fn.lit(high)
        return (time >= fn.lit(low)) & last

    numbers = [
        fn.when(inside(low, high), fn.lit(place)) for place, (low, high) in enumerate(ranges)
    ]
    return fn.filter(fn.array(*numbers), lambda number: number.isNotNull())
