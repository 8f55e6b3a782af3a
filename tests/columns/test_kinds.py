"""DuckDB and narwhals come back as what they were; types in pandas do not depend on values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import narwhals as nw
import narwhals.stable.v1 as nw_v1
import narwhals.stable.v2 as nw_v2
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import DataError, ValueTypeError

ROLLING = sf.rolling(
    on="t", by="k", s=sf.sum("x").over(sf.time(10)), n=sf.count().over(2, closed="left")
)
TUMBLING = sf.rolling(on="t", by="k", every=sf.time(10), s=sf.sum("x").over(sf.time(10)))
TABLE = pa.table({"t": [1, 2, 11], "k": ["a", "b", "a"], "x": [1, None, 4]})
NATIVE: dict[str, Callable[[], Any]] = {
    "arrow": lambda: TABLE,
    "pandas": TABLE.to_pandas,
    "polars": lambda: pl.from_arrow(TABLE),
    "lazy": lambda: pl.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
    "duckdb": lambda: duckdb.from_arrow(TABLE),
}


def rows(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame of any kind."""
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        frame = frame.to_native()
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, duckdb.DuckDBPyRelation):
        frame = frame.to_arrow_table()
    if isinstance(frame, pd.DataFrame):
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    table: pa.Table = frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame
    found: list[dict[str, Any]] = table.to_pylist()
    return found


@pytest.mark.parametrize("definition", [ROLLING, TUMBLING], ids=["rows", "every"])
@pytest.mark.parametrize("kind", NATIVE)
@pytest.mark.parametrize("api", [None, nw, nw_v1, nw_v2], ids=["plain", "main", "v1", "v2"])
def test_the_same_kind_comes_back(definition: sf.Rolling, kind: str, api: Any) -> None:
    native = NATIVE[kind]()
    data = native if api is None else api.from_native(native)
    found = definition.run(data)
    assert type(found) is type(data)
    if api is not None:
        assert type(found.to_native()) is type(native)
    assert rows(found) == rows(definition.run(TABLE))
    assert definition.explain(data).startswith("sf.rolling(")
    live = definition.live(lateness=1)
    fed, rest = live.feed(data), live.finish()
    assert type(fed) is type(rest) is type(data)
    assert len(rows(fed)) + len(rows(rest)) == len(rows(found))


def test_a_relation_of_the_same_connection() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE names AS SELECT 'a' AS k, 'Ann' AS name")
        found = ROLLING.run(connection.from_arrow(TABLE))
        joined = found.set_alias("f").join(connection.table("names"), "k").order("t")
        assert joined.select("name", "s").fetchall() == [("Ann", 1), ("Ann", 4)]
        connection.execute("SET python_enable_replacements = false")
        with pytest.raises(DataError, match=r"DuckDB does not take the results: .*to_arrow_table"):
            ROLLING.run(connection.sql("SELECT 1 AS t, k, 2 AS x FROM names"))


def test_other_data_comes_back_as_arrow() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return TABLE.__arrow_c_stream__(requested_schema)

    assert isinstance(ROLLING.run(Stream()), pa.Table)
    with pytest.raises(ValueTypeError, match="got dict"):
        ROLLING.run({"t": [1]})  # type: ignore[call-overload]


TYPES = sf.rolling(
    on="t",
    by="k",
    n=sf.count().over(2, closed="left"),
    several=sf.count("x").over(2, min_count=2),
    s=sf.sum("x").over(2, closed="left"),
    top=sf.max("x").over(2),
    yes=sf.any("flag").over(2),
    mean=sf.mean("x").over(2),
)
DUE = {
    "t": "int64",
    "k": "int64",
    "x": "int32",
    "flag": "bool",
    "n": "int64",
    "several": "Int64",
    "s": "Int64",
    "top": "Int32",
    "yes": "boolean",
    "mean": "float64",
}


def typed(t: list[int], k: list[int]) -> pd.DataFrame:
    frame = pd.DataFrame({"t": t, "k": k, "x": [1] * len(t), "flag": [True] * len(t)})
    return frame.astype({"x": "int32", "t": "int64", "k": "int64", "flag": "bool"})


def dtypes(frame: pd.DataFrame) -> dict[str, str]:
    return {str(name): str(dtype) for name, dtype in frame.dtypes.items()}


def test_types_in_pandas_do_not_depend_on_values() -> None:
    for frame in (typed([1, 2, 3], [1, 1, 1]), typed([1, 2, 3], [1, 2, 3]), typed([], [])):
        assert dtypes(TYPES.run(frame)) == DUE
        live = TYPES.live(lateness=1)
        assert dtypes(live.feed(frame)) == DUE
        assert dtypes(live.feed(typed([9], [1]))) == DUE
        assert dtypes(live.finish()) == DUE


def test_nullable_columns_stay_nullable() -> None:
    frame = typed([1, 2, 3], [1, 1, 1]).astype({"x": "Int32", "k": "Int64"})
    found = dtypes(TYPES.live(lateness=0).feed(frame))
    assert (found["x"], found["k"], found["t"]) == ("Int32", "Int64", "int64")
    every = sf.rolling(on="t", by="k", every=sf.time(2), s=sf.sum("x").over(sf.time(2)))
    assert dtypes(every.run(frame))["k"] == "Int64"
    mixed = TYPES.live(lateness=5)
    mixed.feed(frame)
    assert dtypes(mixed.feed(typed([9], [1])))["x"] == "Int32"  # rows of the first frame come out


def test_types_of_slides_in_pandas() -> None:
    frame = typed([1, 2, 3], [1, 1, 2])
    keys = {"k": "int64", "window_start": "int64", "window_end": "int64"}
    timed = sf.rolling(on="t", by="k", every=sf.time(2), k2=sf.sum("x").over(sf.time(2)))
    assert dtypes(timed.run(frame)) == {**keys, "k2": "Int64"}
    counted = sf.rolling(on="t", by="k", every=1, x=sf.sum("x").over(1, closed="left"))
    due = {**keys, "window_start": "Int64", "x": "Int64"}
    assert dtypes(counted.run(frame)) == due
    assert dtypes(counted.run(frame.iloc[:0])) == due


def test_late_rows_have_no_count() -> None:
    live = TYPES.live(lateness=0, late="side")
    for frame in (typed([5, 6], [1, 1]), typed([1, 7], [1, 1])):
        found = dtypes(live.feed(frame))
        assert found == {**DUE, "n": "Int64", "late": "bool", "late_reason": "object"}
