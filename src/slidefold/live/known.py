"""Questions about what was known: events count only once they had arrived.

Events are inserted into the engine in order of their arrival, and each question is answered as soon
as all events are there that had arrived when it was asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.compute import filled_columns
from slidefold.columns.expressions import completed
from slidefold.columns.grouping import one_chunk, without_views
from slidefold.columns.questions import (
    asked_columns,
    check_names,
    like_events,
    require_questions,
    run_at,
)
from slidefold.columns.sources import source_of
from slidefold.columns.threads import require_threads
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Clock, counted, lateness_of
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ColumnError, DefinitionError, SlidefoldError, ValueTypeError
from slidefold.live.engine import Engine
from slidefold.live.native import capsule
from slidefold.live.times import lateness_steps


def run_questions(
    definition: Rolling,
    data: Any,
    at: Any,
    known: str | None = None,
    asked: str | None = None,
    lateness: Any = None,
    threads: int = 1,
) -> Any:
    """Return the questions with the features over events as of their times and keys."""
    if known is None:
        for name, given in (("asked", asked), ("lateness", lateness)):
            if given is not None:
                raise DefinitionError(f"{name}= needs known=, the column of arrival times")
        return run_at(definition, data, at, threads)
    require_threads(threads)
    require_questions(definition)
    require_known(definition, known, asked)
    events, questions = source_of(data), source_of(at)
    names, asks = list(events.names), list(questions.names)
    check_names(definition, names, asks)
    if known not in names:
        raise ColumnError(f"the data has no column {known!r}, which known= names")
    if asked is not None and asked not in asks:
        raise ColumnError(f"the questions have no column {asked!r}, which asked= names")
    used = list(dict.fromkeys((*definition.used, known)))
    wanted = list(dict.fromkeys((*asked_columns(definition), *((asked,) if asked else ()))))
    rows = without_views(events.select(used))
    found = answer_known(
        definition, rows, without_views(questions.select(wanted)), known, asked, lateness
    )
    return questions.append(found, filled_columns(definition, questions.filled))


def require_known(definition: Rolling, known: Any, asked: Any) -> None:
    """Refuse definitions that `known=` does not support, and wrong arguments."""
    for name, given in (("known", known), ("asked", asked)):
        if given is not None and not isinstance(given, str):
            raise DefinitionError(f"{name} must be the name of a column, got {given!r}")
    if any(window.ahead for window in definition.windows):
        raise DefinitionError("known= cannot look ahead: leave out known= or ahead=True")
    if definition.order == "input":
        raise DefinitionError("known= has no input order: name the columns to order by")


def answer_known(
    definition: Rolling,
    events: Any,
    questions: Any,
    known: str,
    asked: str | None,
    lateness: Any = None,
) -> dict[str, Any]:
    """Return the new columns for questions, over the events that had arrived by then."""
    questions = like_events(definition, events.schema, questions)
    places = np.arange(len(events))
    if events[known].null_count:  # what never arrived counts for nobody
        arrived = events[known].is_valid()
        events, places = events.filter(arrived), places[arrived.to_numpy()]
    came, asks = _comparable(events, known, questions, asked or definition.on)
    order = np.argsort(came, kind="stable")
    events, came, places = events.take(pa.array(order)), came[order], places[order]
    clock, times = counted(definition.on, one_chunk(events, definition.on))
    if lateness is not None:
        taken = _in_time(times, lateness_steps(lateness_of(lateness), clock))
        events, came, places = events.filter(pa.array(taken)), came[taken], places[taken]
    counted(definition.on, one_chunk(questions, definition.on))  # no null times
    rows = events.select(list(definition.used))
    # Events may have columns that are named like features: those are for the questions.
    engine = Engine(definition.bare_beside(rows.schema.names), rows.schema, "arrival")
    core, native = engine.native.core, engine.native
    turn = np.argsort(asks, kind="stable")
    ordered = questions.take(pa.array(turn))
    table = pa.table(
        [
            ordered[field.name].cast(field.type)
            if field.name in ordered.column_names
            else pa.nulls(len(ordered), field.type)
            for field in engine.schema
        ],
        schema=engine.schema,
    )
    upto = np.searchsorted(came, asks[turn], "right").astype(np.int64)
    try:
        answers = core.replay(capsule(engine.read(rows)), capsule(engine.read(table)), upto)
    except SlidefoldError as error:
        raise error if error.row is None else error.at(int(places[error.row])) from None
    found = native.features(answers)
    back = np.empty(len(turn), np.int64)
    back[turn] = np.arange(len(turn))
    in_order = zip(definition.overs, found.values(), strict=True)
    results = {name: values.take(pa.array(back)) for name, values in in_order}
    return completed(definition, questions, results)


def _in_time(times: Ints, lateness: int) -> Any:
    """Return which events a live run would have taken, one by one in order of arrival."""
    if len(times) == 0:
        return np.zeros(0, np.bool_)
    newest = np.maximum.accumulate(times)
    before = np.concatenate(([times[0]], newest[:-1]))
    late = times <= before - lateness
    late[0] = False
    return ~late


def _comparable(events: Any, known: str, questions: Any, asked: str) -> tuple[Ints, Ints]:
    """Return arrival times and asking times as numbers that can be compared."""
    mine, came = counted(known, one_chunk(events, known))
    theirs, asks = counted(asked, one_chunk(questions, asked))
    if (mine.unit is None) != (theirs.unit is None):
        raise ValueTypeError(
            f"the columns {known!r} ({mine.kind}) and {asked!r} ({theirs.kind}) cannot be compared"
        )
    return _scaled(came, mine, theirs), _scaled(asks, theirs, mine)


def _scaled(times: Ints, own: Clock, other: Clock) -> Ints:
    """Return times in the finer unit of two clocks."""
    if own.unit is None or other.unit is None or own.unit <= other.unit:
        return times
    return times * (own.unit // other.unit)
