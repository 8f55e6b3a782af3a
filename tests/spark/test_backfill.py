"""Backfill on Spark: days give what one run gives, and read only the history of their windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidefold as sf
from slidefold.errors import DefinitionError
from tests.columns.test_backfill import DAYS, sorted_rows, table

pytestmark = pytest.mark.spark


def day(n: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=n)


def parquet(spark: Any, folder: Path, kind: Any = None) -> tuple[Any, pa.Table]:
    """Rows of 30 days as a file with one row group per day."""
    data = table(3000, kind or pa.timestamp("us", "UTC")).sort_by("ts")
    days = data["ts"].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() // 86_400_000_000
    with pq.ParquetWriter(folder / "rows.parquet", data.schema) as writer:
        for n in range(DAYS):
            writer.write_table(data.filter(pa.array(days == n)))
    return spark.read.parquet(str(folder / "rows.parquet")), data


def rows_read(data: Any) -> int:
    """Return how many rows the scans of an executed DataFrame put out."""
    return sum(int(scan.metrics().apply("numOutputRows").value()) for scan in scans(data))


def bytes_read(spark: Any) -> int:
    """Return how many bytes the tasks of this session have read from files so far."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.statusStore().executorSummary("driver").totalInputBytes())


def scans(data: Any) -> list[Any]:
    found = []

    def visit(node: Any) -> None:
        kind = node.getClass().getSimpleName()
        if kind == "AdaptiveSparkPlanExec":
            visit(node.executedPlan())
        elif kind.endswith("QueryStageExec"):
            visit(node.plan())
        elif kind == "FileSourceScanExec":
            found.append(node)
        else:
            children = node.children()
            for i in range(children.size()):
                visit(children.apply(i))

    visit(data._jdf.queryExecution().executedPlan())
    return found


@pytest.mark.parametrize(
    ("by", "first"),
    [("k", 26), pytest.param("k", 0, marks=pytest.mark.exhaustive), ((), 0)],
    ids=["keyed", "keyed, all", "keyless"],
)
def test_thirty_days_equal_one_run_and_read_their_history(
    spark: Any, tmp_path: Path, by: Any, first: int
) -> None:
    data, given = parquet(spark, tmp_path)
    features = sf.rolling(
        on="ts",
        by=by,
        s=sf.sum("x").over("36h"),
        n=sf.count().over("1d", closed="left"),
        x_max=sf.max("x").over("2d"),
    )
    spans: list[Any] = [(day(n), day(n + 1)) for n in range(first, DAYS)]
    spans += [(None, day(first))] if first else []
    parts = [features.run(data, since=since, until=until) for since, until in spans]
    together = reduce(lambda a, b: a.unionAll(b), parts)
    assert sorted_rows(together.toArrow()) == sorted_rows(features.run(given))
    one = features.run(data, since=day(20), until=day(21))
    before = bytes_read(spark)
    rows = one.collect()
    read = bytes_read(spark) - before
    days = given["ts"].cast(pa.int64()).to_numpy() // 86_400_000_000
    assert len(rows) == int((days == 20).sum())
    # Two days of history: days 18 and 19, and row groups of other days are skipped.
    assert rows_read(one) == int(((days >= 18) & (days <= 20)).sum())
    file = pq.ParquetFile(tmp_path / "rows.parquet")
    groups = [file.metadata.row_group(n) for n in range(DAYS)]
    size = [sum(g.column(i).total_compressed_size for i in range(g.num_columns)) for g in groups]
    history, footer = sum(size[18:21]), file.metadata.serialized_size
    assert history <= read <= history + 2 * footer < sum(size) + footer  # of a whole scan


def test_numbers_dates_and_times_without_a_zone(spark: Any, tmp_path: Path) -> None:
    for name, kind in {"d": pa.date32(), "n": pa.timestamp("us")}.items():
        (tmp_path / name).mkdir()
        data, given = parquet(spark, tmp_path / name, kind)
        features = sf.rolling(on="ts", by="k", s=sf.sum("x").over("2d"))
        period: Any = {"since": "1970-01-11", "until": "1970-01-13"}
        expected = features.run(given, **period)
        found = features.run(data, **period, partitions=2)
        assert sorted_rows(found.toArrow()) == sorted_rows(expected)
        assert rows_read(features.run(data, **period)) == 0  # nothing runs before an action
        # Spark does not push times without a zone down to Parquet.
        assert len(found.collect())
        assert (rows_read(found) < len(given) / 5) == (name == "d")
    numbers = pa.table({"t": range(99), "x": range(99)})
    (tmp_path / "i").mkdir()
    pq.write_table(numbers, tmp_path / "i" / "rows.parquet")
    data = spark.read.parquet(str(tmp_path / "i"))
    features = sf.rolling(on="t", s=sf.sum("x").over(sf.time(5)))
    for engine in ("native", "spark"):
        found = features.run(data, since=30, until=40, engine=engine).toArrow()
        assert sorted_rows(found) == sorted_rows(features.run(numbers, since=30, until=40))


def test_slides_rows_windows_and_chunks(spark: Any, tmp_path: Path) -> None:
    data, given = parquet(spark, tmp_path)
    period: Any = {"since": "1970-01-11", "until": "1970-01-13"}
    cases: list[tuple[Any, Any]] = [
        (sf.rolling(on="ts", by="k", every="6h", n=sf.count().over("1d")), {}),
        (sf.rolling(on="ts", by="k", n=sf.sum("x").over(20), order="x"), {"spill": True}),
        (sf.rolling(on="ts", n=sf.sum("x").over("3d")), {"partitions": 3}),
        (sf.rolling(on="ts", every="6h", n=sf.count().over("1d")), {"partitions": 3}),
        (sf.rolling(on="ts", by="k", n=sf.count().over("1d")), {"skew": 0.01, "partitions": 2}),
    ]
    for features, options in cases:
        found = features.run(data, **period, **options).toArrow()
        expected = features.run(given, **period)
        assert len(expected)
        assert sorted_rows(found) == sorted_rows(expected), features


def test_null_times_and_bad_options(spark: Any) -> None:
    data = spark.createDataFrame([(None, 1), (5, 2)], "t long, x long")
    features = sf.rolling(on="t", s=sf.sum("x").over(sf.time(5)))
    with pytest.raises(Exception, match="'t' is null"):
        features.run(data, since=5).collect()
    with pytest.raises(DefinitionError, match="is before since="):
        features.run(data, since=5, until=4)
    stream = spark.readStream.format("rate").load()
    per_second = sf.rolling(on="timestamp", n=sf.count().over("1m"))
    with pytest.raises(DefinitionError, match="since= of run is for data in this process and"):
        per_second.run(stream.withWatermark("timestamp", "1 minute"), since=5)
    text = features.explain(data.where("t > 0"), since=5, until=9)
    assert "returns the rows from 5 to 8, reads the rows from 1 to 8" in text
