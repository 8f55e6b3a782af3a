"""Spark's own windows: compute columns with `OVER` where it gives the same results.

Times are integers here too, so a time window is a `RANGE` of integers and time zones have no
effect. Only operators with the same rules for null, NaN and types are supported.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.window import Window, WindowSpec

from slidefold.definition.operators import RECORDS, Over
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.definition.windows.clock import Clock
from slidefold.errors import DefinitionError
from slidefold.spark.clock import steps

# Sums and means of these types agree with Spark's; floats differ in rounding only.
_NUMBERS = {pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()}
_OVERFLOW = "a sum is too large for its type"


def require_over(definition: Rolling, given: Any) -> None:
    """Refuse a definition that Spark's OVER would compute differently; name the column and why."""
    if definition.slide is not None:
        raise DefinitionError("engine='spark' gives one result per row: leave every= out")
    for name, over in definition.columns.items():
        if not isinstance(over, Over) or definition.core.columns.get(name) != over:
            raise DefinitionError(
                f"engine='spark' cannot compute {name!r}: it folds or makes an expression"
            )
        why = _reason(over, given)
        if why:
            raise DefinitionError(f"engine='spark' cannot compute {name!r}: {why}")


def _reason(over: Over, given: Any) -> str:
    if over.window.over_spark:
        return over.window.over_spark
    operator = over.operator
    record = operator.record
    if not record.spark or operator.variant:
        known = [name for name, record in RECORDS.items() if record.spark]
        return f"expected an operator among {', '.join(known)}, got {operator.name}"
    kinds = [given.field(name).type for name in operator.columns]
    adds = record.exact_decimals  # their result types differ in Spark
    if adds and not _NUMBERS.issuperset(kinds):
        same = record.spark == "sum" and all(pa.types.is_decimal(kind) for kind in kinds)
        return "" if same else f"Spark's {operator.name} of {kinds[0]} gives other results"
    return ""


def run_over(definition: Rolling, data: DataFrame, given: Any) -> list[Column]:
    """Return the new columns as expressions over data with numbered columns."""
    place = {name: f"c{i}" for i, name in enumerate(given.names)}
    clock, _ = counted(definition.on, pa.array([], given.field(definition.on).type))
    on = steps(place[definition.on], data.schema[place[definition.on]].dataType)
    # A null time is an error in every engine; Spark would treat it as the oldest time.
    safe = fn.when(on.isNull(), fn.raise_error(fn.lit(_null(definition)))).otherwise(on)
    keys = [fn.col(place[name]) for name in definition.by]
    base = Window.partitionBy(*keys).orderBy(safe)
    return [_column(over, base, clock, place) for over in definition.overs.values()]


def _null(definition: Rolling) -> str:
    return f"the column {definition.on!r} is null"


def _column(over: Over, base: WindowSpec, clock: Clock, place: dict[str, str]) -> Column:
    reach = over.window.reach(clock)
    assert reach is not None
    oldest, newest = reach
    record = over.operator.record
    names = over.operator.columns
    value = fn.col(place[names[0]]) if names else fn.lit(1)
    if oldest < newest:  # an empty window
        empty = fn.lit(0).cast("long") if record.never_null else fn.lit(None)
        return empty if over.min_count is None else fn.lit(None)
    frame = base.rangeBetween(-oldest, -newest)
    if over.min_count is None:
        result: Column = getattr(fn, record.spark)(value).over(frame)
        return result
    enough = fn.count(value).over(frame) >= over.min_count
    if record.spark == "sum":
        # Spark would raise an overflow also for a sum that is not asked for.
        total = fn.try_sum(value).over(frame)
        checked = fn.when(total.isNull(), fn.raise_error(fn.lit(_OVERFLOW))).otherwise(total)
        return fn.when(enough, checked)
    return fn.when(enough, getattr(fn, record.spark)(value).over(frame))
