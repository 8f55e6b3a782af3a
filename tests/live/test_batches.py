"""Time windows of many types: equal to a run over all rows, whatever the batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidefold as sf
from slidefold.live.engine import Engine

KINDS = {
    "x": pa.float64(),
    "n": pa.int64(),
    "small": pa.int8(),
    "unsigned": pa.uint32(),
    "flag": pa.bool_(),
    "day": pa.date32(),
    "moment": pa.timestamp("ms", "UTC"),
    "word": pa.string(),
}
CLOSED = ("right", "left", "both", "neither")
NUMBERS = {name: st.none() | st.integers(0, 3) for name in KINDS}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "t": st.integers(0, 40),
            "k": st.none() | st.sampled_from(["", "a", "1:a", "null"]),
            "f": st.none() | st.sampled_from([0.0, -0.0, float("nan"), 2.5]),
            **NUMBERS,
        }
    ),
    max_size=30,
)


def table_of(rows: list[dict[str, Any]]) -> Any:
    columns: dict[str, Any] = {
        "t": pa.array([row["t"] for row in rows], pa.int64()),
        "k": pa.array([row["k"] for row in rows], pa.string()),
        "f": pa.array([row["f"] for row in rows], pa.float64()),
    }
    for name, kind in KINDS.items():
        values = [row[name] for row in rows]
        if pa.types.is_string(kind):
            columns[name] = pa.array([None if v is None else "abcd"[v] for v in values], kind)
        elif pa.types.is_boolean(kind):
            columns[name] = pa.array([None if v is None else v > 1 for v in values], kind)
        else:
            columns[name] = pa.array(values, pa.int32()).cast(pa.int64()).cast(pa.int64())
            plain = pa.int32() if kind == pa.date32() else kind
            columns[name] = columns[name].cast(plain).cast(kind)
    return pa.table(columns)


def definition_of(closed: str, by: tuple[str, ...]) -> Any:
    window = sf.time(7, closed=closed)
    made: dict[str, Any] = {
        "rows": sf.count().over(window),
        "known": sf.count("x").over(window),
        "distinct": sf.approx_distinct("word").over(window),
        "enough": sf.sum("n").over(window, min_count=2),
        "covariance": sf.covariance("x", "n").over(window),
        "short": sf.sum("x").over(sf.time(1, closed=closed)),
        "any": sf.any("flag").over(window),
        "bits": sf.bit_or("n").over(window),
    }
    for name in ("x", "n", "small", "unsigned"):
        for operator in (sf.sum, sf.mean, sf.std, sf.min, sf.max, sf.range):
            made[f"{operator.__name__}_{name}"] = operator(name).over(window)
    for name in ("flag", "day", "moment"):
        made[f"max_{name}"] = sf.max(name).over(window)
    return sf.rolling(on="t", by=by, columns=made)


@given(ROWS, st.sampled_from(CLOSED), st.sampled_from([(), ("k",), ("k", "f")]), st.data())
@settings(max_examples=60, deadline=None)
def test_batches_in_time_order_give_what_a_run_gives(
    rows: list[dict[str, Any]], closed: str, by: tuple[str, ...], data: Any
) -> None:
    table = table_of(sorted(rows, key=lambda row: row["t"]))
    # Rows of one time come out key by key, so that their places are compared by number.
    table = table.append_column("number", pa.array(range(len(table)), pa.int64()))
    definition = definition_of(closed, by)
    due = definition.run(table)
    engine = Engine(definition, table.schema)
    times = table["t"].to_numpy()
    batches = []
    start = 0
    while start < len(times):
        # Peers come together, as behind a watermark.
        end = int(np.searchsorted(times, data.draw(st.integers(int(times[start]), 41)), "right"))
        batch = table.slice(start, end - start)
        results = engine.take(batch, int(times[end - 1]))
        engine.native.core.check()
        batches.append(results)
        start = end
    found = pa.concat_tables([due.slice(0, 0), *batches]).sort_by("number")
    for name in definition.columns:
        values, wanted = found[name].to_pylist(), due[name].to_pylist()
        if isinstance(next((v for v in wanted if v is not None), 0), float):
            assert [v is None for v in values] == [v is None for v in wanted], name
            some = [(a, b) for a, b in zip(values, wanted, strict=True) if b is not None]
            for one, other in some:
                assert one == pytest.approx(other, abs=1e-9, nan_ok=True), name
        else:
            assert values == wanted, name


@pytest.mark.parametrize("emit", ["final", "arrival", "revise"])
def test_integer_keys_of_which_one_is_null_later_on(emit: str) -> None:
    schema = pa.schema({"t": pa.int64(), "k": pa.int64(), "x": pa.int64()})
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(5)))
    engine = Engine(definition, schema, emit, ("t",) if emit == "revise" else ())
    batches: list[dict[str, Any]] = [
        {"t": [1, 2, 3], "k": [1, -(2**63), 1], "x": [1, 2, 4]},
        {"t": [4, 5, 6], "k": [None, 1, 0], "x": [8, 16, 32]},
        {"t": [7, 8, 9], "k": [None, 1, -(2**63)], "x": [64, 128, 256]},
    ]
    found = [
        engine.take(pa.table(batch, schema=schema), max(batch["t"]))["s"].to_pylist()
        for batch in batches
    ]
    # The window (t - 5, t] of 1 at 5 has the rows of 1, 3 and 5; later batches find them again.
    assert found == [[1, 2, 5], [8, 21, 32], [72, 144, 256]]
    assert engine.by_key == ("s",)


@pytest.mark.parametrize(
    "name", ["mean", "geomean", "relative_variation", "std", "range", "bit_or"]
)
def test_unsigned_integers_that_grow(name: str) -> None:
    """One beyond 2**63 that comes after the first batch, which had none."""
    make: Any = getattr(sf, name)
    made = sf.rolling(on="t", r=make("x").over(sf.time(10)))
    columns = [pa.array(values, pa.uint64()) for values in ([5, 7], [2**64 - 1, 2**63 + 5])]
    batches = [
        pa.table({"t": times, "x": x}) for times, x in zip(([1, 2], [3, 4]), columns, strict=True)
    ]
    live = made.live(lateness=0, emit="arrival")
    found = pa.concat_tables([live.feed(batch) for batch in batches])["r"].to_pylist()
    due = made.run(pa.concat_tables(batches))["r"].to_pylist()
    assert found == [x if x is None else pytest.approx(x, rel=1e-12) for x in due]
