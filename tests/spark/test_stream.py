"""Streams on Spark: `final` is what a run over the accepted rows gives, in any batches."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slidefold as sf
from examples.flights import data_folder, read_flights
from slidefold.errors import ColumnError, DefinitionError, StateError, UsageError
from slidefold.spark import Metrics, tail
from tests.support.streams import MINUTE, Files, drain, observed, written
from tools.crash.workload import judged

pytestmark = pytest.mark.spark

FEATURES = sf.rolling(
    on="ts",
    by=["card", "shop"],
    order="id",
    total=sf.sum("amount").over("10m"),
    before=sf.max("amount").over("1h", closed="left"),
    where=sf.max_by("city", "amount").over("30m"),
    cities=sf.approx_distinct("city").over("30m"),
    three=sf.collect("id").over(3),
    visit=sf.concat("city").over(sf.session("4m")),
)
DELAY = 5 * MINUTE
ZONE, PARTITIONS = "spark.sql.session.timeZone", "spark.sql.shuffle.partitions"


def rows(seed: int, first: int, start: int, count: int = 200) -> Any:
    """Return rows of ten minutes: ties, nulls, rows that are late by up to twelve minutes."""
    rng = np.random.default_rng(seed)
    late = np.where(rng.random(count) < 0.2, rng.integers(0, 12 * MINUTE, count), 0)
    times = start + rng.integers(0, 10 * MINUTE, count) - late
    times -= times % rng.choice([1, 30_000_000], count)
    draw = random.Random(seed)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC"), mask=rng.random(count) < 0.02),
            "card": pa.array([draw.choice(["a", "b", None]) for _ in range(count)], pa.string()),
            "shop": pa.array([draw.choice([0.0, -0.0, 1.5]) for _ in range(count)]),
            "amount": pa.array([draw.choice([None, *range(9)]) for _ in range(count)], pa.int64()),
            "city": [draw.choice("xyz") for _ in range(count)],
            "id": range(first, first + count),
        }
    )


def end(at: int, first: int) -> Any:
    """Return a row so late that the watermark passes all others."""
    return rows(0, first, at + 30 * 24 * 60 * MINUTE, 1)


def assert_same(found: Any, expected: Any, key: str = "id") -> None:
    left, right = found.sort_by(key), expected.sort_by(key)
    assert left.column_names == right.column_names
    assert left[key].to_pylist() == right[key].to_pylist()
    for name in right.column_names:
        assert left[name].cast(right[name].type).equals(right[name]), name


def due(table: Any, watermark: int) -> Any:
    return table.filter(pc.less_equal(table["ts"].cast(pa.int64()), watermark))


def test_final_is_a_run_over_the_accepted_rows_also_after_a_restart(
    spark: Any, tmp_path: Path
) -> None:
    """Batches before and after 1970; then other partitions, another zone, a new plan."""
    files = Files(tmp_path / "in")
    starts = [-15 * MINUTE, 4 * MINUTE, 9 * MINUTE, 40 * MINUTE, 41 * MINUTE, 120 * MINUTE]
    batches = [rows(i, 1000 * i, start) for i, start in enumerate(starts)]
    batches.append(end(starts[-1], 99_000))
    files.add(*batches[:4])
    conf = {name: spark.conf.get(name) for name in (ZONE, PARTITIONS)}
    spark.conf.set(PARTITIONS, "3")
    try:
        stream = FEATURES.run(files.stream(spark, "5 minutes"), late="side", buckets=7)
        progress = drain(stream, tmp_path)
        files.add(*batches[4:])
        spark.conf.set(PARTITIONS, "2")
        spark.conf.set(ZONE, "Asia/Kolkata")
        again = FEATURES.run(files.stream(spark, "5 minutes"), late="side", buckets=7)
        progress += drain(again, tmp_path)
        spark.conf.set(PARTITIONS, "1")
        other = FEATURES.run(files.stream(spark, "5 minutes"), late="side", buckets=8)
        files.add(end(starts[-1], 99_001))
        with pytest.raises(Exception, match="buckets was 7 and is 8"):
            drain(other, tmp_path)
    finally:
        for name, value in conf.items():
            spark.conf.set(name, value)
    found = written(spark, tmp_path)
    everything = pa.concat_tables(batches)
    accepted, watermark = judged(batches, "ts", DELAY)
    late = found.filter(found["late"])
    assert late.num_rows == everything.num_rows - accepted.num_rows > 50
    assert set(late["late_reason"].to_pylist()) == {"null time", "at or before the watermark"}
    of_late = pc.is_in(everything["id"], late["id"].combine_chunks())
    assert_same(late.select(everything.column_names), everything.filter(of_late))
    assert_same(
        found.filter(pc.invert(found["late"])).drop_columns(["late", "late_reason"]),
        due(FEATURES.run(accepted), watermark),
    )
    counts = observed(progress)
    assert (counts["rows_in"], counts["late"]) == (everything.num_rows, late.num_rows)
    assert counts["rows_out"] == found.num_rows - late.num_rows


def test_windows_begin_with_history_and_what_waits_can_be_read(spark: Any, tmp_path: Path) -> None:
    history = rows(1, 0, 100 * MINUTE)
    history = history.filter(history["ts"].is_valid())
    newest = pc.max(history["ts"].cast(pa.int64())).as_py()
    batches = [rows(2, 1000, 108 * MINUTE), rows(3, 2000, 117 * MINUTE)]
    files = Files(tmp_path / "in")
    files.add(*batches)
    lines: list[str] = []
    listener = Metrics(lines.append)
    spark.streams.addListener(listener)
    try:
        stream = files.stream(spark, "5 minutes")
        past = spark.createDataFrame(history)
        drain(FEATURES.run(stream, late="side", buckets=3, initial=past), tmp_path)
    finally:
        spark.streams.removeListener(listener)
    accepted, watermark = judged(batches, "ts", DELAY)
    accepted = accepted.filter(pc.greater(accepted["ts"].cast(pa.int64()), newest))
    expected = FEATURES.run(pa.concat_tables([history, accepted]))
    expected = expected.filter(pc.is_in(expected["id"], accepted["id"].combine_chunks()))
    found = written(spark, tmp_path)
    late = found.filter(found["late"])
    assert late.num_rows == 400 - accepted.num_rows
    assert_same(
        found.filter(pc.invert(found["late"])).drop_columns(["late", "late_reason"]),
        due(expected, watermark),
    )
    waiting = pc.greater(expected["ts"].cast(pa.int64()), watermark)
    assert_same(tail(str(tmp_path / "checkpoint")).toArrow(), expected.filter(waiting))
    (totals,) = listener.totals.values()
    assert (totals["rows_in"], totals["late"]) == (400, late.num_rows)
    assert totals["pending"] == pc.sum(waiting).as_py()
    assert lines[0].startswith("batch 0: 200 in, 0 out, ")
    with pytest.raises(StateError, match="nowhere is not the checkpoint of a slidefold query"):
        tail(str(tmp_path / "nowhere"))


def test_slides_of_real_flights_in_the_order_in_which_they_left(spark: Any, tmp_path: Path) -> None:
    flown = read_flights(data_folder())
    flown = flown.filter(flown["dep_delay"].is_valid()).slice(0, 6000)
    scheduled = flown["time_hour"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    scheduled = scheduled + flown["minute"].to_numpy() * MINUTE
    delay = flown["dep_delay"].cast(pa.int64())
    left = scheduled + delay.to_numpy() * MINUTE
    table = pa.table(
        {
            "ts": pa.array(scheduled, pa.timestamp("us", "UTC")),
            "origin": flown["origin"],
            "delay": delay,
        }
    ).take(pa.array(np.argsort(left, kind="stable")))
    hourly = sf.rolling(
        on="ts",
        by="origin",
        every="30m",
        flights=sf.count().over("2h"),
        worst=sf.max("delay").over("90m"),
        minutes=sf.sum("delay").over("2h"),
    )
    cuts = np.sort(np.random.default_rng(5).integers(0, table.num_rows, 5)).tolist()
    ends = [*cuts, table.num_rows]
    batches = [table.slice(a, b - a) for a, b in zip([0, *cuts], ends, strict=True)]
    files = Files(tmp_path / "in")
    files.add(*batches)
    progress = drain(hourly.run(files.stream(spark, "45 minutes"), buckets=2), tmp_path)
    accepted, watermark = judged(batches, "ts", 45 * MINUTE)
    counts = observed(progress)
    assert counts["late"] == table.num_rows - accepted.num_rows > 0
    expected = hourly.run(accepted)
    closed = pc.less_equal(expected["window_end"].cast(pa.int64()), watermark)
    expected = expected.filter(closed)
    found = written(spark, tmp_path)
    order = [("origin", "ascending"), ("window_end", "ascending")]
    assert found.sort_by(order).cast(expected.schema).equals(expected.sort_by(order))


def test_what_cannot_run_is_refused_before_the_query_starts(spark: Any) -> None:
    rate = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    definition = sf.rolling(on="ts", n=sf.sum("value").over("1m"))
    stream = rate.withWatermark("ts", "1 minute")
    with pytest.raises(DefinitionError, match=r"no watermark: .* run\(df.withWatermark\('ts'"):
        definition.run(rate)
    wrong = rate.withColumn("other", rate["ts"]).withWatermark("other", "1 minute")
    with pytest.raises(DefinitionError, match=r"watermark on 'ts', .* got one on 'other'"):
        definition.run(wrong)
    with pytest.raises(DefinitionError, match=r"emit must be one of final.* got 'sometimes'"):
        definition.run(stream, emit="sometimes")
    with pytest.raises(DefinitionError, match="late must be one of drop, side, got 'keep'"):
        definition.run(stream, late="keep")
    with pytest.raises(DefinitionError, match="buckets must be 1 without by="):
        definition.run(stream, buckets=2)
    with pytest.raises(DefinitionError, match="buckets must be an integer"):
        definition.run(stream, buckets=0)
    with pytest.raises(ColumnError, match="no column 'price'"):
        sf.rolling(on="ts", n=sf.sum("price").over("1m")).run(stream)
    with pytest.raises(ColumnError, match="adds the column 'late', which exists already"):
        sf.rolling(on="ts", late=sf.sum("value").over("1m")).run(stream, late="side")
    with pytest.raises(DefinitionError, match="order='input' does not work in a stream"):
        sf.rolling(on="ts", order="input", n=sf.last("value").over(2)).run(stream)


def test_settings_are_checked_and_never_changed(spark: Any) -> None:
    from slidefold.spark.settings import CHANGELOG, PARTITIONS, PROVIDER

    rate = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    stream = rate.withWatermark("ts", "1 minute")
    definition = sf.rolling(on="ts", by="value", n=sf.count().over("1m"))
    before = {name: spark.conf.get(name) for name in (PROVIDER, CHANGELOG, PARTITIONS)}
    wrong = [
        (PROVIDER, "org.example.HDFSBackedStateStoreProvider", UsageError, f'set."{PROVIDER}"'),
        (CHANGELOG, "false", UserWarning, f'whole files of state: .*set."{CHANGELOG}", "true"'),
        (PARTITIONS, "200", UserWarning, f'200 state stores for 16 .*set."{PARTITIONS}", "16"'),
    ]
    for name, value, error, told in wrong:
        spark.conf.set(name, value)
        try:
            with pytest.raises(error, match=told):  # warnings are errors in tests
                definition.run(stream)
            assert spark.conf.get(name) == value
        finally:
            spark.conf.set(name, before[name])
    definition.run(stream)
    assert {name: spark.conf.get(name) for name in before} == before
