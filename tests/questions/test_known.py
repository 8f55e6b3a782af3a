"""`known=`: only events count that had arrived when a question was asked."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ColumnError, DefinitionError, TimeOrderError, ValueTypeError
from tests.questions.support import (
    EVERYTHING,
    asked_one_by_one,
    assert_same,
    random_events,
    random_questions,
)


@pytest.mark.parametrize("seed", range(8))
def test_every_window_and_operator(seed: int) -> None:
    rng = random.Random(seed)
    events, questions = random_events(rng, rng.choice([0, 1, 60])), random_questions(rng, 25)
    definition = sf.rolling(on="t", by="k", **EVERYTHING)
    found = definition.run(events, at=questions, known="arrived")
    assert_same(found, asked_one_by_one(definition, events, questions, "arrived"))
    found = definition.run(events, at=questions, known="arrived", asked="asked")
    assert_same(found, asked_one_by_one(definition, events, questions, "arrived", "asked"))


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_a_replay_through_live(seed: int) -> None:
    """Events are pushed as they arrive, and questions asked when their time has come."""
    rng = random.Random(seed)
    features: dict[str, Any] = {
        "total": sf.sum("x").over(sf.time(40, closed="left")),
        "top": sf.max_by("s", "x").over(sf.time(200)),
        "n": sf.count().over(10),
        "words": sf.distinct("s").over(sf.time(100)),
    }
    definition = sf.rolling(on="t", by="k", **features)
    lateness = 30
    events: list[dict[str, Any]] = [
        {
            "t": t,
            "k": rng.choice("abc"),
            "x": rng.random(),
            "s": rng.choice("mno"),
            "arrived": t + int(rng.expovariate(1 / 12)),
        }
        for t in range(0, 1200, 2)
    ]
    events.sort(key=lambda event: event["arrived"])
    live = definition.live(
        lateness=lateness,
        emit="arrival",
        schema=pa.Table.from_pylist(events).drop_columns(["arrived"]).schema,
    )
    questions, served, at = [], [], 0
    for now in sorted(rng.randrange(1200) for _ in range(300)):
        while at < len(events) and events[at]["arrived"] <= now:
            live.push({name: events[at][name] for name in ("t", "k", "x", "s")})
            at += 1
        question = {"k": rng.choice("abcd"), "t": now}
        if live.watermark is None or now >= live.watermark:
            served.append(live.ask(question))
            questions.append(question)
    assert live.late > 0  # else lateness= shows nothing
    found = definition.run(
        pa.Table.from_pylist(events),
        at=pa.Table.from_pylist(questions),
        known="arrived",
        lateness=lateness,
    )
    assert_same(found, served)


def test_units_of_arrival_times_may_differ() -> None:
    events = pa.table(
        {
            "t": pa.array([1, 2], pa.timestamp("s")),
            "arrived": pa.array([1_500_000, 9_000_000], pa.timestamp("us")),
        }
    )
    questions = pa.table({"t": pa.array([2, 3, 9], pa.timestamp("s"))})
    features = sf.rolling(on="t", n=sf.count().over("1m"))
    assert features.run(events, at=questions, known="arrived")["n"].to_pylist() == [1, 1, 2]


def test_what_never_arrived_counts_for_nobody() -> None:
    events = pa.table({"t": [1, 2], "arrived": pa.array([None, 2], pa.int64())})
    features = sf.rolling(on="t", n=sf.count().over(sf.time(9)))
    questions = pa.table({"t": [5]})
    assert features.run(events, at=questions, known="arrived")["n"].to_pylist() == [1]
    assert features.run(events, at=questions)["n"].to_pylist() == [2]


def test_events_may_have_columns_named_like_features() -> None:
    """As without `known=`: the features are columns of the questions."""
    events = pa.table({"t": [1, 2], "x": [4, 8], "n": [True, False], "arrived": [1, 9]})
    features = sf.rolling(
        on="t",
        x=sf.sum("x").over(sf.time(9)),
        n=sf.count().where("n").over(sf.time(9)),
        r=sf.sum("x").over(sf.time(9)) / 2,
    )
    questions = pa.table({"t": [5, 9]})
    found = features.run(events, at=questions, known="arrived")
    assert found.drop_columns(["t"]).to_pydict() == {"x": [4, 12], "n": [1, 1], "r": [2.0, 6.0]}
    assert features.run(events, at=questions)["x"].to_pylist() == [12, 12]


def test_bad_input() -> None:
    events = pa.table({"t": [1], "x": [1.0], "word": ["a"]})
    questions = pa.table({"t": [1]})
    features = sf.rolling(on="t", s=sf.sum("x").over(sf.time(5)))
    with pytest.raises(ColumnError, match="no column 'came', which known= names"):
        features.run(events, at=questions, known="came")
    with pytest.raises(ColumnError, match="no column 'when', which asked= names"):
        features.run(events, at=questions, known="t", asked="when")
    with pytest.raises(ValueTypeError, match="'word' must hold"):
        features.run(events, at=questions, known="word")
    with pytest.raises(DefinitionError, match="name of a column"):
        features.run(events, at=questions, known=3)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match="threads"):
        features.run(events, at=questions, known="t", threads=0)
    ahead = sf.rolling(on="t", s=sf.sum("x").over(sf.time(5, ahead=True)))
    with pytest.raises(DefinitionError, match="cannot look ahead"):
        ahead.run(events, at=questions, known="t")


def test_an_error_names_the_row_of_the_events() -> None:
    """Not the place of the event in the order of arrival, nor among those of its key."""
    events = pa.table(
        {
            "t": [4, 1, 2, 3, 9],
            "k": ["b", "a", "a", "b", "a"],
            "d": [1.0, 1.0, 5.0, 2.0, 4.0],
            "arrived": pa.array([9, None, 2, 8, 7], pa.int64()),
        }
    )
    questions = pa.table({"t": [10, 10], "k": ["b", "a"], "d": [9.0, 9.0]})
    definition = sf.rolling(on="t", by="k", n=sf.count().over(sf.delta(2.0, on="d")))
    with pytest.raises(TimeOrderError, match=r"must not decrease in time order.* at row 0$"):
        definition.run(events, at=questions, known="arrived")
    with pytest.raises(TimeOrderError, match=r"must not decrease in time order.* at row 4$"):
        definition.run(events, at=questions.slice(1), known="arrived")
