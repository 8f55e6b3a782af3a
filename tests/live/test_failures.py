"""A batch that fails changes nothing: not the rows, the windows, the watermark or what is saved."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from tests.support.arrivals import assert_rows
from tests.support.trapped import Trap, Trapped

T = sf.time
SCHEMA = pa.schema({"id": pa.int64(), "t": pa.int64(), "k": pa.string(), "x": pa.int64()})


DEFINITION = sf.rolling(
    on="t",
    by="k",
    order="id",
    total=sf.sum("x").over(T(30)),
    joined=Trapped("x").over(T(40)),
    middle=sf.median("x").over(T(25)),
    lately=sf.collect("x").over(4),
    recent=Trapped("x").over(150),
    visit=Trapped("x").over(sf.session(3)),
)


def batch(rng: random.Random, start: int, count: int) -> Any:
    """Return rows that are up to 6 steps late."""
    return pa.table(
        [
            range(start, start + count),
            [(start + i) // 2 - rng.choice([0, 0, rng.randrange(6)]) for i in range(count)],
            [rng.choice(["a", "b", None]) for _ in range(count)],
            [rng.choice([1, 2, 3, None]) for _ in range(count)],
        ],
        schema=SCHEMA,
    )


@pytest.mark.parametrize("emit", ["final", "arrival", "revise", "change"])
def test_an_operator_that_raises(emit: str) -> None:
    rng = random.Random(emit)
    failing, other = (
        DEFINITION.live(lateness=4, emit=emit, id="id" if emit == "revise" else (), schema=SCHEMA)
        for _ in range(2)
    )
    raised = 0
    for step in range(60):
        rows = batch(rng, step * 12, rng.randrange(1, 13))
        before = failing.to_bytes()
        Trap.armed = rng.randrange(1, 60)
        try:
            found = failing.feed(rows)
        except RuntimeError:
            raised += 1
            Trap.armed = 0
            assert failing.to_bytes() == before
            failing._engine.native.core.check()  # type: ignore[union-attr]
            found = failing.feed(rows)
        Trap.armed = 0
        failing._engine.native.core.check()  # type: ignore[union-attr]
        assert_rows(found, other.feed(rows))
    assert raised > 20
    assert_rows(failing.finish(), other.finish())


@pytest.mark.parametrize("emit", ["final", "arrival"])
def test_a_result_that_overflows(emit: str) -> None:
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(T(9)), n=sf.count().over(2))
    live = definition.live(lateness=0, emit=emit, schema=SCHEMA)
    big = 2**62
    live.feed(pa.table([[0, 1], [1, 2], ["a", "b"], [big, 1]], schema=SCHEMA))
    with pytest.raises(sf.errors.ResultOverflowError):
        live.feed(pa.table([[2, 3], [3, 4], ["b", "a"], [1, big]], schema=SCHEMA))
    with pytest.raises(sf.errors.ResultOverflowError):
        live.push({"id": 3, "t": 4, "k": "a", "x": big})
    assert (live.watermark, live.pending, live.late) == (2, 0, 0)
    found = live.feed(pa.table([[2, 3], [3, 4], ["b", "a"], [1, 5]], schema=SCHEMA))
    assert found.select(["s", "n"]).to_pylist() == [{"s": 2, "n": 2}, {"s": big + 5, "n": 2}]


def test_results_that_do_not_make_a_column() -> None:
    @sf.operator
    class Odd(sf.Fold):
        lift = staticmethod(lambda x: x)
        combine = staticmethod(lambda a, b: a + b)
        lower = staticmethod(lambda s: object() if s > 5 else s)

    live = sf.rolling(on="t", s=Odd("x").over(T(9))).live(lateness=0)
    assert live.feed(pa.table({"t": [1], "x": [3]}))["s"].to_pylist() == [3]
    with pytest.raises(sf.errors.ValueTypeError, match="do not fit a column"):
        live.feed(pa.table({"t": [2], "x": [3]}))
    assert live.feed(pa.table({"t": [2], "x": [2]}))["s"].to_pylist() == [5]


def test_keys_of_a_refused_batch_are_gone() -> None:
    """The rows of other keys, some of them new, come after the one that is wrong."""
    schema = pa.schema({"t": pa.int64(), "k": pa.string(), "km": pa.int64()})
    definition = sf.rolling(on="t", by="k", n=sf.count().over(sf.delta(5, on="km")))
    live = definition.live(lateness=5, schema=schema)
    live.feed(pa.table([[1], ["a"], [9]], schema=schema))
    with pytest.raises(sf.errors.TimeOrderError, match="decrease"):
        live.feed(pa.table([[2, 2, 3], ["a", "new", "b"], [1, 1, 1]], schema=schema))
    core = live._engine.native.core  # type: ignore[union-attr]
    core.check()
    assert (core.keys, core.rows, live.pending) == (1, 1, 1)


def test_a_batch_without_results_after_a_question() -> None:
    definition = sf.rolling(on="t", s=sf.sum("x").over(T(9)))
    live = definition.live(lateness=2**63 - 1, schema=pa.schema({"t": pa.int64(), "x": pa.int64()}))
    live.feed(pa.table({"t": [-5], "x": [1]}))
    assert live.watermark is None
    assert live.ask([{}, {}]) == [{"s": 1}, {"s": 1}]
    assert live.feed(pa.table({"t": [-4], "x": [1]})).num_rows == 0
