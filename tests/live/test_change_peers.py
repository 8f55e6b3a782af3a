"""`emit="change"`: which of equal peers comes out is a function of the rows, not of arrival."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf

ROWS = [
    {"t": 1, "k": "a", "x": 1.0, "name": "b", "tags": ["p"]},
    {"t": 1, "k": "a", "x": 1.0, "name": "a", "tags": ["q", "r"]},
    {"t": 1, "k": "a", "x": 1.0, "name": "a", "tags": ["q"]},
    {"t": 2, "k": "a", "x": 0.0, "name": "c", "tags": None},
]
SCHEMA = pa.schema(
    {
        "t": pa.int64(),
        "k": pa.string(),
        "x": pa.float64(),
        "name": pa.string(),
        "tags": pa.list_(pa.string()),
    }
)


def come_out(definition: Any, rows: list[dict[str, Any]], batches: int) -> list[dict[str, Any]]:
    live = definition.live(lateness=10, emit="change")
    size = -(-len(rows) // batches)
    parts = [rows[i : i + size] for i in range(0, len(rows), size)]
    fed = [live.feed(pa.Table.from_pylist(part, SCHEMA)) for part in parts]
    return [row for part in [*fed, live.finish()] for row in part.to_pylist()]


@pytest.mark.parametrize("by", [(), ("k",)])
@pytest.mark.parametrize("order", [(), ("name",)])
@pytest.mark.parametrize("column", ["sum over time", "last over rows", "both"])
def test_the_same_peer_comes_out(by: tuple[str, ...], order: tuple[str, ...], column: str) -> None:
    columns = {}
    if column != "last over rows":
        columns["s"] = sf.sum("x").over(sf.time(10))  # kept by key
    if column != "sum over time":
        columns["l"] = sf.last("x").over(2)  # folded again
    definition = sf.rolling(on="t", by=by, order=order, columns=columns)
    found = [
        come_out(definition, list(rows), batches)
        for rows in permutations(ROWS)
        for batches in (1, 3)
    ]
    assert all(each == found[0] for each in found)
    first = found[0][0]
    assert (first["name"], first["tags"]) == ("a", ["q", "r"])  # in the order of words


def test_order_says_which_peer_comes_first() -> None:
    definition = sf.rolling(on="t", order="x", n=sf.count().over(sf.time(10)))
    rows = [{**ROWS[0], "x": float(x), "name": name} for x, name in ((2, "a"), (1, "z"))]
    for each in (rows, rows[::-1]):
        assert [row["name"] for row in come_out(definition, each, 1)] == ["z"]


def test_order_of_the_input_is_kept_where_it_is_asked_for() -> None:
    definition = sf.rolling(on="t", order="input", n=sf.count().over(sf.time(10)))
    assert come_out(definition, ROWS[:2], 1)[0]["name"] == "b"
    assert come_out(definition, ROWS[1::-1], 1)[0]["name"] == "a"


def test_many_rows_in_any_order() -> None:
    rng = random.Random(3)
    rows = [
        {
            "t": rng.randint(0, 6),
            "k": rng.choice("ab"),
            "x": float(rng.randint(0, 1)),
            "name": rng.choice("uvw"),
            "tags": rng.choice([None, [], ["z"]]),
        }
        for _ in range(40)
    ]
    definition = sf.rolling(
        on="t", by="k", s=sf.max("x").over(sf.time(3)), n=sf.nth("x", 2).over(3)
    )
    expected = sorted(map(repr, come_out(definition, rows, 1)))
    for _ in range(20):
        rng.shuffle(rows)
        assert sorted(map(repr, come_out(definition, rows, rng.randint(1, 5)))) == expected
