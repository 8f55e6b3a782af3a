"""Answers that were served, with planted faults: each is found and named."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ColumnError
from slidefold.serve.audit import audit, same
from slidefold.serve.recorder import DEFINITION

FEATURES = sf.rolling(
    on="t",
    by="card",
    spent=sf.sum("amount").over(sf.time(50)),
    usual=sf.mean("amount").over(6),
    top=sf.max("amount").over(sf.time(80), closed="left"),
    ratio=sf.sum("amount").over(sf.time(50)) / sf.count().over("lifetime"),
)
OTHER = sf.rolling(
    on="t",
    by="card",
    spent=sf.sum("amount").over(sf.time(35)),
    usual=sf.mean("amount").over(4),
    top=sf.min("amount").over(sf.time(80), closed="left"),
    ratio=sf.sum("amount").over(sf.time(20)) / sf.count().over("lifetime"),
)
LEFT = sf.rolling(
    on="t",
    by="card",
    spent=sf.sum("amount").over(sf.time(50), closed="left"),
    usual=sf.mean("amount").over(6, closed="left"),
    top=sf.max("amount").over(sf.time(80)),
    ratio=sf.sum("amount").over(sf.time(50), closed="left") / sf.count().over("lifetime"),
)
KINDS = ("rounding", "other definition", "late event", "boundary", "missing event", "doubled event")


def tables(seed: int, count: int = 600) -> tuple[Any, Any]:
    """Return events with arrival times, and questions at their times."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 4 * count, count))
    events = pa.table(
        {
            "t": times,
            "card": pa.array([("a", "b", None)[i] for i in rng.integers(0, 3, count)]),
            "amount": np.round(rng.lognormal(3, 1, count), 6),
            "came": times + rng.integers(0, 25, count),
        }
    )
    rows = np.sort(rng.choice(count, count // 2, replace=False))
    questions = events.take(pa.array(rows)).select(["t", "card"])
    return events, questions


def served(definition: sf.Rolling, events: Any, questions: Any, **known: Any) -> Any:
    return definition.run(events, at=questions, **(known or {"known": "came"}))


def check_faults(seed: int, faults: int) -> tuple[int, int]:
    """Plant faults into single values; return how many were named as planted, and how many."""
    rng = random.Random(seed)
    events, questions = tables(seed)
    right = served(FEATURES, events, questions)
    other, left = (served(each, events, questions) for each in (OTHER, LEFT))
    later = FEATURES.run(events, at=questions)
    planted: dict[tuple[int, str], str] = {}
    columns = {name: right[name].to_pylist() for name in FEATURES.columns}
    for _ in range(20 * faults):
        if len(planted) == faults:
            break
        row, name, kind = (
            rng.randrange(len(questions)),
            rng.choice(list(columns)),
            rng.choice(KINDS),
        )
        value = columns[name][row]
        if (row, name) in planted or value is None:
            continue
        if kind == "rounding":
            wrong = round(value, 3)
        elif kind == "other definition":
            wrong = other[name][row].as_py()
        elif kind == "late event":
            wrong = later[name][row].as_py()
        elif kind == "boundary":
            wrong = left[name][row].as_py()
        else:
            held = FEATURES.why(questions.slice(row, 1), name, events, known="came")
            if len(held) == 0:
                continue
            one = held.slice(rng.randrange(len(held)), 1).drop_columns(["part"])
            key = next(
                i for i, event in enumerate(events.to_pylist()) if event == one.to_pylist()[0]
            )
            if kind == "missing event":
                changed = pa.concat_tables([events.slice(0, key), events.slice(key + 1)])
            else:
                changed = pa.concat_tables([events, one])
            wrong = served(FEATURES.only(name), changed, questions.slice(row, 1))[name][0].as_py()
        others = {
            "other definition": other[name][row].as_py(),
            "late event": later[name][row].as_py(),
            "boundary": left[name][row].as_py(),
        }
        if wrong is None or same(wrong, value):
            continue
        if any(same(wrong, one) for reason, one in others.items() if reason != kind):
            continue  # two faults would give the same value
        planted[row, name] = kind
        columns[name][row] = wrong
    answers = questions
    for name, values in columns.items():
        answers = answers.append_column(name, pa.array(values, right[name].type))
    report = audit(FEATURES, answers, events, known="came", served=OTHER)
    found = {(each.row, each.column): each.reason for each in report.differences}
    assert found.keys() == planted.keys()  # no fault is missed, and nothing else is blamed
    return sum(found[place] == kind for place, kind in planted.items()), len(planted)


def test_planted_faults_are_named() -> None:
    named, planted = check_faults(1, 60)
    assert planted == 60
    assert named >= 0.95 * planted


@pytest.mark.exhaustive
def test_a_thousand_planted_faults() -> None:
    counts = np.sum([check_faults(seed, 125) for seed in range(2, 10)], axis=0)
    assert counts[1] == 1000
    assert counts[0] >= 990


def test_right_answers_give_no_difference() -> None:
    events, questions = tables(3)
    report = audit(FEATURES, served(FEATURES, events, questions), events, known="came")
    assert (report.answers, report.values, report.differences) == (300, 1200, ())


def test_the_recorded_definition_explains_all() -> None:
    events, questions = tables(4)
    saved = json.dumps(OTHER.to_dict()).encode()
    answers = served(OTHER, events, questions).replace_schema_metadata({DEFINITION: saved})
    report = audit(FEATURES, answers, events, known="came")
    assert report.differences
    reasons = {each.reason for each in report.differences}
    assert "other definition" in reasons
    assert "unknown" not in reasons


def test_wrong_tables_are_refused() -> None:
    events, questions = tables(5, 20)
    answers = served(FEATURES, events, questions)
    with pytest.raises(ColumnError, match="answers have none of the columns"):
        audit(FEATURES, questions, events, known="came")
    with pytest.raises(ColumnError, match="answers have no column 'card'"):
        audit(FEATURES, answers.drop_columns(["card"]), events, known="came")
    with pytest.raises(ColumnError, match="no column 'arrived'"):
        audit(FEATURES, answers, events, known="arrived")
