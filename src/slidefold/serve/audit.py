"""Compare answers that were served with what the events give, and find out why they differ.

The answers are computed again with `at=` and `known=`. For each value that differs, explanations
are tried one after the other: the value was rounded, another definition gave it, events that
arrived later were counted, the bounds of a window were taken differently, one event was missing or
counted twice. The first that gives the served value is the reason.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.columns.questions import asked_columns
from slidefold.columns.why import rows_behind
from slidefold.definition.expressions import Node
from slidefold.definition.expressions.nodes import Result
from slidefold.definition.formula import Formula
from slidefold.definition.operators import Over
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows.closed import CLOSED
from slidefold.errors import ColumnError, SlidefoldError, WindowError, nearest
from slidefold.serve.recorder import DEFINITION

REASONS = (
    "rounding",
    "other definition",
    "late event",
    "boundary",
    "missing event",
    "doubled event",
    "unknown",
)
_CASE = "\0case"  # the key of an explanation that is tried
_MOST = 400  # events whose absence is tried
_AROUND = 3  # events before those in a window: they move in if one is missing


@dataclass(frozen=True)
class Difference:
    """A value that was served and is not what the events give."""

    row: int
    column: str
    served: Any
    expected: Any
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """The result of an audit."""

    answers: int
    values: int
    differences: tuple[Difference, ...]

    @property
    def reasons(self) -> dict[str, int]:
        """The number of differences by reason."""
        counts = Counter(each.reason for each in self.differences)
        return {reason: counts[reason] for reason in REASONS if counts[reason]}


def audit(
    definition: Rolling,
    answers: Any,
    events: Any,
    *,
    known: str,
    asked: str | None = None,
    served: Rolling | None = None,
) -> Report:
    """Compute answers again and explain each value that differs.

    `answers` and `events` are Arrow tables. `known` is the column of `events` that tells when each
    arrived, and `asked` the column of `answers` that tells when each was given, if that is not the
    time of the question. `served` is the definition that gave the answers; by default it is the one
    in the metadata of the answers, as a service records it.
    """
    names = [name for name in definition.columns if name in answers.column_names]
    if not names:
        raise ColumnError(
            f"the answers have none of the columns {', '.join(definition.columns)}"
            f"{nearest(next(iter(definition.columns)), answers.column_names)}"
        )
    only = definition.only(*names)
    wanted = dict.fromkeys((*asked_columns(only), *((asked,) if asked else ())))
    missing = next((name for name in wanted if name not in answers.column_names), None)
    if missing is not None:
        raise ColumnError(f"the answers have no column {missing!r}")
    questions = answers.select(list(wanted))
    expected = only.run(events, at=questions, known=known, asked=asked)
    tried = _Tried(
        only, _recorded(answers) if served is None else served, questions, events, known, asked
    )
    found: list[Difference] = []
    for name in names:
        given, right = answers[name].to_pylist(), expected[name].to_pylist()
        for row, (one, other) in enumerate(zip(given, right, strict=True)):
            if not same(one, other):
                reason, detail = tried.explain(row, name, one, other)
                found.append(Difference(row, name, one, other, reason, detail))
    found.sort(key=lambda each: each.row)
    return Report(len(answers), len(answers) * len(names), tuple(found))


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal; floats may differ by rounding while they are summed."""
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other or math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-300)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _recorded(answers: Any) -> Rolling | None:
    """Return the definition in the metadata of recorded answers."""
    text = (answers.schema.metadata or {}).get(DEFINITION)
    if text is None:
        return None
    try:
        return Rolling.from_dict(json.loads(text))
    except (ValueError, SlidefoldError):
        return None  # it has operators that are not known here


