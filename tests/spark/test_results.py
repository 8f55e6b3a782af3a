"""Results of a run are ordinary DataFrames, and carried columns keep what Spark knows of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as fn
from pyspark.sql.types import (
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

import slidefold as sf

pytestmark = pytest.mark.spark

COMMENT = {"comment": "the card's number"}
SCHEMA = StructType(
    [
        StructField("card", StringType(), False, COMMENT),
        StructField("ts", TimestampType(), False),
        StructField("a.b", LongType(), True, {"unit": "cents", "scale": 2}),
    ]
)


def data(spark: Any) -> Any:
    moments = spark.sql("select timestamp_seconds(60 * id) t from range(6)").collect()
    return spark.createDataFrame([("ab"[i % 2], row.t, i) for i, row in enumerate(moments)], SCHEMA)


@pytest.mark.parametrize("options", [{}, {"engine": "spark"}, {"partitions": 3, "skew": 0.1}])
@pytest.mark.parametrize("by", [["card"], []])
def test_comments_nullability_and_metadata_survive(spark: Any, by: list[str], options: Any) -> None:
    features = sf.rolling(on="ts", by=by, total=sf.sum("a.b").over("2m"))
    options = options if by else {name: options[name] for name in options if name != "skew"}
    schema = features.run(data(spark), **options).schema
    assert [field.name for field in schema] == ["card", "ts", "a.b", "total"]
    assert [field.metadata for field in schema] == [COMMENT, {}, SCHEMA["a.b"].metadata, {}]
    assert [field.nullable for field in schema][:3] == [False, False, True]


def test_results_are_joined_filtered_written_and_queried(spark: Any, tmp_path: Path) -> None:
    features = sf.rolling(on="ts", by="card", total=sf.sum("a.b").over("3m"))
    results = data(spark).transform(features.run)
    path = str(tmp_path / "out")
    results.write.partitionBy("card").parquet(path)
    again = spark.read.parquet(path)
    assert again.where("card = 'a'").agg(fn.sum("total")).head()[0] == 0 + 2 + 6
    names = spark.createDataFrame([("a", "first"), ("b", "second")], "card string, name string")
    joined = results.join(names, "card").where(fn.col("total") > 2).select("name", "total")
    assert sorted(map(tuple, joined.collect())) == [("first", 6), ("second", 4), ("second", 8)]
    results.createOrReplaceTempView("features")
    found = spark.sql("select card, max(total) m from features group by card order by card")
    assert [tuple(row) for row in found.collect()] == [("a", 6), ("b", 8)]


def test_a_run_starts_no_job_unless_it_must_look_at_the_data(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "in")
    local = data(spark)
    local.write.parquet(path)
    stored = spark.read.parquet(path)
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    keyed = sf.rolling(on="ts", by="card", total=sf.sum("a.b").over("3m"))
    whole = sf.rolling(on="ts", total=sf.sum("a.b").over("3m"))
    for features, frame in ((keyed, local), (keyed, stored), (whole, stored)):
        features.run(frame)
        features.run(frame, since="1970-01-01", until="1970-01-02")
        features.explain(frame)
    assert set(tracker.getJobIdsForGroup(None)) == before
    # The size of rows from Python is not known: one scan counts them, and they are not cut.
    assert "so little data" in whole.explain(local)
    few = whole.run(local)
    assert few.rdd.getNumPartitions() == 1
    assert sorted(row.total for row in few.collect()) == [0, 1, 3, 6, 9, 12]
