"""Rows whose results nobody reads: later results are the same, and nothing is computed for them."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.live.engine import Engine
from tools.crash.simulation import CASES, SCHEMA

COUNTED = {"combine": 0, "lower": 0}


@sf.operator
class Watched:
    """A sum in plain Python that counts its calls."""

    @staticmethod
    def lift(x: int) -> list[int]:
        return [x]

    @staticmethod
    def combine(older: list[int], newer: list[int]) -> list[int]:
        COUNTED["combine"] += 1
        return [older[0] + newer[0]]

    @staticmethod
    def lower(state: list[int]) -> int:
        COUNTED["lower"] += 1
        return state[0]


def batch(random: Random, watermark: int, first: int) -> Any:
    count = random.choice((0, 1, 8, 40))
    return pa.table(
        {
            "t": [watermark + random.randint(1, 30) for _ in range(count)],
            "k": [random.choice("abc") for _ in range(count)],
            "x": [random.randint(-99, 99) for _ in range(count)],
            "mark": [random.random() < 0.2 for _ in range(count)],
            "id": list(range(first, first + count)),
        },
        SCHEMA,
    )


@pytest.mark.parametrize("case", range(len(CASES)))
def test_later_results_are_those_of_an_engine_that_computed_all(case: int) -> None:
    definition, emit, id = CASES[case]
    for seed in range(6):
        random = Random(f"{case} {seed}")
        taken, skipped = (Engine(definition, SCHEMA, emit, id) for _ in range(2))
        watermark = ids = 0
        for number in range(12):
            rows = batch(random, watermark, ids)
            ids += len(rows)
            watermark += random.choice((0, 1, 5, 20))
            found = taken.take(rows, watermark)
            if random.random() < 0.5 and number < 11:
                skipped.skip(rows, watermark)
            else:
                assert skipped.take(rows, watermark).equals(found)
            skipped.native.core.check()
            assert (skipped.watermark, skipped.newest, skipped.pending, skipped.next_due()) == (
                taken.watermark,
                taken.newest,
                taken.pending,
                taken.next_due(),
            )
        last = taken.take(SCHEMA.empty_table(), 10**6)
        assert skipped.take(SCHEMA.empty_table(), 10**6).equals(last)


@pytest.mark.parametrize("emit", ["final", "arrival"])
def test_nothing_is_computed_for_results_that_nobody_reads(emit: str) -> None:
    watched: Any = Watched
    definition = sf.rolling(on="t", by="k", v=watched("x").over(sf.time(50)))
    schema = pa.schema({"t": pa.int64(), "k": pa.int64(), "x": pa.int64()})
    rows = pa.table({"t": range(1, 501), "k": [t % 5 for t in range(500)], "x": [1] * 500}, schema)
    engine = Engine(definition, schema, emit)
    COUNTED.update(combine=0, lower=0)
    engine.skip(rows.slice(0, 400), 380)
    engine.skip(rows.slice(400), 450)
    assert COUNTED == {"combine": 0, "lower": 0}
    found = engine.take(schema.empty_table(), 500)
    assert COUNTED["lower"] == len(found) == (50 if emit == "final" else 0)


def test_late_rows_are_refused() -> None:
    definition, emit, id = CASES[0]
    engine = Engine(definition, SCHEMA, emit, id)
    engine.skip(batch(Random(1), 0, 0), 5)
    with pytest.raises(sf.errors.DataError, match="expected rows after the watermark"):
        engine.skip(batch(Random(5), -40, 0), 9)
