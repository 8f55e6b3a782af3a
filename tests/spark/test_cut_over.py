"""Replace a running query by another one: no result is lost, doubled or different."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slidefold as sf
from slidefold.errors import ColumnError, DefinitionError, StateError, ValueTypeError
from slidefold.spark import emitted_until, export_state
from tests.spark.test_stream import DELAY, assert_same, due, rows
from tests.support.streams import MINUTE, Files, drain, written
from tools.crash.workload import judged

pytestmark = pytest.mark.spark

OLD = sf.rolling(on="ts", by="card", order="id", total=sf.sum("amount").over("10m"))
NEW = sf.rolling(
    on="ts",
    by="card",
    order="id",
    total=sf.sum("amount").over("10m"),
    longer=sf.sum("amount").over("40m"),
    seen=sf.collect("id").over("20m"),
)
ENDS = sf.rolling(on="ts", by="card", every="20s", total=sf.sum("amount").over("10m"))


def micros(moment: dt.datetime) -> int:
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def closing(at: int) -> Any:
    """Return a row so late that the watermark passes all others."""
    row = rows(0, 99_000, 0, 1)
    time = pa.array([at + 24 * 60 * MINUTE], pa.timestamp("us", "UTC"))
    return row.set_column(0, "ts", time)


def batches(count: int) -> list[Any]:
    return [rows(i, 1000 * i, (100 + 9 * i) * MINUTE, 60) for i in range(count)]


def accepted_until(tables: list[Any], stopped: int) -> tuple[Any, int]:
    """Return the rows that two queries accept, and the last watermark: the second one starts anew.

    Rows of the second one are judged by the watermark that the first one had at its end.
    """
    first, cut = judged(tables[:stopped], "ts", DELAY)
    later, watermark = judged([pa.concat_tables(tables[:stopped]), *tables[stopped:]], "ts", DELAY)
    after = pc.greater(later["ts"].cast(pa.int64()), cut)
    return pa.concat_tables([due(first, cut), later.filter(after)]), watermark


def test_a_longer_window_and_other_buckets_continue_where_the_old_query_stopped(
    spark: Any, tmp_path: Path
) -> None:
    tables = [*batches(4), closing(200 * MINUTE)]
    files = Files(tmp_path / "in")
    files.add(*tables[:3])
    old, new = tmp_path / "old", tmp_path / "new"
    drain(OLD.run(files.stream(spark, "5 minutes"), buckets=3), old)
    cut = emitted_until(str(old / "checkpoint"))
    assert micros(cut) == judged(tables[:3], "ts", DELAY)[1]
    files.add(*tables[3:])
    # The output of the old query has all accepted rows up to the cut: it is the exact history.
    history = spark.read.parquet(str(old / "out"))
    stream = files.stream(spark, "5 minutes")
    drain(NEW.run(stream, buckets=5, initial=history, after=cut), new)

    accepted, watermark = accepted_until(tables, 3)
    expected = due(NEW.run(accepted), watermark)
    first, second = written(spark, old), written(spark, new)
    assert pc.max(first["ts"].cast(pa.int64())).as_py() <= micros(cut)
    assert pc.min(second["ts"].cast(pa.int64())).as_py() > micros(cut)
    both = pa.concat_tables([first, second.select(first.column_names)])
    assert_same(both, expected.select(first.column_names))
    after = pc.greater(expected["ts"].cast(pa.int64()), micros(cut))
    assert_same(second, expected.filter(after))


def test_window_ends_between_the_last_row_and_the_cut_come_out_once(
    spark: Any, tmp_path: Path
) -> None:
    """The newest row of history is older than the last end that is out."""
    tables = [rows(1, 0, 100 * MINUTE, 20), rows(3, 100, 104 * MINUTE, 9), closing(120 * MINUTE)]
    files = Files(tmp_path / "in")
    files.add(*tables[:2])
    old, new = tmp_path / "old", tmp_path / "new"
    drain(ENDS.run(files.stream(spark, "5 minutes"), buckets=3), old)
    checkpoint = str(old / "checkpoint")
    state = export_state(checkpoint, pending=None)
    cut = emitted_until(checkpoint)
    files.add(tables[2])
    stream = files.stream(spark, "5 minutes")
    drain(ENDS.run(stream, buckets=2, initial=state, after=cut), new)
    accepted, watermark = accepted_until(tables, 2)
    expected = ENDS.run(accepted)
    expected = expected.filter(pc.less_equal(expected["window_end"].cast(pa.int64()), watermark))
    first, second = written(spark, old), written(spark, new)
    newest = pc.max(due(accepted, micros(cut))["ts"].cast(pa.int64())).as_py()
    assert newest < micros(cut) - micros(cut) % 20_000_000  # an end without a row
    assert first.num_rows
    assert second.num_rows
    order = [("card", "ascending"), ("window_end", "ascending")]
    both = pa.concat_tables([first, second]).sort_by(order)
    assert both.cast(expected.schema).equals(expected.sort_by(order))


def test_the_state_is_exported_as_rows(spark: Any, tmp_path: Path) -> None:
    tables = batches(3)
    files = Files(tmp_path / "in")
    files.add(*tables)
    drain(OLD.run(files.stream(spark, "5 minutes"), buckets=3), tmp_path)
    checkpoint = str(tmp_path / "checkpoint")
    state = export_state(checkpoint, spark=spark).toArrow()
    accepted, watermark = judged(tables, "ts", DELAY)
    times = accepted["ts"].cast(pa.int64())
    needed = accepted.filter(pc.greater(times, watermark - 10 * MINUTE))
    assert set(needed["id"].to_pylist()) <= set(state["id"].to_pylist())
    waiting = accepted.filter(pc.greater(times, watermark))
    assert_same(state.filter(state["pending"]).drop_columns(["pending"]), waiting)
    out = state.filter(pc.invert(state["pending"])).drop_columns(["pending"])
    known = accepted.filter(pc.is_in(accepted["id"], out["id"].combine_chunks()))
    assert 0 < known.num_rows < accepted.num_rows - waiting.num_rows
    assert_same(out, known)
    assert export_state(checkpoint, pending="waits").columns[-1] == "waits"
    with pytest.raises(ColumnError, match="have a column 'amount' already: give pending="):
        export_state(checkpoint, pending="amount")
    with pytest.raises(StateError, match="nowhere is not the checkpoint of a slidefold query"):
        export_state(str(tmp_path / "nowhere"))


def test_what_cannot_be_continued_is_refused(spark: Any, tmp_path: Path) -> None:
    files = Files(tmp_path / "in")
    files.add(rows(1, 0, 100 * MINUTE, 20))
    stream = files.stream(spark, "5 minutes")
    drain(OLD.run(stream, emit="arrival", buckets=1), tmp_path)
    with pytest.raises(StateError, match="emit='arrival' does not emit results in the order"):
        emitted_until(str(tmp_path / "checkpoint"))
    with pytest.raises(DefinitionError, match="after= needs initial="):
        OLD.run(stream, after="2026-01-01")
    history = spark.read.parquet(str(tmp_path / "in")).where("ts is not null")
    with pytest.raises(ValueTypeError, match=r"expected a time such as .* as after=, .* got 5"):
        OLD.run(stream, initial=history, after=5)
