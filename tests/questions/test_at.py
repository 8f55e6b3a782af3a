"""`run(events, at=questions)`: what each question gets, against questions asked one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ColumnError, DefinitionError, SlidefoldError, ValueTypeError
from tests.questions.support import (
    EVERYTHING,
    asked_one_by_one,
    assert_same,
    random_events,
    random_questions,
)


@pytest.mark.parametrize("seed", range(12))
def test_every_window_and_operator(seed: int) -> None:
    rng = random.Random(seed)
    events, questions = random_events(rng, rng.choice([0, 1, 20, 60])), random_questions(rng, 25)
    definition = sf.rolling(on="t", by="k", **EVERYTHING)
    found = definition.run(events, at=questions)
    assert found.column_names == [*questions.column_names, *definition.columns]
    assert found.select(questions.column_names).equals(questions)
    assert_same(found, asked_one_by_one(definition, events, questions))


@pytest.mark.parametrize("seed", range(4))
def test_without_a_key_and_with_two(seed: int) -> None:
    rng = random.Random(seed)
    events, questions = random_events(rng, 40), random_questions(rng, 20)
    for by in ((), ("k", "s2")):
        definition = sf.rolling(on="t", by=by, **EVERYTHING)
        found = definition.run(events, at=questions)
        assert_same(found, asked_one_by_one(definition, events, questions))


@pytest.mark.parametrize("closed", ["right", "left", "both", "neither"])
def test_against_a_join_of_duckdb(closed: str) -> None:
    rng = random.Random(7)
    events, questions = random_events(rng, 200), random_questions(rng, 100)
    window = sf.time(12, closed=closed)
    windows: dict[str, Any] = {"s": sf.sum("x").over(window), "n": sf.count().over(window)}
    found = sf.rolling(on="t", by="k", **windows).run(events, at=questions)
    low = ">=" if closed in ("left", "both") else ">"
    high = "<=" if closed in ("right", "both") else "<"
    joined: Any = duckdb.sql(
        "SELECT q.id, sum(e.x) AS s, count(e.t) AS n FROM questions q LEFT JOIN events e "
        "ON e.k IS NOT DISTINCT FROM q.k "
        f"AND e.t {low} q.t - 12 AND e.t {high} q.t GROUP BY q.id ORDER BY q.id"
    )
    expected = joined.to_arrow_table()
    assert found["s"].to_pylist() == expected["s"].to_pylist()
    assert found["n"].to_pylist() == expected["n"].to_pylist()


def test_ahead() -> None:
    events = pa.table({"t": [1, 2, 5, 9], "x": [1, 2, 4, 8]})
    questions = pa.table({"t": [0, 2, 9]})
    label = sf.rolling(on="t", y=sf.sum("x").over(sf.time(4, ahead=True)))
    assert label.run(events, at=questions)["y"].to_pylist() == [3, 6, 8]


@pytest.mark.parametrize("seed", range(6))
def test_the_walked_column_of_questions_may_fall(seed: int) -> None:
    """As for `ask`: questions do not depend on each other, nor on their order at one time."""
    rng = random.Random(seed)
    count = 40
    events = pa.table(
        {
            "t": sorted(rng.randrange(30) for _ in range(count)),
            "k": [rng.choice("ab") for _ in range(count)],
            "d": sorted(float(rng.randrange(40)) for _ in range(count)),
            "x": [float(rng.randrange(9)) for _ in range(count)],
            "s": [rng.choice("mn") for _ in range(count)],
        }
    )
    questions = pa.table(
        {
            "t": [rng.choice([5, 17, rng.randrange(35)]) for _ in range(30)],
            "k": [rng.choice("abz") for _ in range(30)],
            "d": [float(rng.randrange(-5, 50)) for _ in range(30)],
            "x": [float(rng.randrange(9)) for _ in range(30)],
        }
    )
    walks, other = sf.delta(7.0, on="d"), sf.delta(3.0, on="d", closed="left")
    windows: dict[str, Any] = {
        "total": sf.sum("x").over(walks),
        "rank": sf.rank("x").over(walks),
        "all": sf.collect("s").over(other),
        "both": sf.struct(n=sf.count(), top=sf.max("x")).over(other),
        "timed": sf.sum("x").over(sf.time(9)),
        "ratio": sf.col("x") / sf.max("x").over(walks),
    }
    definition = sf.rolling(on="t", by="k", **windows)
    found = definition.run(events, at=questions)
    assert_same(found, asked_one_by_one(definition, events, questions))


def test_questions_keep_their_order_their_copies_and_their_columns() -> None:
    events = pa.table({"t": [1, 5], "k": ["a", "b"], "x": [1.0, 2.0], "note": ["e", "e"]})
    questions = pa.table(
        {"k": ["b", "a", "a", "c"], "t": [9, 3, 3, 1], "note": ["q", "r", "s", "t"]}
    )
    found = sf.rolling(on="t", by="k", s=sf.sum("x").over("lifetime")).run(events, at=questions)
    assert found["note"].to_pylist() == ["q", "r", "s", "t"]
    assert found["s"].to_pylist() == [2.0, 1.0, 1.0, None]


def test_rows_windows_count_events_only() -> None:
    events = pa.table({"t": [1, 2, 3], "x": [1, 2, 4]})
    questions = pa.table({"t": [2, 3, 9]})
    features = sf.rolling(
        on="t", two=sf.sum("x").over(2), before=sf.sum("x").over(2, closed="left"), lag=sf.lag("x")
    )
    found = features.run(events, at=questions)
    assert found["two"].to_pylist() == [3, 6, 6]
    assert found["before"].to_pylist() == [1, 3, 6]
    assert found["lag"].to_pylist() == [2, 4, 4]


def test_kinds_of_tables() -> None:
    events = pa.table({"t": [1, 5, 8], "k": ["a", "b", "a"], "x": [1, 2, 4]})
    questions = pa.table({"k": ["a", "b"], "t": [9, 3]})
    features = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(5)))
    left: Any = pl.from_arrow(events)
    right: Any = pl.from_arrow(questions)
    frame = features.run(left, at=questions.to_pandas())
    assert isinstance(frame, pd.DataFrame)
    assert frame["s"].tolist() == [4, pd.NA]
    polars = features.run(events.to_reader(), at=right)
    assert isinstance(polars, pl.DataFrame)
    assert polars["s"].to_list() == [4, None]
    lazy = features.run(events.to_pandas(), at=right.lazy())
    assert lazy.collect()["s"].to_list() == [4, None]


def test_types_of_keys_and_times_are_matched() -> None:
    events = pa.table(
        {"t": pa.array([1, 5], pa.timestamp("us", "UTC")), "k": pa.array([1, 2], pa.int64())}
    )
    questions = pa.table(
        {"t": pa.array([9, 9], pa.timestamp("us")), "k": pa.array([1, 3], pa.int32())}
    )
    features = sf.rolling(on="t", by="k", n=sf.count().over("1s"))
    found = features.run(events, at=questions)
    assert found["n"].to_pylist() == [1, 0]
    assert found.schema.field("k").type == pa.int32()  # the questions' own columns stay
    coded = questions.set_column(1, "k", pa.array(["1", "3"]).dictionary_encode())
    with pytest.raises(ValueTypeError, match="'k' is int64 in the events"):
        features.run(events, at=coded)


WRONG: Any = 7
EVENTS = pa.table({"t": [1], "k": ["a"], "x": [1.0]})
QUESTIONS = pa.table({"t": [1], "k": ["a"]})
FEATURES = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(5)))
RATIO = sf.rolling(on="t", by="k", r=sf.col("amount") / sf.sum("x").over(sf.time(5)))
WALKED = sf.rolling(on="t", s=sf.sum("x").over(sf.delta(5, on="x")))


@pytest.mark.parametrize(
    ("run", "kind", "said"),
    [
        (
            lambda: FEATURES.run(EVENTS, at=QUESTIONS.drop_columns(["k"])),
            ColumnError,
            "no column 'k'",
        ),
        (lambda: RATIO.run(EVENTS, at=QUESTIONS), ColumnError, "no column 'amount'"),
        (lambda: WALKED.run(EVENTS, at=QUESTIONS), ColumnError, "no column 'x'"),
        (
            lambda: FEATURES.run(EVENTS, at=QUESTIONS.append_column("s", pa.array([1]))),
            ColumnError,
            "already",
        ),
        (lambda: FEATURES.run(EVENTS, known="t"), DefinitionError, "known= needs at="),
        (lambda: FEATURES.run(EVENTS, at=QUESTIONS, asked="t"), DefinitionError, "needs known="),
        (lambda: FEATURES.run(EVENTS, at=WRONG), ValueTypeError, "table"),
        (
            lambda: sf.rolling(on="t", every=2, s=sf.sum("x").over(3)).run(EVENTS, at=QUESTIONS),
            DefinitionError,
            "every",
        ),
        (
            lambda: FEATURES.run(
                EVENTS, at=pa.table({"t": pa.array([None], pa.int64()), "k": ["a"]})
            ),
            SlidefoldError,
            "'t' is null",
        ),
    ],
)
def test_bad_input(run: Callable[[], Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said) as raised:
        run()
    assert "\n" not in str(raised.value)


def test_explain() -> None:
    text = FEATURES.explain(EVENTS, at=QUESTIONS)
    assert "at= reads t, k of the questions" in text
    assert "arrived" in FEATURES.explain(EVENTS, at=QUESTIONS, known="t")