class _Tried:
    """Explanations, and the values that each would give for all questions, computed once."""

    def __init__(
        self,
        definition: Rolling,
        served: Rolling | None,
        questions: Any,
        events: Any,
        known: str,
        asked: str | None,
    ) -> None:
        self.definition, self.served = definition, served
        self.questions, self.events, self.known, self.asked = questions, events, known, asked
        self._values: dict[tuple[str, str], list[Any] | None] = {}

    def explain(self, row: int, name: str, given: Any, right: Any) -> tuple[str, str]:
        """Return why a value differs, with a detail."""
        if (digits := _rounded(given, right)) is not None:
            return "rounding", digits
        if self._gives("served", row, name, given):
            assert self.served is not None
            return "other definition", f"served by {_text(self.served, name)}"
        if self._gives("later", row, name, given):
            return "late event", "all events, also those that arrived later"
        for closed in CLOSED:
            if self._gives(closed, row, name, given):
                return "boundary", f"closed={closed!r}"
        return self._by_events(row, name, given)

    # ---- explanations that concern all questions

    def _gives(self, how: str, row: int, name: str, given: Any) -> bool:
        values = self._all(how, name)
        return values is not None and same(values[row], given)

    def _all(self, how: str, name: str) -> list[Any] | None:
        if (how, name) not in self._values:
            try:
                self._values[how, name] = self._computed(how, name)
            except SlidefoldError:  # it cannot be computed from these tables
                self._values[how, name] = None
        return self._values[how, name]

    def _computed(self, how: str, name: str) -> list[Any] | None:
        definition: Rolling | None = self.definition.only(name)
        if how == "later":
            assert definition is not None
            return definition.run(self.events, at=self.questions)[name].to_pylist()  # type: ignore[no-any-return]
        if how == "served":
            definition = self.served
            if definition is None or name not in definition.columns:
                return None
            definition = definition.only(name)
            if definition.columns[name] == self.definition.only(name).columns[name]:
                return None
        else:
            assert definition is not None
            definition = _closed(definition, how)
            if definition is None:
                return None
        answered = definition.run(
            self.events, at=self.questions, known=self.known, asked=self.asked
        )
        return answered[name].to_pylist()  # type: ignore[no-any-return]

    # ---- explanations that concern single events

    def _by_events(self, row: int, name: str, given: Any) -> tuple[str, str]:
        definition = self.definition.only(name)
        question = self.questions.slice(row, 1)
        held, later = self._around(definition, question, name)
        cases = list(_cases(len(held), len(later)))
        values = _tried(definition, question, name, held, later, cases)
        for (reason, detail, _, _), value in zip(cases, values, strict=True):
            if same(value, given):
                return reason, detail(held, later, definition.on)
        return "unknown", ""

    def _around(self, definition: Rolling, question: Any, name: str) -> tuple[Any, Any]:
        """Return events in and shortly before the windows, and those that arrived later."""
        numbered = self.events.append_column(_CASE, pa.array(np.arange(len(self.events))))
        by = question[self.asked or definition.on]
        # A rows window holds older events if the later ones do not count.
        views = (
            rows_behind(definition, numbered, question, name)[_CASE],
            rows_behind(definition, numbered, question, name, self.known, self.asked)[_CASE],
        )
        inside = pc.unique(pa.chunked_array([chunk for view in views for chunk in view.chunks]))
        mine = numbered
        for key in definition.by:
            value = question[key][0]
            if value.is_valid:
                mine = mine.filter(pc.equal(mine[key], value.cast(mine.schema.field(key).type)))
            else:
                mine = mine.filter(mine[key].is_null())
        mine = mine.sort_by(definition.on)
        times = mine[definition.on]
        until = pc.less_equal(times, question[definition.on][0].cast(times.type))
        mine = mine.filter(until)
        in_window = pc.is_in(mine[_CASE], inside).to_numpy()
        first = int(np.argmax(in_window)) if in_window.any() else len(mine)
        mine = mine.slice(max(first - _AROUND, 0))
        mine = mine.slice(max(len(mine) - _MOST, 0))
        known = pc.fill_null(
            pc.less_equal(mine[self.known], by[0].cast(mine.schema.field(self.known).type)), False
        )
        return mine.filter(known), mine.filter(pc.invert(known)).sort_by(self.known)


Detail = Callable[[Any, Any, str], str]


def _cases(held: int, later: int) -> Iterator[tuple[str, Detail, tuple[int, ...], tuple[int, ...]]]:
    """Yield explanations: which events that were there count, and which later ones.

    Events are numbers of rows; a number that occurs twice counts twice.
    """
    every = tuple(range(held))
    for number in range(later):
        yield "late event", _one_later(number), every, (number,)
    for count in range(2, later + 1):
        yield "late event", _first_later(count), every, tuple(range(count))
    for number in range(held - 1, -1, -1):
        yield "missing event", _one(number), every[:number] + every[number + 1 :], ()
    for number in range(held - 1, -1, -1):
        yield "doubled event", _one(number), (*every, number), ()


def _one(number: int) -> Detail:
    return lambda held, later, on: f"the event at {held[on][number].as_py()}"


def _one_later(number: int) -> Detail:
    return lambda held, later, on: f"the event at {later[on][number].as_py()} arrived later"


def _first_later(count: int) -> Detail:
    return lambda held, later, on: f"{count} events arrived later"


def _tried(
    definition: Rolling, question: Any, name: str, held: Any, later: Any, cases: list[Any]
) -> list[Any]:
    """Return the value that each explanation would give, in one run: each is a key."""
    if not cases:
        return []
    both = pa.concat_tables([held, later]).drop_columns([_CASE])
    rows = [[*there, *(len(held) + number for number in more)] for _, _, there, more in cases]
    flat = np.concatenate([np.array(each, np.int64) for each in rows])
    numbers = np.repeat(np.arange(len(cases)), [len(each) for each in rows])
    events = both.take(pa.array(flat)).append_column(_CASE, pa.array(numbers))
    asks = pa.concat_tables([question] * len(cases)).append_column(
        _CASE, pa.array(np.arange(len(cases)))
    )
    keyed = replace(definition, by=(*definition.by, _CASE))
    return keyed.run(events, at=asks)[name].to_pylist()  # type: ignore[no-any-return]


def _closed(definition: Rolling, closed: str) -> Rolling | None:
    """Return a definition with other bounds of its windows; None if that changes nothing."""

    def changed(over: Over) -> Over:
        try:
            return replace(over, window=over.window.closing(closed))
        except WindowError:  # a window that has no other bounds
            return over

    def node_of(node: Node) -> Node:
        return Result(changed(node.over)) if isinstance(node, Result) else node

    items = tuple(
        (name, changed(item) if isinstance(item, Over) else Formula(item.node.replaced(node_of)))
        for name, item in definition.items
    )
    return None if items == definition.items else replace(definition, items=items)


def _text(definition: Rolling, name: str) -> str:
    item = definition.columns[name]
    return item.text() if isinstance(item, Formula) else item.text(definition.default_closed)


def _rounded(given: Any, right: Any) -> str | None:
    """Return how a number was rounded, None if it was not."""
    if not isinstance(given, float) or not isinstance(right, int | float):
        return None
    if isinstance(right, bool) or math.isnan(given) or math.isnan(right) or math.isinf(right):
        return None
    if given == float(np.float32(right)):
        return "to 32 bits"
    for digits in range(13):
        if given == round(float(right), digits):
            return f"to {digits} decimals"
    close = math.isclose(given, right, rel_tol=1e-9, abs_tol=1e-300)
    return "in the last digits" if close else None
