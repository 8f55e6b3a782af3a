"""Spark's own windows: the columns that `OVER` computes with the same results.

Times are whole numbers there too, so that a time window is a `RANGE` of them and no zone has a say.
Only operators whose rules for null, NaN and types agree are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.window import Window, WindowSpec

from slidefold.columns.compute import Definition
from slidefold.errors import DefinitionError
from slidefold.definition.operators import Over
from slidefold.spark.clock import steps
from slidefold.definition.windows import Rows, Time, counted
from slidefold.definition.windows.clock import Clock

# Sums of floats differ in rounding only; decimals have the same digits; integers are long.
_OPERATORS: dict[str, Callable[[Column], Column]] = {
    "count": fn.count,
    "sum": fn.sum,
    "min": fn.min,
    "max": fn.max,
    "mean": fn.avg,
}
_NUMBERS = {pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()}


def require_over(definition: Definition, given: Any) -> None:
    """Refuse what Spark's OVER does not compute as slidefold does, saying which column and why."""
    if definition.slide is not None:
        raise DefinitionError("engine='spark' has a result a row: leave every out")
    for name, over in definition.columns.items():
        why = _reason(over, given)
        if why:
            raise DefinitionError(f"engine='spark' cannot compute {name!r}: {why}")


def _reason(over: Over, given: Any) -> str:
    if not isinstance(over.window, Time):
        return (
            "rows windows need an order among rows of equal time that Spark does not have"
            if isinstance(over.window, Rows)
            else f"Spark has no {over.window}"
        )
    if over.operator.name not in _OPERATORS or over.operator.variant:
        return f"{over.operator.name} is not among {', '.join(_OPERATORS)}"
    kinds = [given.field(name).type for name in over.operator.columns]
    summed = over.operator.name == "sum"
    if (summed or over.operator.name == "mean") and not _NUMBERS.issuperset(kinds):
        same = summed and all(pa.types.is_decimal(kind) for kind in kinds)
        return "" if same else f"Spark's {over.operator.name} of {kinds[0]} is another"
    return ""


def run_over(definition: Definition, data: DataFrame, given: Any) -> list[Column]:
    """Return the new columns as expressions over data with numbers for names."""
    place = {name: f"c{i}" for i, name in enumerate(given.names)}
    clock, _ = counted(definition.on, pa.array([], given.field(definition.on).type))
    on = steps(place[definition.on], data.schema[place[definition.on]].dataType)
    # A null time is an error in every engine; Spark would take it for the oldest.
    safe = fn.when(on.isNull(), fn.raise_error(fn.lit(_null(definition)))).otherwise(on)
    keys = [fn.col(place[name]) for name in definition.by]
    base = Window.partitionBy(*keys).orderBy(safe)
    return [_column(over, base, clock, place) for over in definition.columns.values()]


def _null(definition: Definition) -> str:
    return f"the column {definition.on!r} is null"


def _column(over: Over, base: WindowSpec, clock: Clock, place: dict[str, str]) -> Column:
    assert isinstance(over.window, Time)
    oldest, newest = over.window.reach(clock)
    names = over.operator.columns
    value = fn.col(place[names[0]]) if names else fn.lit(1)
    if oldest < newest:  # a window that holds nothing
        empty = fn.lit(0).cast("long") if over.operator.name == "count" else fn.lit(None)
        return empty if over.min_count is None else fn.lit(None)
    frame = base.rangeBetween(-oldest, -newest)
    found = _OPERATORS[over.operator.name](value).over(frame)
    if over.min_count is None:
        return found
    return fn.when(fn.count(value).over(frame) >= over.min_count, found)
