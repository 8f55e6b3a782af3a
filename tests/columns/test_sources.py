"""Arrow, pandas and Polars in, and the same kind out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidefold as sf

ROLLING = sf.rolling(
    on="t",
    by="k",
    total=sf.sum("x").over(sf.time(10)),
    before=sf.last("x").over(1, closed="left"),
)
TUMBLING = sf.rolling(on="t", by="k", every=sf.time(10), total=sf.sum("x").over(sf.time(10)))
TABLE = pa.table({"t": [11, 1, 2], "k": ["a", "b", "a"], "x": [1, 2, 4], "other": [None, "y", "z"]})
TOTAL, BEFORE = [5, 2, 4], [4, None, None]


class Stream:
    """Any object with Arrow's stream interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


def test_table() -> None:
    found = ROLLING.run(TABLE)
    assert isinstance(found, pa.Table)
    assert found.select(TABLE.column_names).equals(TABLE)
    assert found["total"].to_pylist() == TOTAL
    assert found["before"].to_pylist() == BEFORE


def test_a_table_of_several_chunks() -> None:
    chunked = pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 2)])
    assert ROLLING.run(chunked)["total"].to_pylist() == TOTAL


def test_metadata_is_kept() -> None:
    labelled = TABLE.replace_schema_metadata({"made": "here"})
    assert ROLLING.run(labelled).schema.metadata == {b"made": b"here"}


@pytest.mark.parametrize("rows", [3, 0])
def test_batch(rows: int) -> None:
    batch = pa.RecordBatch.from_pydict(TABLE.to_pydict(), TABLE.schema).slice(0, rows)
    found = ROLLING.run(batch)
    assert isinstance(found, pa.RecordBatch)
    assert found.column("total").to_pylist() == ([5, 2, 4] if rows else [])
    assert isinstance(TUMBLING.run(batch), pa.RecordBatch)


def test_reader() -> None:
    ordered = TABLE.sort_by("t")
    found = ROLLING.run(ordered.to_reader())
    assert isinstance(found, pa.RecordBatchReader)
    assert found.read_all()["total"].to_pylist() == [2, 4, 5]


def test_a_reader_must_come_in_order() -> None:
    with pytest.raises(sf.errors.TimeOrderError, match="time goes back at row 1"):
        ROLLING.run(TABLE.to_reader())


def test_stream() -> None:
    found: Any = ROLLING.run(Stream())
    assert found["total"].to_pylist() == TOTAL


def test_pandas() -> None:
    frame = TABLE.to_pandas().set_axis([7, 8, 9])
    found = ROLLING.run(frame)
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == [*frame.columns, "total", "before"]
    assert list(found.index) == [7, 8, 9]
    pd.testing.assert_frame_equal(found[frame.columns], frame)
    assert found["total"].dtype == "Int64"  # by the operator, whether there are nulls or not
    assert found["total"].tolist() == TOTAL
    assert found["before"].dtype == "Int64"  # exact, where NaN would make floats of integers
    assert found["before"].isna().tolist() == [False, True, True]
    assert "total" not in frame.columns


def test_pandas_with_times_as_index() -> None:
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 4.0]},
        index=pd.DatetimeIndex(["2024-01-01"] * 2 + ["2024-01-02"], name="ts"),
    )
    found = sf.rolling(on="ts", s=sf.sum("x").over("1d")).run(frame)
    assert found["s"].tolist() == [3.0, 3.0, 4.0]
    assert found.index.equals(frame.index)


def test_pandas_every() -> None:
    found = TUMBLING.run(TABLE.to_pandas())
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == ["k", "window_start", "window_end", "total"]
    assert found["total"].tolist() == [4, 1, 2]


class Plain(pd.DataFrame):  # type: ignore[misc]
    """A subclass that says nothing: pandas' own methods return DataFrames."""


class Careful(pd.DataFrame):  # type: ignore[misc]
    """A subclass as pandas' documentation asks for, with an attribute of its own."""

    _metadata: ClassVar = ["source"]

    @property
    def _constructor(self) -> Any:
        return Careful


