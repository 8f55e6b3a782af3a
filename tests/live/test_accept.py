"""`accept` takes rows as `feed` does; only the results are left out."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import DataError, DefinitionError, ResultOverflowError

FEATURES = sf.rolling(
    on="t",
    by="k",
    total=sf.sum("x").over(sf.time(50)),
    middle=sf.median("x").over(5),
    n=sf.count().over("lifetime"),
    share=sf.sum("x").over(sf.time(50)) / sf.count().over("lifetime"),
    text=sf.concat("k").over(3),
    often=sf.mode("x").over(sf.time(50)),
    all=sf.collect("x").over(sf.time(20)),
)


def rows(rng: random.Random, first: int, count: int) -> pa.Table:
    times = [first + i - rng.randrange(25) for i in range(count)]
    return pa.table(
        {
            "t": times,
            "k": [rng.choice("abc") for _ in times],
            "x": pa.array([rng.choice([None, 1, 2, 3]) for _ in times], pa.int64()),
        }
    )


def live(**more: Any) -> Any:
    return FEATURES.live(lateness=10, emit="arrival", **more)


def test_it_takes_and_refuses_the_same_rows_as_feed() -> None:
    rng = random.Random(1)
    fed, accepted = live(late="side"), live()
    late = 0
    for step in range(30):
        table = rows(rng, 20 * step, rng.choice([0, 1, 5, 20]))
        results = fed.feed(table)
        places = accepted.accept(table)
        behind = results.filter(results["late"]).select(table.column_names)
        assert table.take(pa.array(places)).to_pylist() == behind.to_pylist()
        late += len(places)
        assert (accepted.rows, accepted.keys, accepted.late) == (fed.rows, fed.keys, late)
        assert (accepted.watermark, accepted.newest) == (fed.watermark, fed.newest)
        if accepted.newest is not None:
            for key in "abcd":
                assert accepted.ask({"k": key}) == fed.ask({"k": key})
    assert late > 0
    restored = sf.Live.from_bytes(accepted.to_bytes(), FEATURES)
    assert restored.ask({"k": "a"}) == fed.ask({"k": "a"})


def test_other_kinds_of_tables_and_feed_after_it() -> None:
    run = live()
    run.accept(pd.DataFrame({"t": [1, 2], "k": ["a", "a"], "x": [1, 2]}))
    assert run.feed(pd.DataFrame({"t": [3], "k": ["a"], "x": [3]}))["total"].tolist() == [6]


def test_what_it_refuses_changes_nothing() -> None:
    with pytest.raises(DefinitionError, match="accept needs emit='arrival', got emit='final'"):
        FEATURES.live(lateness=10).accept(rows(random.Random(2), 0, 5))
    strict = live(late="raise")
    strict.accept(pa.table({"t": [100], "k": ["a"], "x": [1]}))
    with pytest.raises(DataError, match="1 rows are late"):
        strict.accept(pa.table({"t": [200, 5], "k": ["a", "a"], "x": [1, 1]}))
    assert (strict.rows, strict.newest) == (1, 100)
    large = 2**62
    with pytest.raises(ResultOverflowError, match="64 bits"):
        strict.accept(pa.table({"t": [101, 102], "k": ["a", "a"], "x": [large, large]}))
    assert strict.rows == 1
    assert strict.ask({"k": "a"})["total"] == 1
    strict.finish()
    with pytest.raises(DataError, match="finished"):
        strict.accept(pa.table({"t": [300], "k": ["a"], "x": [1]}))


def test_a_formula_that_overflows_raises_when_it_is_asked_for() -> None:
    features = sf.rolling(
        on="t", by="k", big=sf.sum("x").over(sf.time(50)) * 4, n=sf.count().over("lifetime")
    )
    run = features.live(lateness=10, emit="arrival")
    assert len(run.accept(pa.table({"t": [1, 2], "k": ["a", "b"], "x": [2**61, 1]}))) == 0
    with pytest.raises(ResultOverflowError):
        run.ask({"k": "a"})
    assert run.ask({"k": "b"}) == {"big": 4, "n": 1}
    assert run.ask({"k": "a", "t": 100})["big"] is None
