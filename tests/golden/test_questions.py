"""DESIGN's rules about questions as small cases, worked out by hand: columns, and `live.ask`."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from tests.support.golden import equal
from tests.support.golden_questions import Question, golden_questions

CASES = golden_questions()
ASKED = [case for case in CASES if not any(w.ahead for w in case.definition.windows)]


def check(found: Any, expected: Any) -> None:
    for name in expected.column_names:
        got = found[name]
        assert equal(got, expected[name]), f"{name}: {got.type} {got.to_pylist()}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_run(case: Question) -> None:
    found = case.definition.run(case.events, at=case.questions, **case.options)
    assert found.select(case.questions.column_names).equals(case.questions)
    check(found, case.expect)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_answers_do_not_depend_on_the_order_of_events_and_questions(case: Question) -> None:
    rng = random.Random(3)
    events, questions = ([*range(len(t))] for t in (case.events, case.questions))
    rng.shuffle(events)
    rng.shuffle(questions)
    places = pa.array(questions)
    found = case.definition.run(
        case.events.take(pa.array(events)), at=case.questions.take(places), **case.options
    )
    check(found, case.expect.take(places))


@pytest.mark.parametrize("case", ASKED, ids=str)
def test_ask(case: Question) -> None:
    """A live run that has the events which count gives the same answers, one by one."""
    asked = "asked" if case.way == "asked" else "t"
    answers = []
    for question in case.questions.to_pylist():
        live = case.definition.live(lateness=10**6, schema=case.events.schema)
        for event in case.events.to_pylist():
            if case.way == "at" or event["arrived"] <= question[asked]:
                live.push(event)
        answers.append(live.ask(question))
    names = case.expect.column_names
    schema = pa.schema([pa.field(name, case.expect[name].type) for name in names])
    check(pa.Table.from_pylist([{n: a[n] for n in names} for a in answers], schema), case.expect)


def test_there_are_cases_of_every_window_with_and_without_conditions() -> None:
    kinds = {type(window).__name__ for case in CASES for window in case.definition.windows}
    assert {"Time", "Rows", "Session", "Punctuated", "Delta", "Lifetime"} <= kinds
    assert any("condition" in case.name for case in CASES)
