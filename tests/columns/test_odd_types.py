"""Arrow types that few tables have: decoded, or refused in one sentence."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import DataError, SlidefoldError, ValueTypeError


def runs(values: Any, kind: Any = None) -> Any:
    """Return values with the first one twice, run-end encoded."""
    return pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(values, kind))


def stored(kind: Any, values: Any) -> Any:
    return pa.ExtensionArray.from_storage(kind, values)


COLUMNS: dict[str, Any] = {
    "runs": runs([1, 2]),
    "runs of strings": runs(["a", "b"]),
    "runs of views": runs(["a", "b"], pa.string_view()),
    "runs of nulls": runs([None, 2.0]),
    "string_view": pa.array(["a", "a", "b"], pa.string_view()),
    "binary_view": pa.array([b"a", b"a", b"b"], pa.binary_view()),
    "list": pa.array([[1], [1], [2]]),
    "list_view": pa.array([[1], [1], [2]], pa.list_view(pa.int64())),
    "fixed_size_list": pa.array([[1], [1], [2]], pa.list_(pa.int64(), 1)),
    "fixed_size_binary": pa.array([b"a", b"a", b"b"], pa.binary(1)),
    "null": pa.nulls(3),
    "float16": pa.array(np.array([1, 1, 2], np.float16)),
    "bool8": stored(pa.bool8(), pa.array([1, 1, 0], pa.int8())),
    "json": stored(pa.json_(), pa.array(["1", "1", "2"])),
    "uuid": stored(pa.uuid(), pa.array([b"a" * 16, b"a" * 16, b"b" * 16], pa.binary(16))),
    "dense_union": pa.UnionArray.from_dense(
        pa.array([0, 0, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2])]
    ),
    "sparse_union": pa.UnionArray.from_sparse(
        pa.array([0, 0, 0], pa.int8()), [pa.array([1, 1, 2])]
    ),
    "interval": pa.array([pa.MonthDayNano([1, 2, 3])] * 2 + [pa.MonthDayNano([2, 2, 3])]),
    "dictionary": pa.array(["a", "a", "b"]).dictionary_encode(),
    "map": pa.array([[("a", 1)]] * 2 + [[("b", 1)]], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"a": 1}, {"a": 1}, {"a": 2}]),
    "time32": pa.array([1, 1, 2], pa.time32("s")),
    "time64": pa.array([1, 1, 2], pa.time64("ns")),
    "date64": pa.array([dt.date(2020, 1, 1)] * 2 + [dt.date(2020, 1, 2)], pa.date64()),
    "decimal256": pa.array([Decimal(1), Decimal(1), Decimal(2)], pa.decimal256(50, 2)),
    "decimal32": pa.array([Decimal(1), Decimal(1), Decimal(2)], pa.decimal32(5, 2)),
    "decimal64": pa.array([Decimal(1), Decimal(1), Decimal(2)], pa.decimal64(15, 2)),
    "negative scale": pa.array([Decimal(100), Decimal(100), Decimal(200)], pa.decimal128(8, -2)),
    "large_list": pa.array([["a"], ["a"], ["b"]], pa.large_list(pa.string())),
}
KEYS = {
    name
    for name in COLUMNS
    if "list" not in name and "union" not in name and name not in ("interval", "map", "struct")
}
NEW = {
    "first": sf.first("x"),
    "max": sf.max("x"),
    "range": sf.range("x"),
    "sum": sf.sum("x"),
    "mean": sf.mean("x"),
    "var": sf.var("x"),
    "count": sf.count("x"),
    "distinct": sf.approx_distinct("x"),
    "collect_distinct": sf.collect_distinct("x"),
    "collect": sf.collect("x"),
    "max_by": sf.max_by("x", "y"),
    "by_x": sf.max_by("y", "x"),
    "median": sf.median("x"),
    "top_k": sf.top_k("x", 2),
    "bloom": sf.bloom("x"),
    "trend": sf.trend("y", "x"),
    "any": sf.any("x"),
}


def table_of(name: str, times: list[int]) -> Any:
    return pa.table({"t": times, "x": COLUMNS[name], "y": [1.0, 2.0, 3.0]})


def read(definition: Any, table: Any) -> Any:
    return definition.run(table.to_reader()).read_all()


def fed(definition: Any, table: Any, emit: str = "final") -> Any:
    on = table.schema.field(definition.on).type
    live = definition.live(lateness="1d" if pa.types.is_temporal(on) else 1, emit=emit)
    part = live.feed(table)
    live = type(live).from_bytes(live.to_bytes(), definition)
    return pa.concat_tables([part, live.finish()], promote_options="default")


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("window", [2, sf.time(2)], ids=["rows", "time"])
def test_values_give_a_result_or_a_typed_refusal(name: str, window: Any) -> None:
    tables = [table_of(name, times) for times in ([1, 2, 3], [3, 2, 1], [1, 1, 1])]
    for operator in NEW:
        definition = sf.rolling(on="t", v=NEW[operator].over(window))
        for table in tables:
            for run in (definition.run, lambda data, it=definition: fed(it, data)):
                said = refusal(run, table)
                assert said is None or ("'x'" in said and "\n" not in said), (operator, said)


def refusal(run: Any, table: Any) -> str | None:
    """Return what is said against a table, None if it runs; another error is one."""
    try:
        run(table)
    except SlidefoldError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_that_are_carried_along(name: str) -> None:
    definition = sf.rolling(on="t", n=sf.count().over(2))
    table = table_of(name, [3, 2, 1])
    found = definition.run(table)
    assert found["n"].to_pylist() == [2, 2, 1]
    assert found["x"].type == table["x"].type
    if "union" in name:
        for run in (fed, read):
            with pytest.raises(ValueTypeError, match=r"the column 'x' of type .* drop or cast it"):
                run(definition, table)
        return
    for emit in ("final", "arrival", "change"):
        rows = fed(definition, table, emit).to_pylist()
        assert (
            sorted((row["t"], str(row["x"])) for row in rows if row["n"])
            == sorted((row["t"], str(row["x"])) for row in found.to_pylist())[: len(rows)]
        )
    backwards = table_of(name, [1, 2, 3])
    assert read(definition, backwards)["x"].to_pylist() == backwards["x"].to_pylist()
    batch = definition.run(backwards.combine_chunks().to_batches()[0])
    assert batch.column("x").to_pylist() == backwards["x"].to_pylist()


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("window", [5, sf.time(5)], ids=["rows", "time"])
def test_keys(name: str, window: Any) -> None:
    definition = sf.rolling(on="t", by="x", n=sf.count().over(window))
    table = table_of(name, [1, 2, 3])
    if name in KEYS:
        due = [1, 2, 3] if name == "null" else [1, 2, 1]
        assert definition.run(table)["n"].to_pylist() == due
        assert fed(definition, table)["n"].to_pylist() == due
        return
    runs: list[Any] = [definition.run, lambda data: fed(definition, data)]
    for run in runs:
        with pytest.raises(ValueTypeError, match=r"the column 'x' of type .*(key|later rows)"):
            run(table)


@pytest.mark.parametrize("name", COLUMNS)
def test_times(name: str) -> None:
    definition = sf.rolling(on="x", n=sf.count().over(5))
    table = table_of(name, [1, 2, 3])
    if name in ("runs", "date64"):
        assert definition.run(table)["n"].to_pylist() == [1, 2, 3]
        assert fed(definition, table)["n"].to_pylist() == [1, 2, 3]
        return
    with pytest.raises((ValueTypeError, DataError), match="the column 'x'"):
        definition.run(table)


def test_runs_give_what_plain_columns_give() -> None:
    plain = pa.table({"t": [1, 2, 3], "x": [1, 1, 2], "k": ["a", "a", "b"]})
    encoded = pa.table({"t": [1, 2, 3], "x": COLUMNS["runs"], "k": COLUMNS["runs of strings"]})
    columns = {name: sf.sum("x").over(w) for name, w in (("a", 2), ("b", sf.time(2)))}
    definition = sf.rolling(on="t", by="k", columns=columns, f=sf.first("x").over(2))
    for name in definition.columns:
        assert definition.run(encoded)[name] == definition.run(plain)[name]
        assert fed(definition, encoded)[name].to_pylist() == definition.run(plain)[name].to_pylist()