class Stubborn(pd.DataFrame):  # type: ignore[misc]
    """A subclass that nothing can be made of."""

    def __init__(self, rows: int) -> None:
        super().__init__(TABLE.slice(0, rows).to_pandas())


@pytest.mark.parametrize("kind", [Plain, Careful])
def test_a_subclass_of_pandas_comes_back_as_it_is(kind: Any) -> None:
    frame = kind(TABLE.to_pandas().set_axis([7, 8, 9]))
    frame.attrs["made"] = "here"
    if kind is Careful:
        frame.source = "there"
    live = ROLLING.live(lateness=0)
    for found in (ROLLING.run(frame), TUMBLING.run(frame), live.feed(frame), live.finish()):
        assert type(found) is kind
    whole = ROLLING.run(frame)
    assert whole["total"].tolist() == TOTAL
    assert list(whole.index) == [7, 8, 9]
    assert whole.attrs == {"made": "here"}
    assert kind is Plain or whole.source == "there"


def test_a_subclass_that_cannot_be_made_comes_back_as_pandas() -> None:
    frame = Stubborn(3)
    for found in (ROLLING.run(frame), TUMBLING.run(frame)):
        assert type(found) is pd.DataFrame
    assert ROLLING.run(frame)["total"].tolist() == TOTAL


def test_a_subclass_of_polars_comes_back_as_polars() -> None:
    class Frame(pl.DataFrame):
        pass

    for definition in (ROLLING, TUMBLING):
        assert isinstance(definition.run(Frame(TABLE.to_pydict())), pl.DataFrame)


def test_pandas_of_mixed_zones() -> None:
    moments = [
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    ]
    frame = pd.DataFrame({"ts": pd.Series(moments, dtype=object), "x": [1, 2]})
    with pytest.raises(sf.errors.DataError, match="'ts' mixes zones"):
        sf.rolling(on="ts", s=sf.sum("x").over("1d")).run(frame)


@pytest.mark.parametrize("lazy", [False, True])
def test_polars(lazy: bool) -> None:
    frame: Any = pl.DataFrame(TABLE.to_pydict())
    given = frame.lazy() if lazy else frame
    found, slid = ROLLING.run(given), TUMBLING.run(given)
    assert type(found) is type(slid) is type(given)
    if lazy:
        found, slid = found.collect(), slid.collect()
    assert found.columns == [*frame.columns, "total", "before"]
    assert found.select(frame.columns).equals(frame)
    assert found["total"].to_list() == TOTAL
    assert found["before"].to_list() == BEFORE
    assert slid.columns == ["k", "window_start", "window_end", "total"]


@pytest.mark.parametrize("data", [[1, 2], {"t": [1]}, None, 7], ids=repr)
def test_what_is_no_table(data: object) -> None:
    with pytest.raises(sf.errors.ValueTypeError, match="the data is"):
        ROLLING.run(data)  # type: ignore[call-overload]


@pytest.mark.parametrize("streamed", [False, True])
def test_views_of_strings(streamed: bool) -> None:
    """Arrow itself cannot take or sort string views; a producer may send them all the same."""
    view = pa.string_view()
    table = pa.table({"t": [1, 2, 3], "k": pa.array(["a", "b", "a"], view)})
    table = table.append_column("w", pa.array(["q", None, "p"], view))
    definition = sf.rolling(
        on="t",
        by="k",
        most=sf.max("w").over(2),
        both=sf.concat("w").over(2),
        l=sf.last("w").over(1),
    )
    found = definition.run(table.to_reader() if streamed else table)
    found = found.read_all() if streamed else found
    assert found.schema.field("w").type == view
    assert found["most"].to_pylist() == ["q", None, "q"]
    assert found["both"].to_pylist() == ["q", None, "qp"]
    assert found["l"].to_pylist() == ["q", None, "p"]
