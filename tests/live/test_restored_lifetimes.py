"""Lifetime windows and slices after a restore: rows that have gone may have had nulls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold import Live

ROWS = 40
OPERATORS = {
    "count": sf.count("x"),
    "sum": sf.sum("x"),
    "first": sf.first("x"),
    "any": sf.any("x"),
}


def table_of(seed: int) -> Any:
    random = np.random.default_rng(seed)
    values = [None if i < ROWS // 2 and random.random() < 0.5 else i for i in range(ROWS)]
    keys = random.choice(["a", "b"], ROWS)
    return pa.table({"t": np.sort(random.integers(0, 60, ROWS)), "k": keys, "x": values})


def fed(definition: Any, table: Any, seed: int) -> Any:
    random = np.random.default_rng(seed)
    live, results, at = definition.live(lateness=2), [], 0
    while at < len(table):
        size = int(random.integers(1, 6))
        results.append(live.feed(table.slice(at, size)))
        at += size
        live = Live.from_bytes(live.to_bytes())
    results.append(live.finish())
    return pa.concat_tables(results)


@pytest.mark.parametrize("every", [None, sf.time(4)], ids=["rows", "ends"])
@pytest.mark.parametrize("name", OPERATORS)
def test_nulls_that_have_gone_are_not_counted_after_a_restore(name: str, every: Any) -> None:
    new = {
        "some": OPERATORS[name].over("lifetime"),
        "enough": OPERATORS[name].over("lifetime", min_count=3),
        "lately": OPERATORS[name].over(sf.time(12), min_count=3),
    }
    definition = sf.rolling(on="t", by="k", every=every, order="x", columns=new)
    table = table_of(len(name))
    expected = definition.run(table)
    order = [(each, "ascending") for each in expected.column_names if each not in new]
    got = fed(definition, table, len(name)).sort_by(order)
    assert got.equals(expected.sort_by(order).cast(got.schema))
