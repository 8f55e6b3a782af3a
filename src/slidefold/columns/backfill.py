"""Run a definition for a period only: read the rows that its windows need, return its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidefold.columns.engine import require_column, run
from slidefold.columns.sources import schema_of, source_of
from slidefold.definition.period import Bounds, Period, period_of
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.errors import DefinitionError, SlidefoldError


def run_period(
    definition: Rolling, data: Any, since: Any = None, until: Any = None, threads: int = 1
) -> Any:
    """Run a definition over the rows that a period needs, and return its results."""
    kind = _time_type(definition, data)
    period = known_period(definition, kind, since, until)
    if isinstance(data, pa.RecordBatchReader):
        read = _reading(data, definition.on, period.reads)
        return _reading(run(definition, read, threads), period.column, period.results)
    if _is_lazy(data):
        results = run(definition, _lazily(data, definition.on, kind, period.reads), threads)
        return _filtered(results, period.column, period.results)
    source = source_of(data)
    mask = inside(source.select([definition.on])[definition.on], definition.on, period.reads)
    try:
        results = run(definition, source.filtered(pa.array(mask)), threads)
    except SlidefoldError as error:
        if error.row is None:
            raise
        raise error.at(int(np.flatnonzero(mask)[error.row])) from None
    return _filtered(results, period.column, period.results)


def explain_period(definition: Rolling, data: Any, since: Any = None, until: Any = None) -> str:
    """Tell which rows a run over a period reads, and why."""
    if data is None:
        raise DefinitionError("since= and until= of explain need the data or its schema")
    kind = _time_type(definition, data)
    return period_text(definition, known_period(definition, kind, since, until), kind)


def known_period(definition: Rolling, kind: Any, since: Any = None, until: Any = None) -> Period:
    """Return the period of a definition over times of an Arrow type."""
    clock, _ = counted(definition.on, pa.array([], kind))
    return period_of(definition, clock, getattr(kind, "tz", None) is not None, since, until)


def period_text(definition: Rolling, period: Period, kind: Any) -> str:
    """Describe the rows that are read and the results that are returned."""

    def written(bounds: Bounds) -> str:
        ends = [
            "" if bound is None else str(pa.array([bound]).cast(_steps_type(kind)).cast(kind)[0])
            for bound in bounds
        ]
        if not any(ends):
            return "all"
        return " ".join(
            f"{word} {end}" for word, end in zip(("from", "to"), ends, strict=True) if end
        )

    what = "rows" if definition.slide is None else "window ends"
    return (
        f"period: returns the {what} {written(period.results)}, reads the rows "
        f"{written(period.reads)}, because {period.why}"
    )


def _steps_type(kind: Any) -> Any:
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()


def inside(column: Any, name: str, bounds: Bounds) -> npt.NDArray[np.bool_]:
    """Tell which times are inside bounds; null times are, so that the run rejects them."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    known = values.is_valid().to_numpy(zero_copy_only=False)
    _, times = counted(name, values.drop_null())
    oldest, newest = bounds
    within = np.ones(len(times), np.bool_)
    if oldest is not None:
        within &= times >= oldest
    if newest is not None:
        within &= times <= newest
    if len(within) == len(known):
        return within
    every = np.ones(len(known), np.bool_)
    every[known] = within
    return every


def kept(results: Any, period: Period) -> Any:
    """Return the results of a period, as an Arrow table."""
    return results.filter(pa.array(inside(results[period.column], period.column, period.results)))


def _filtered(results: Any, name: str, bounds: Bounds) -> Any:
    source = source_of(results)
    return source.filtered(pa.array(inside(source.select([name])[name], name, bounds)))


def _time_type(definition: Rolling, data: Any) -> Any:
    on = definition.on
    if _is_lazy(data):
        data = data.head(0)  # else all of it would be collected
    schema = schema_of(data, [on])
    if on not in schema.names:
        names = data.names if isinstance(data, pa.Schema) else source_of(data).names
        require_column(on, list(names))
    return schema.field(on).type


def _is_lazy(data: Any) -> bool:
    """Tell whether the data is a Polars LazyFrame."""
    kind = type(data)
    return kind.__name__ == "LazyFrame" and kind.__module__.startswith("polars.")


def _reading(reader: Any, name: str, bounds: Bounds) -> Any:
    """Return a reader of the rows inside bounds; it stops behind them, as time never goes back."""
    place, newest = reader.schema.get_field_index(name), bounds[1]

    def batches() -> Iterator[Any]:
        for batch in reader:
            column = batch.column(place)
            yield batch.filter(pa.array(inside(column, name, bounds)))
            if newest is not None and not inside(column.drop_null(), name, (None, newest)).all():
                return

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _lazily(data: Any, name: str, kind: Any, bounds: Bounds) -> Any:
    """Return a LazyFrame of the rows inside bounds; Polars filters while it scans."""
    import polars as pl

    dtype, column = data.collect_schema()[name], pl.col(name)
    for bound, compare in zip(bounds, ("ge", "le"), strict=True):
        if bound is not None:
            limit = pl.lit(bound, dtype=pl.Int64)
            if not pa.types.is_integer(kind):
                limit = limit.cast(pl.Int32).cast(dtype) if dtype == pl.Date else limit.cast(dtype)
            data = data.filter(column.is_null() | getattr(column, compare)(limit))
    return data
