"""A rolling definition over a whole table: sort once, find frames once a window, fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from slidefold.columns.folds import fold
from slidefold.columns.grouping import Sorted, one_chunk, sort_table
from slidefold.columns.sources import Source, source_of
from slidefold.columns.values import to_arrow
from slidefold.errors import ColumnError, TimeOrderError
from slidefold.operators import Over
from slidefold.windows import Every, Frames, WindowKind


class Definition(Protocol):
    """What a run needs to know of a definition."""

    @property
    def on(self) -> str:
        """The column of times."""

    @property
    def by(self) -> tuple[str, ...]:
        """The columns of keys."""

    @property
    def slide(self) -> Every | None:
        """When there is a result; None for one an input row."""

    @property
    def ties(self) -> tuple[str, ...]:
        """The columns that order rows of equal time; none if that does not matter."""

    @property
    def columns(self) -> Mapping[str, Over]:
        """The new columns."""

    @property
    def used(self) -> tuple[str, ...]:
        """The input columns that are read."""


def run(definition: Definition, data: Any) -> Any:
    """Run a definition over data, and return the same kind of data."""
    source = source_of(data)
    _require_columns(definition, source)
    table = source.select(definition.used)
    if getattr(source, "in_order", False):
        _require_order(table, definition.on)
    ordered = sort_table(table, definition.on, definition.by, definition.ties)
    windows = list(dict.fromkeys(over.window for over in definition.columns.values()))
    if definition.slide is None:
        frames = {window: window.frames(ordered.rows) for window in windows}
        found = _folded(definition, ordered, frames)
        return source.append({name: ordered.back(values) for name, values in found.items()})
    slide = definition.slide.slide(ordered.rows, windows)
    found = _folded(definition, ordered, slide.frames)
    first = ordered.rows.starts[slide.group]
    keys = {name: ordered.rows.column(name).take(pa.array(first)) for name in definition.by}
    kind = one_chunk(table, definition.on).type
    if pa.types.is_integer(kind):
        kind = pa.int64()  # a window may start before what a smaller type holds
    bounds = {
        "window_start": to_arrow(slide.start, slide.started, kind),
        "window_end": to_arrow(slide.end, None, kind),
    }
    return source.fresh(pa.table({**keys, **bounds, **found}))


def _folded(
    definition: Definition, ordered: Sorted, frames: Mapping[WindowKind, Frames]
) -> dict[str, Any]:
    return {
        name: fold(
            over.operator,
            over.window,
            tuple(ordered.rows.column(column) for column in over.operator.columns),
            frames[over.window],
            over.min_count,
            over.algorithm,
        )
        for name, over in definition.columns.items()
    }


def _require_columns(definition: Definition, source: Source) -> None:
    names = list(source.names)
    for column in definition.used:
        found = names.count(column)
        if found > 1:
            raise ColumnError(f"the data has {found} columns named {column!r}")
        if found == 0:
            raise ColumnError(f"the data has no column {column!r}{_hint(column, names)}")
    if definition.slide is None:
        for name in definition.columns:
            if name in names:
                raise ColumnError(
                    f"the data has a column {name!r} already: give the new one another name"
                )


def _hint(column: str, names: Sequence[object]) -> str:
    known = [name for name in names if isinstance(name, str)]
    near = get_close_matches(column, known, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f": it has {', '.join(known[:8])}" if known else ""


def _require_order(table: Any, on: str) -> None:
    """Refuse a reader whose rows do not come in time order: it is not read twice."""
    times = one_chunk(table, on)
    if times.null_count or len(times) < 2:
        return  # nulls have an error of their own
    moments = times.to_numpy(zero_copy_only=False)
    falls = np.flatnonzero(moments[1:] < moments[:-1])
    if len(falls):
        raise TimeOrderError(
            f"a reader must come in order of {on!r}, but time goes back at row {falls[0] + 1}: "
            "read it into a table first"
        )
