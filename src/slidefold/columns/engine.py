"""A rolling definition over a whole table: sort once, find frames once a window, fold."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from slidefold.columns.compute import Definition, FramesOf, filled_columns, fold_columns, windows_of
from slidefold.columns.grouping import Sorted, sort_table, without_views
from slidefold.columns.sources import ReaderSource, source_of
from slidefold.columns.streaming import run_reader
from slidefold.columns.threads import require_threads
from slidefold.columns.together import fold_together
from slidefold.columns.values import to_arrow
from slidefold.errors import ColumnError
from slidefold.windows import Slide


def run(definition: Definition, data: Any, threads: int = 1) -> Any:
    """Run a definition over data, and return the same kind of data."""
    threads = require_threads(threads)
    source = source_of(data)
    require_columns(definition, list(source.names))
    if isinstance(source, ReaderSource) and definition.slide is None:
        return run_reader(definition, source.reader, threads=threads)
    table = without_views(source.select(definition.used))
    ordered = sort_table(table, definition.on, definition.by, definition.ties)
    windows = windows_of(definition)
    filled = filled_columns(definition, source.filled)
    if definition.slide is None:
        found = fold_together(definition, ordered, threads)
        rest = fold_columns(definition, ordered, FramesOf(ordered.rows), threads, found)
        found |= {name: ordered.back(values) for name, values in rest.items()}
        return source.append({name: found[name] for name in definition.columns}, filled)
    slide = definition.slide.slide(ordered.rows, windows)
    return source.maker(filled)(slide_table(definition, ordered, slide, threads))


def slide_table(definition: Definition, ordered: Sorted, slide: Slide, threads: int = 1) -> Any:
    """Return the results of a slide: the keys, where its windows start and end, the columns."""
    found = fold_columns(definition, ordered, slide.frames, threads)
    return ends_table(definition, ordered, slide, found)


def ends_table(definition: Definition, ordered: Sorted, slide: Slide, found: Any) -> Any:
    """Return such a table of columns that are folded already."""
    first = ordered.rows.starts[slide.group]
    keys = {name: ordered.rows.column(name).take(pa.array(first)) for name in definition.by}
    kind = ordered.rows.column(definition.on).type
    if pa.types.is_integer(kind):
        kind = pa.int64()  # a window may start before what a smaller type holds
    bounds = {
        "window_start": to_arrow(slide.start, slide.started, kind),
        "window_end": to_arrow(slide.end, None, kind),
    }
    return pa.table({**keys, **bounds, **found})


def require_column(column: str, names: Sequence[str]) -> None:
    """Refuse a name that is not there, or there twice; say which one may have been meant."""
    found = names.count(column)
    if found > 1:
        raise ColumnError(f"the data has {found} columns named {column!r}")
    if found == 0:
        raise ColumnError(f"the data has no column {column!r}{_hint(column, names)}")


def require_columns(definition: Definition, names: Sequence[str]) -> None:
    """Refuse data that lacks a column of a definition, or has one that is to be made."""
    for column in definition.used:
        require_column(column, names)
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
