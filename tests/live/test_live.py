"""`definition.live`: parity with `run`, lateness, the kinds of tables, and saved state."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.live import Live
from tests.support.arrivals import EVERY, FEWER, PER_ROW, SCHEMA, assert_rows, batches
from tests.support.golden import Case, cases, equal

ALL = {**PER_ROW, **EVERY}
T0 = datetime(2024, 1, 1, tzinfo=UTC)


def accepted_rows(given: list[Any], lateness: int) -> tuple[Any, int]:
    """Return the rows that are not late, row by row, and how many are."""
    newest, kept, late = -(10**9), [], 0
    for batch in given:
        watermark = newest - lateness
        for row in batch.to_pylist():
            if row["t"] is None or row["t"] <= watermark:
                late += 1
            else:
                kept.append(row)
                newest = max(newest, row["t"])
    return pa.Table.from_pylist(kept, SCHEMA), late


@pytest.mark.parametrize("name", ALL)
@FEWER
@given(st.data())
def test_final_is_run(name: str, data: st.DataObject) -> None:
    """Saved and restored at random, with null times among the rows."""
    definition = ALL[name]
    fed = data.draw(batches())
    if data.draw(st.booleans(), "null times"):
        holes = {**dict.fromkeys(SCHEMA.names), "k": "a"}
        fed.insert(1, pa.Table.from_pylist([holes], SCHEMA))
    lateness = data.draw(st.sampled_from([0, 1, 4, 10, 100]), "lateness")
    live = definition.live(lateness=lateness)
    found = []
    for batch in fed:
        found.append(live.feed(batch))
        if data.draw(st.booleans(), "saved"):
            live = Live.from_bytes(live.to_bytes())
    found.append(live.finish())
    accepted, late = accepted_rows(fed, lateness)
    assert_rows(pa.concat_tables(found), definition.run(accepted))
    assert (live.late, live.pending) == (late, 0)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_golden_cases(case: Case) -> None:
    """Fed in pieces and shuffled, the cases give what they give as a whole."""
    definition = sf.Rolling.from_dict(case.definition)
    number = pa.array(range(len(case.data)), pa.int64())
    table = case.data.append_column("row number", number)
    order = list(range(len(table)))
    if definition.order != "input":
        random.Random(3).shuffle(order)
    table = table.take(pa.array(order, pa.int64()))
    numeric = pa.types.is_integer(table.schema.field(definition.on).type)
    live = definition.live(lateness=10**15 if numeric else "100000d")
    cut = len(table) // 2
    found = [live.feed(table.slice(0, cut)), live.feed(table.slice(cut)), live.finish()]
    whole = pa.concat_tables(found, promote_options="permissive")
    assert live.late == 0
    if definition.slide is None:
        whole = whole.sort_by("row number")
    for name in case.expect.column_names:
        expected = case.expect[name]
        if definition.slide is not None:
            got = sorted(map(repr, whole[name].to_pylist()))
            assert got == sorted(map(repr, expected.to_pylist()))
        else:
            got = whole[name].combine_chunks()
            assert equal(got, expected.combine_chunks()), f"{name}: {got.to_pylist()}"


def two_sums() -> sf.Rolling:
    return sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(10)))


def given_rows(*rows: tuple[Any, ...]) -> Any:
    schema = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.int64()})
    return pa.Table.from_pylist([dict(zip("tkx", row, strict=True)) for row in rows], schema)


def test_late_rows_come_out_on_the_side() -> None:
    live = two_sums().live(lateness=2, late="side")
    first = live.feed(given_rows((5, "a", 1), (None, "a", 2)))
    assert first.to_pylist() == [
        {"t": None, "k": "a", "x": 2, "s": None, "late": True, "late_reason": "null time"}
    ]
    second = live.feed(given_rows((3, "a", 4), (4, "a", 8), (7, "b", 16)))
    assert second.select(["t", "s", "late", "late_reason"]).to_pylist() == [
        {"t": 4, "s": 8, "late": False, "late_reason": None},
        {"t": 5, "s": 9, "late": False, "late_reason": None},
        {"t": 3, "s": None, "late": True, "late_reason": "at or before the watermark"},
    ]
    third = live.finish()
    assert third["s"].to_pylist() == [16]
    assert live.late + sum(len(t) for t in (first, second, third)) - 2 == 5
    assert repr(live).endswith("0 pending, 2 late>")


def test_late_rows_raise_and_nothing_is_taken() -> None:
    live = two_sums().live(lateness=2, late="raise")
    live.feed(given_rows((5, "a", 1)))
    with pytest.raises(sf.errors.DataError, match="1 rows are late, the first is t=3, k='b'"):
        live.feed(given_rows((9, "a", 1), (3, "b", 1)))
    with pytest.raises(sf.errors.DataError, match="null time"):
        live.feed(given_rows((9, "a", 1), (None, "b", 1)))
    assert (live.watermark, live.pending, live.late) == (3, 1, 0)
    assert live.finish()["s"].to_pylist() == [1]


def test_the_watermark_only_moves_forward() -> None:
    live = two_sums().live(lateness=5)
    assert repr(live.watermark) == "None"
    with pytest.raises(sf.errors.DataError, match="not known yet; feed rows first"):
        live.advance(3)
    assert len(live.feed(given_rows((10, "a", 1), (12, "a", 2)))) == 0
    assert live.watermark == 7
    assert live.advance(10)["s"].to_pylist() == [1]
    assert len(live.advance(4)) == 0
    assert live.watermark == 10
    assert len(live.feed(given_rows((13, "a", 4)))) == 0
    assert (live.watermark, live.pending) == (10, 2)
    with pytest.raises(
        sf.errors.ValueTypeError, match="the watermark must be a time like those of column 't'"
    ):
        live.advance("2024-01-01")  # type: ignore[arg-type]
    assert live.finish()["s"].to_pylist() == [3, 7]


@pytest.mark.parametrize(
    "kind", [pa.timestamp("ms"), pa.timestamp("us", "Asia/Tokyo"), pa.date32()]
)
def test_datetimes(kind: Any) -> None:
    days = [0, 3, 1, 9]
    times = pa.array([T0.date() + timedelta(d) for d in days], pa.date32()).cast(kind)
    table = pa.table({"ts": times, "x": [1, 2, 4, 8]})
    definition = sf.rolling(on="ts", s=sf.sum("x").over("2d"))
    live = definition.live(lateness=timedelta(days=5))
    found = live.feed(table)
    assert found["s"].to_pylist() == [1, 5, 2]
    assert found.schema.field("ts").type == kind
    assert live.watermark == np.datetime64("2024-01-05")
    to: Any = T0.date() if kind == pa.date32() else T0
    assert len(live.advance(to + timedelta(days=5))) == 0
    assert live.watermark == np.datetime64("2024-01-06")
    assert live.advance(np.datetime64("2024-01-10"))["s"].to_pylist() == [8]
    with pytest.raises(sf.errors.ValueTypeError, match="the lateness 5 is a number, but 'ts'"):
        definition.live(lateness=5).feed(table)


def test_the_same_kind_comes_out() -> None:
    table = given_rows((5, "a", 1), (9, "b", 2), (7, "a", 4))
    for data, kind in (
        (table, pa.Table),
        (table.to_batches()[0], pa.RecordBatch),
        (table.to_reader(), pa.RecordBatchReader),
        (table.to_pandas(), pd.DataFrame),
        (pl.from_arrow(table), pl.DataFrame),
        (pl.from_arrow(table).lazy(), pl.LazyFrame),  # type: ignore[union-attr]
    ):
        live = two_sums().live(lateness=3)
        found = live.feed(data)
        assert isinstance(found, kind)
        rest = live.finish()
        assert isinstance(rest, kind)
        assert [sums(found), sums(rest)] == [[1], [5, 2]]


def sums(data: Any) -> list[int]:
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    table = data.read_all() if isinstance(data, pa.RecordBatchReader) else pa.table(data)
    return [int(value) for value in table["s"].to_pylist()]


def test_bad_arguments() -> None:
    definition, every = (
        two_sums(),
        sf.rolling(on="t", every=sf.time(5), s=sf.sum("x").over(sf.time(5))),
    )
    for said, error, match in (
        ({"lateness": -1}, sf.errors.WindowError, "a duration or a number >= 0, got -1"),
        ({"lateness": True}, sf.errors.WindowError, "got True"),
        ({"lateness": "soon"}, sf.errors.WindowError, "got 'soon'"),
        ({"lateness": 1, "emit": "now"}, sf.errors.DefinitionError, "emit must be one of final"),
        (
            {"lateness": 1, "late": "keep"},
            sf.errors.DefinitionError,
            "late must be one of drop, side",
        ),
    ):
        with pytest.raises(error, match=match):
            definition.live(**said)
    with pytest.raises(sf.errors.DefinitionError, match="late='side' needs one result per row"):
        every.live(lateness=1, late="side")
    live = definition.live(lateness="1h", late="side")
    with pytest.raises(sf.errors.ValueTypeError, match="'1h' is a duration, but 't' holds plain"):
        live.feed(given_rows((1, "a", 1)))
    with pytest.raises(sf.errors.ColumnError, match="already has a column 'late'"):
        live.feed(given_rows((1, "a", 1)).append_column("late", [[1]]))
    with pytest.raises(sf.errors.ColumnError, match="no column 'k'"):
        live.feed(given_rows((1, "a", 1)).drop_columns(["k"]))
    with pytest.raises(sf.errors.ValueTypeError, match="the data is an Arrow table"):
        live.feed([1, 2, 3])  # type: ignore[call-overload]
    assert live.watermark is None
    assert live.pending == 0


def test_a_changed_definition_is_refused_with_what_differs() -> None:
    live = two_sums().live(lateness=2)
    live.feed(given_rows((5, "a", 1)))
    data = live.to_bytes()
    assert Live.from_bytes(data, two_sums()).pending == 1
    window = sf.sum("x").over(sf.time(10))
    for other, match in (
        (sf.rolling(on="t", s=window), r"by was \['k'\] and is now None"),
        (sf.rolling(on="t", by="k", s=window, m=window), "the column 'm' is new"),
        (sf.rolling(on="t", by="k", m=window), "the column 's' is missing"),
        (
            sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(11))),
            r"the column 's' was .*'range': 10.* and is now .*'range': 11",
        ),
    ):
        with pytest.raises(sf.errors.StateError, match=match):
            Live.from_bytes(data, other)
    two = sf.rolling(on="t", a=window, b=window).live(lateness=2).to_bytes()
    assert list(Live.from_bytes(two).definition.columns) == ["a", "b"]
    with pytest.raises(sf.errors.StateError, match="in another order"):
        Live.from_bytes(two, sf.rolling(on="t", b=window, a=window))


def test_damaged_bytes_are_refused() -> None:
    live = two_sums().live(lateness=2)
    live.feed(given_rows((5, "a", 1), (4, "b", 2)))
    data = live.to_bytes()
    assert Live.from_bytes(data).to_bytes() == data
    for damaged in (data[:-1], data + b"x", data[:200] + b"!" + data[201:], b"", b"slidefold"):
        with pytest.raises(sf.errors.StateError):
            Live.from_bytes(damaged)
    window = sf.Window(sf.max(), sf.rows(2)).to_bytes()
    with pytest.raises(sf.errors.StateError, match="expected the state of Live"):
        Live.from_bytes(window)


def test_explain_says_what_a_row_costs() -> None:
    definition = sf.rolling(
        on="t", by="k", s=sf.sum("x").over(sf.time(10)), c=sf.collect("x").over(3)
    )
    live = definition.live(lateness=5)
    assert "the newest time minus 5" in live.explain()
    assert "the rows of the last 10, at most 3 rows before it" in live.explain()
    assert "cost:" not in live.explain()
    live.feed(given_rows((1, "a", 1)))
    assert "cost:      a row costs what it changes" in live.explain()


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x", None, "x"]).dictionary_encode(),
        pa.array([b"x", None, b""]),
        pa.nulls(3),
        pa.array([[1], None, []]),
        pa.array([{"a": 1}, None, {"a": None}]),
    ],
    ids=lambda values: str(values.type),
)
def test_values_of_any_type_are_counted(values: Any) -> None:
    table = pa.table({"t": [1, 2, 3], "x": values})
    definition = sf.rolling(on="t", n=sf.count("x").over(sf.time(5)))
    live = definition.live(lateness=1)
    found = pa.concat_tables([live.feed(table), live.finish()])
    assert found["n"].to_pylist() == definition.run(table)["n"].to_pylist()


@pytest.mark.parametrize("emit", ["final", "arrival", "revise"])
def test_sums_that_overflow_without_what_was_let_go(emit: str) -> None:
    """The rows at 5 and 9 add up to 2**63, but for the one at 0, which is needed no more."""
    half = 2**62
    live = two_sums().live(lateness=1, emit=emit, id="t")
    first = given_rows((0, "a", -half), (5, "a", half), (9, "a", half), (10, "a", -half))
    found = live.feed(first).to_pylist()
    live = Live.from_bytes(live.to_bytes())
    found += live.feed(given_rows((12, "a", 1))).to_pylist() + live.finish().to_pylist()
    assert [row["s"] for row in found] == [-half, 0, half, half, half + 1]


@pytest.mark.parametrize("emit", ["final", "arrival", "revise"])
def test_a_sum_that_overflows_takes_nothing(emit: str) -> None:
    live = two_sums().live(lateness=0, emit=emit, id="t")
    live.feed(given_rows((5, "a", 2**62)))
    with pytest.raises(sf.errors.ResultOverflowError):
        live.feed(given_rows((6, "a", 2**62), (7, "b", 1)))
    found = live.feed(given_rows((6, "a", 1), (7, "b", 1)))
    assert [row["s"] for row in found.to_pylist()] == [2**62 + 1, 1]
