"""`op.per(column)`: a map from category to result, over columns and live."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import DataError, DefinitionError, OperatorError, ValueTypeError


def payments(rows: int, seed: int = 3) -> Any:
    rng = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    draws = range(rows)
    return pa.table(
        {
            "t": pa.array([rng.randrange(rows) for _ in draws], pa.int64()),
            "card": pa.array([rng.choice("ab") for _ in draws]),
            "shop": pa.array([maybe(rng.choice(["x", "y", "z"])) for _ in draws], pa.string()),
            "code": pa.array([maybe(rng.randrange(3)) for _ in draws], pa.int64()),
            "amount": pa.array([maybe(float(rng.randrange(9))) for _ in draws], pa.float64()),
            "i": pa.array(draws, pa.int64()),
        }
    )


FEATURES: dict[str, Any] = {
    "spent": sf.sum("amount").per("shop").over(sf.time(20)),
    "times": sf.count().per("code").over(10),
    "large": sf.max("amount").per("shop").where(sf.col("amount") > 4).over(sf.time(20)),
    "last": sf.last("shop").per("code").over(sf.time(30, closed="left")),
    "visit": sf.mean("amount").per("shop").over(sf.session(2)),
}


def expected(table: Any, row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the sums per shop in the window of a row, by brute force."""
    sums: dict[str, float | None] = {}
    for other in table.to_pylist():
        inside = other["card"] == row["card"] and row["t"] - 20 < other["t"] <= row["t"]
        if not inside or other["shop"] is None:
            continue
        sums.setdefault(other["shop"], None)
        if other["amount"] is not None:
            sums[other["shop"]] = (sums[other["shop"]] or 0.0) + other["amount"]
    return sums or None


def as_dicts(column: Any) -> list[dict[Any, Any] | None]:
    for entries in column.to_pylist():
        assert entries is None or [key for key, _ in entries] == sorted(key for key, _ in entries)
    return [None if entries is None else dict(entries) for entries in column.to_pylist()]


def test_by_brute_force() -> None:
    table = payments(200)
    found = sf.rolling(on="t", by="card", **FEATURES).run(table)
    assert as_dicts(found["spent"]) == [expected(table, row) for row in table.to_pylist()]


@pytest.mark.parametrize("seed", range(3))
def test_live_gives_the_same(seed: int) -> None:
    table = payments(300, seed)
    definition = sf.rolling(on="t", by="card", **FEATURES)
    due = definition.run(table)
    rng = random.Random(seed)
    rows = list(range(300))
    rng.shuffle(rows)
    final = definition.live(lateness=1000)
    revised = definition.live(lateness=1000, emit="revise", id="i")
    last: dict[int, Any] = {}
    for first in range(0, 300, 41):
        part = table.take(pa.array(rows[first : first + 41]))
        final.feed(part)
        for row in revised.feed(part).to_pylist():
            last[row["i"]] = row
    ended = sf.Live.from_bytes(final.to_bytes()).finish().sort_by("i")
    for name in FEATURES:
        assert as_dicts(ended[name]) == as_dicts(due[name])
        assert [last[i][name] for i in range(300)] == due[name].to_pylist()


def test_events_and_questions() -> None:
    definition = sf.rolling(on="t", by="card", spent=sf.sum("amount").per("shop").over(sf.time(9)))
    schema = pa.schema(
        {"t": pa.int64(), "card": pa.string(), "shop": pa.string(), "amount": pa.float64()}
    )
    live = definition.live(lateness=5, emit="arrival", schema=schema)
    assert live.push({"t": 1, "card": "a", "shop": "x", "amount": 2.0}) == {"spent": {"x": 2.0}}
    assert live.push({"t": 2, "card": "a", "shop": None, "amount": 9.0}) == {"spent": {"x": 2.0}}
    assert live.ask({"card": "a"}) == {"spent": {"x": 2.0}}
    assert live.ask({"card": "b"}) == {"spent": None}


@pytest.mark.parametrize("operator", [sf.first, sf.last, sf.nth, sf.collect])
def test_nulls_that_are_kept(operator: Callable[..., Any]) -> None:
    rows = pa.table({"t": [1, 2, 3, 4], "x": [None, 7, None, None], "c": ["a", "a", "a", "b"]})
    features = sf.rolling(on="t", m=operator("x", nulls="keep").per("c").over(sf.time(9)))
    by_hand = {"first": [None, None, None], "last": [None, 7, None], "nth": [None, 7, None]}
    expected = by_hand.get(operator.__name__, [[None], [None, 7], [None, 7, None]])
    found = features.run(rows)["m"].to_pylist()
    assert [dict(row)["a"] for row in found[:3]] == expected
    live = features.live(lateness=9, schema=rows.schema)
    live.feed(rows)
    assert live.finish()["m"].to_pylist() == found


def test_any_operator_over_columns() -> None:
    table = payments(60)
    definition = sf.rolling(
        on="t",
        middle=sf.median("amount").per("shop").over(9),
        all=sf.collect("i").per("code").over(5),
    )
    assert sf.Rolling.from_dict(definition.to_dict()) == definition
    assert "sf.median('amount').per('shop').over(9)" in repr(definition)
    assert definition.run(table)["all"].type == pa.map_(pa.int64(), pa.list_(pa.int64()))


def test_bad_input() -> None:
    table = payments(60)
    many = sf.rolling(on="t", n=sf.count().per("i", limit=5).over(20))
    with pytest.raises(DataError, match="more than 5 categories of 'i': raise limit="):
        many.run(table)
    with pytest.raises(DataError, match="more than 5 categories of 'i': raise limit="):
        many.live(lateness=99, emit="arrival").feed(table)
    with pytest.raises(OperatorError, match="per cannot fold"):
        sf.rank("amount").per("shop")
    with pytest.raises(OperatorError, match="per cannot fold"):
        sf.count().per("shop").per("code")
    with pytest.raises(DefinitionError, match="min_count does not work"):
        sf.count().per("shop").over(3, min_count=2)
    with pytest.raises(DefinitionError, match="lifetime"):
        sf.rolling(on="t", n=sf.count().per("shop").over("lifetime"))
    with pytest.raises(ValueTypeError, match="categories of strings"):
        sf.rolling(on="t", n=sf.count().per("amount").over(3)).run(table)
