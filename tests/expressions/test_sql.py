"""Random trees of expressions over windows: in process, live and in a file, against DuckDB."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest

import slidefold as sf
from tests.expressions.sql import assert_equal, definition_of, in_duckdb, rows


def check(seed: int) -> None:
    by = ("k",) if seed % 3 else ()
    definition, columns = definition_of(seed, 8, by)
    table = rows(seed, 120)
    expected = in_duckdb(table, columns, by)
    told = f"seed {seed}, {definition}"
    assert_equal(definition.run(table), expected, columns, told)
    again = sf.Rolling.from_dict(json.loads(json.dumps(definition.to_dict())))
    assert_equal(again.run(table), expected, columns, f"from a file, {told}")
    live = definition.live(lateness="15m")
    parts, at, rng = [], 0, random.Random(seed)
    while at < len(table):
        size = rng.choice([1, 7, 30])
        parts.append(live.feed(table.slice(at, size)))
        at += size
    parts.append(live.finish())
    assert live.late == 0
    assert_equal(pa.concat_tables(parts), expected, columns, f"live, {told}")
    pushed = definition.live(lateness="15m", schema=table.schema)
    out = [row for event in table.to_pylist() for row in pushed.push(event) or []]
    out += pushed.finish().to_pylist()
    schema = parts[0].schema
    assert_equal(pa.Table.from_pylist(out, schema), expected, columns, f"pushed, {told}")


@pytest.mark.parametrize("start", range(0, 24, 6))
def test_formulas_are_those_of_duckdb(start: int) -> None:
    for seed in range(start, start + 6):
        check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(100, 1100, 100))
def test_many_formulas_are_those_of_duckdb(start: int) -> None:
    for seed in range(start, start + 100):
        check(seed)
