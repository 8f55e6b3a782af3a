"""Run a definition over a whole table: sort once, then execute the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from slidefold.columns.compute import filled_columns, frame_columns, row_columns
from slidefold.columns.expressions import completed, core_schema, with_derived
from slidefold.columns.grouping import Sorted, sort_table, without_views
from slidefold.columns.sources import ReaderSource, source_of
from slidefold.columns.streaming import run_reader
from slidefold.columns.threads import require_threads
from slidefold.columns.values import to_arrow
from slidefold.definition.lowering import require_no_clash
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Slide
from slidefold.errors import ColumnError, nearest
from slidefold.planner import TablePlan, plan_table


def run(definition: Rolling, data: Any, threads: int = 1) -> Any:
    """Run a definition over data, and return the same kind of data."""
    threads = require_threads(threads)
    source = source_of(data)
    require_columns(definition, list(source.names))
    if isinstance(source, ReaderSource) and definition.slide is None:
        if any(window.ahead for window in definition.windows):  # they need all rows
            return run(definition, source.reader.read_all(), threads).to_reader()
        return run_reader(definition, source.reader, threads=threads)
    read = dict.fromkeys((*definition.used, *definition.row_columns))
    if definition.slide is not None:
        read = dict.fromkeys(definition.used)
    given = source.select(list(read))
    table = with_derived(definition, without_views(given.select(list(definition.used))))
    ordered = sort_table(table, definition.on, definition.by, definition.ties)
    filled = filled_columns(definition, source.filled)
    if definition.slide is None:
        results = row_columns(definition.core, ordered, threads)
        return source.append(completed(definition, given, results), filled)
    slide = definition.slide.slide(ordered.rows, definition.windows)
    return source.maker(filled)(slide_table(definition, ordered, slide, threads))


def slide_table(definition: Rolling, ordered: Sorted, slide: Slide, threads: int = 1) -> Any:
    """Return the results of a slide: the keys, where its windows start and end, the columns."""
    found = frame_columns(definition.core, ordered, slide.frames, threads)
    return ends_table(definition, ordered, slide, found)


def ends_table(definition: Rolling, ordered: Sorted, slide: Slide, found: Any) -> Any:
    """Return the table of a slide whose columns are folded already."""
    first = ordered.rows.starts[slide.group]
    keys = {name: ordered.rows.column(name).take(pa.array(first)) for name in definition.by}
    kind = ordered.rows.column(definition.on).type
    if pa.types.is_integer(kind):
        kind = pa.int64()  # a window may start before what a smaller type holds
    bounds = {
        "window_start": to_arrow(slide.start, slide.started, kind),
        "window_end": to_arrow(slide.end, None, kind),
    }
    ends = {**keys, **bounds}
    return pa.table({**ends, **completed(definition, ends, found)})


def plan_of(definition: Rolling, schema: Any, *, by_frame: bool = False) -> TablePlan:
    """Return how a definition would run over tables of a schema; None if types are not known."""
    if schema is not None:
        rows = definition.row_columns if definition.slide is None else ()
        for name in (*definition.inputs, *rows):
            require_column(name, schema.names)
        schema = core_schema(definition, schema)
    return plan_table(definition, schema, by_frame=by_frame)


def require_column(column: str, names: Sequence[str]) -> None:
    """Refuse a column that is missing or there twice, and hint at a similar name."""
    found = names.count(column)
    if found > 1:
        raise ColumnError(f"the data has {found} columns named {column!r}")
    if found == 0:
        raise ColumnError(f"the data has no column {column!r}{_hint(column, names)}")


def require_columns(definition: Rolling, names: Sequence[str]) -> None:
    """Refuse data that lacks an input column, or already has an output column."""
    for column in definition.required:
        require_column(column, names)
    require_no_clash(definition, list(names))
    if definition.slide is None:
        for name in definition.columns:
            if name in names:
                raise ColumnError(
                    f"the data has a column {name!r} already: give the new one another name"
                )


def _hint(column: str, names: Sequence[object]) -> str:
    known = [name for name in names if isinstance(name, str)]
    return nearest(column, known) or (f": it has {', '.join(known[:8])}" if known else "")
