"""Features at the times and keys of another table: `run(events, at=questions)`.

The events are sorted as for any run, and the questions by key and time. Each window then says which
events it holds at each question, and the ordinary kernels fold these frames.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.compute import any_frame_columns, filled_columns
from slidefold.columns.expressions import completed, with_derived
from slidefold.columns.grouping import (
    Placing,
    Sorted,
    group_numbers,
    one_chunk,
    sort_table,
    without_views,
)
from slidefold.columns.sources import source_of
from slidefold.columns.threads import require_threads
from slidefold.definition.expressions import compile_expressions
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Asked, counted
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ColumnError, DefinitionError, ValueTypeError, nearest


def run_at(definition: Rolling, data: Any, at: Any, threads: int = 1) -> Any:
    """Return the questions with the features over events as of their times and keys."""
    threads = require_threads(threads)
    require_questions(definition)
    events, questions = source_of(data), source_of(at)
    check_names(definition, list(events.names), list(questions.names))
    rows = without_views(events.select(list(definition.used)))
    asked = without_views(questions.select(list(asked_columns(definition))))
    found = answer(definition, rows, asked, threads)
    return questions.append(found, filled_columns(definition, questions.filled))


def require_questions(definition: Rolling) -> None:
    """Refuse a definition that has no results at questions."""
    if definition.slide is not None:
        raise DefinitionError("at= gives one result per question: leave every= out")


def asked_columns(definition: Rolling) -> tuple[str, ...]:
    """Return the columns that questions must have."""
    walked = (name for window in definition.windows for name in window.walks)
    own = (name for leaf in definition.leaves for name in own_inputs(definition, leaf.operator.own))
    names = (definition.on, *definition.by, *walked, *own, *definition.row_columns)
    return tuple(dict.fromkeys(names))


def own_inputs(definition: Rolling, own: str) -> tuple[str, ...]:
    """Return the columns of a row that make its own value."""
    if not own:
        return ()
    derived = dict(definition.derived)
    return derived[own].columns() if own in derived else (own,)


def check_names(definition: Rolling, events: list[str], questions: list[str]) -> None:
    """Refuse events or questions that lack a column, or questions that have a feature already."""
    from slidefold.columns.engine import require_column

    for name in definition.used:
        require_column(name, events)
    for name in asked_columns(definition):
        found = questions.count(name)
        if found != 1:
            many = "no" if found == 0 else str(found)
            hint = nearest(name, questions) if found == 0 else ""
            plural = "column" if found == 0 else "columns named"
            raise ColumnError(f"the questions have {many} {plural} {name!r}{hint}")
    taken = next((name for name in definition.columns if name in questions), None)
    if taken is not None:
        raise ColumnError(
            f"the questions have a column {taken!r} already: give the new one another name"
        )


def answer(definition: Rolling, events: Any, questions: Any, threads: int = 1) -> dict[str, Any]:
    """Return the new columns for questions, in their order; both are Arrow tables."""
    questions = like_events(definition, events.schema, questions)
    ordered, frames, placing, sorted_column = _placed(
        definition, with_derived(definition, events), questions
    )
    found = any_frame_columns(definition.core, ordered, frames, threads, sorted_column)
    back = {name: placing.put_back(values) for name, values in found.items()}
    return completed(definition, questions, back)


def frames_at(definition: Rolling, events: Any, question: Any) -> tuple[Sorted, Any]:
    """Return the events in order, and the frame of each window at one question."""
    ordered, frames, _, _ = _placed(definition, events, question)
    return ordered, frames


def _placed(
    definition: Rolling, table: Any, questions: Any
) -> tuple[Sorted, Any, Placing, Callable[[str], Any]]:
    """Return events in order, the frames at questions in order, and where the questions are."""
    ordered = sort_table(table, definition.on, definition.by, definition.ties)
    group = _groups(definition, ordered.rows, questions)
    _, times = counted(definition.on, one_chunk(questions, definition.on))
    count = len(ordered.rows.starts)  # one more than there are groups
    order, in_order, _, places, _ = _native.order_rows(group.astype(np.int32), count, times)
    placing = Placing(order, places)
    own = _own_values(definition, questions)

    def sorted_column(name: str) -> Any:
        return placing.put_in_order(own(name))

    in_groups = group if order is None else group[order]
    asked = Asked(in_groups, times if order is None else in_order, sorted_column)
    frames = {window: window.asked_frames(ordered.rows, asked) for window in definition.windows}
    return ordered, frames, placing, sorted_column


def like_events(definition: Rolling, schema: Any, questions: Any) -> Any:
    """Return questions whose times and keys have the types that they have in the events."""
    for name in (definition.on, *definition.by):
        kind, column = schema.field(name).type, questions[name]
        if column.type == kind:
            continue
        try:
            if _family(column.type) != _family(kind):
                raise pa.ArrowInvalid
            cast = column.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise ValueTypeError(
                f"the column {name!r} is {kind} in the events and {column.type} in the questions, "
                "whose values do not all fit: cast one of them"
            ) from None
        questions = questions.set_column(questions.column_names.index(name), name, cast)
    return questions


def _family(kind: Any) -> str:
    """Return a word for types that can be compared."""
    types = pa.types
    if types.is_dictionary(kind):
        return _family(kind.value_type)
    if types.is_timestamp(kind):  # without a zone they are in UTC
        return "timestamp"
    tests = {
        "integer": types.is_integer,
        "float": types.is_floating,
        "string": lambda k: types.is_string(k) or types.is_large_string(k),
        "bytes": lambda k: types.is_binary(k) or types.is_large_binary(k),
        "decimal": types.is_decimal,
        "date": types.is_date,
    }
    return next((word for word, test in tests.items() if test(kind)), str(kind))


def _groups(definition: Rolling, rows: Any, questions: Any) -> Ints:
    """Return the group of events that each question asks about; their number if there is none."""
    count = len(rows.starts) - 1
    if not definition.by:
        return np.zeros(len(questions), np.int64)
    first = pa.array(rows.starts[:-1])
    both = pa.table(
        {
            name: pa.concat_arrays(
                [_value(rows.column(name)).take(first), _value(one_chunk(questions, name))]
            )
            for name in definition.by
        }
    )
    codes, _ = group_numbers(both, definition.by)
    assert codes is not None
    known = np.full(len(both) + 1, count, np.int64)
    known[codes[:count]] = np.arange(count)
    found: Ints = known[codes[count:]]
    return found


def _value(values: Any) -> Any:
    kind = values.type
    return values.cast(kind.value_type) if pa.types.is_dictionary(kind) else values


def _own_values(definition: Rolling, questions: Any) -> Callable[[str], Any]:
    """Return a function that gives columns of the questions, those of expressions too."""
    derived = dict(definition.derived)
    kinds = dict(zip(questions.schema.names, questions.schema.types, strict=True))

    def column(name: str) -> Any:
        if name not in derived:
            return one_chunk(questions, name)
        compiled = compile_expressions([(name, derived[name])], kinds)
        return compiled.columns(questions)[name]

    return column
