"""The events behind one number: those that its windows held and its operators folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.columns.expressions import with_derived
from slidefold.columns.grouping import present_rows, without_views
from slidefold.columns.questions import (
    asked_columns,
    check_names,
    frames_at,
    like_events,
    require_questions,
)
from slidefold.columns.sources import source_of
from slidefold.definition.rolling import Rolling
from slidefold.errors import ColumnError, DataError, DefinitionError, nearest

PART = "part"  # the column that names the operator and the window that held an event


def rows_behind(
    definition: Rolling,
    data: Any,
    row: Any,
    column: str,
    known: str | None = None,
    asked: str | None = None,
) -> Any:
    """Return the events that one value is made of, as the same kind of table as the events.

    They are in time order, followed by those of the next operator if the column is made of several;
    the last column, `part`, tells which operator and window held them.
    """
    require_questions(definition)
    if column not in definition.columns:
        raise ColumnError(
            f"the definition has no column {column!r}{nearest(column, definition.columns)}"
        )
    only = definition.only(column)
    source = source_of(data)
    names = list(source.names)
    if PART in names:
        raise ColumnError(f"the data has a column {PART!r} already: rename it")
    events = without_views(source.select(names))
    question = _question(only, events.schema, row, asked)
    check_names(only, names, question.column_names)
    if known is not None:
        events = arrived(events, known, question[asked or only.on])
    elif asked is not None:
        raise DefinitionError("asked= needs known=, the column of arrival times")
    ordered, frames = frames_at(
        only, with_derived(only, events), like_events(only, events.schema, question)
    )
    order = ordered.order
    found = []
    for over in only.overs.values():
        lo, hi = (int(bound[0]) for bound in frames[over.window])
        for _, operator in over.operator.leaves():
            inside = np.arange(lo, hi)
            read = [] if operator.keeps_nulls else list(operator.columns)
            read += [operator.flag] if operator.flag is not None else []
            present = present_rows([ordered.rows.column(name).slice(lo, hi - lo) for name in read])
            if present is not None:
                inside = inside[present]
            rows = inside if order is None else order[inside]
            part = events.take(pa.array(rows))
            text = over.text(only.default_closed)
            found.append(part.append_column(PART, pa.array([text] * len(part), pa.string())))
    return source.maker(frozenset())(pa.concat_tables(found))


def arrived(events: Any, known: str, by: Any) -> Any:
    """Return the events that had arrived by a time."""
    if known not in events.column_names:
        raise ColumnError(f"the data has no column {known!r}, which known= names")
    return events.filter(pc.less_equal(events[known], by[0].cast(events.schema.field(known).type)))


def _question(definition: Rolling, schema: Any, row: Any, asked: str | None) -> Any:
    """Return one question as a table."""
    if not isinstance(row, Mapping):
        source = source_of(row)
        table = source.select(list(source.names))
        if len(table) != 1:
            raise DataError(f"expected one row to explain, got {len(table)}")
        return without_views(table).select(
            [name for name in table.column_names if name not in definition.columns]
        )
    wanted = (*asked_columns(definition), *((asked,) if asked is not None else ()))
    columns = {}
    for name in dict.fromkeys(wanted):
        if name not in row:
            raise ColumnError(f"the row has no {name!r}{nearest(name, row)}")
        kind = schema.field(name).type if name in schema.names else None
        try:
            columns[name] = pa.array([row[name]], kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            raise DataError(f"the value of {name!r} must be {kind}, got {row[name]!r}") from None
    return pa.table(columns)
