"""Questions on Spark: one shuffle by key, chunks of time without a key and for hot keys."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ColumnError, DefinitionError
from tests.questions.support import EVERYTHING, random_events, random_questions
from tests.spark.support import frame, near

pytestmark = pytest.mark.spark

IN_TIME = ("total", "before", "middle", "rank", "since", "words", "some", "ratio", "delayed", "all")


def same(found: Any, expected: Any) -> None:
    """Compare answers by the number of the question."""
    found, expected = found.toArrow().sort_by("id"), expected.sort_by("id")
    assert found.column_names == expected.column_names
    for name in expected.column_names:
        pairs = zip(found[name].to_pylist(), expected[name].to_pylist(), strict=True)
        assert all(near(a, b) for a, b in pairs), name


def test_keyed_chunked_and_known(spark: Any) -> None:
    rng = random.Random(5)
    events, questions = random_events(rng, 400), random_questions(rng, 150)
    left, right = frame(spark, events, 3), frame(spark, questions, 2)
    keyed = sf.rolling(on="t", by="k", **EVERYTHING)
    same(keyed.run(left, at=right, partitions=3), keyed.run(events, at=questions))
    same(
        keyed.run(left, at=right, known="arrived", asked="asked"),
        keyed.run(events, at=questions, known="arrived", asked="asked"),
    )
    only = {name: EVERYTHING[name] for name in IN_TIME}
    for by, options in (((), {"partitions": 4}), ("k", {"partitions": 3, "skew": 0.2})):
        definition = sf.rolling(on="t", by=by, **only)
        same(definition.run(left, at=right, **options), definition.run(events, at=questions))


def test_explain(spark: Any) -> None:
    events = pa.table({"t": [1], "k": ["a"], "x": [1.0]})
    left, right = frame(spark, events), frame(spark, events.select(["t", "k"]))
    features = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(5)))
    text = features.explain(left, at=right, partitions=3, skew=0.2)
    assert "at= reads t, k of the questions: events are sorted" in text
    assert "Spark: events and questions are sent together by k into 3 partitions" in text
    assert "Spark: keys with more than 20.0% of the rows are cut into chunks of time" in text
    keyless = sf.rolling(on="t", s=sf.sum("x").over(sf.time(5)))
    assert "no key: 3 chunks of time, " in keyless.explain(left, at=right, partitions=3)


def test_bad_input(spark: Any) -> None:
    events = pa.table({"t": [1], "k": ["a"], "x": [1.0]})
    left, right = frame(spark, events), frame(spark, events.select(["t", "k"]))
    features = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(5)))
    with pytest.raises(ColumnError, match="the questions have no column 'k'"):
        features.run(left, at=right.drop("k"))
    with pytest.raises(DefinitionError, match="known= needs at="):
        features.run(left, known="t")
    with pytest.raises(DefinitionError, match="in process only"):
        features.run(left, at=right, known="t", lateness=3)
