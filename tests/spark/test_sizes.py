"""Estimates of sizes: rows of files count, not only their bytes on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidefold as sf
from slidefold.spark.sizes import PARTITION_BYTES, Size, size_of, too_large

pytestmark = pytest.mark.spark
ROWS = 4_000_000


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file whose rows take a few hundred times more memory than disk."""
    file = tmp_path_factory.mktemp("packed") / "rows.parquet"
    place = np.arange(ROWS)
    table = pa.table({"k": place // (ROWS // 8), "t": place // 5000, "x": place // 7000})
    pq.write_table(table, file, compression="zstd")
    assert file.stat().st_size < ROWS / 4
    return file


def test_compressed_files_count_by_their_rows(spark: Any, packed: Path) -> None:
    data = spark.read.parquet(str(packed))
    size = size_of(data).nbytes
    assert size == pytest.approx(ROWS * 24, rel=0.01)
    # Where columns are left out, the size is theirs; a limit and a small range know their rows.
    assert size_of(data.select("k")).nbytes == pytest.approx(ROWS * 12, rel=0.5)
    assert (size_of(data.limit(10)).nbytes or 0) < 1000
    assert size_of(data.union(data)).nbytes == pytest.approx(2 * ROWS * 24, rel=0.2)
    assert size_of(data).partitions(None) == max(2, -(-ROWS * 24 // PARTITION_BYTES))


def test_text_that_is_compressed(spark: Any, tmp_path: Path) -> None:
    spark.range(1000).write.csv(str(tmp_path / "plain"))
    spark.range(1000).write.option("compression", "gzip").csv(str(tmp_path / "packed"))
    plain, packed = (size_of(spark.read.csv(str(tmp_path / name))) for name in ("plain", "packed"))
    assert plain.nbytes is not None
    assert packed.nbytes is not None
    on_disk = sum(file.stat().st_size for file in (tmp_path / "packed").glob("part*"))
    assert packed.nbytes == 8 * on_disk


def test_spill_decides_by_itself(spark: Any, packed: Path) -> None:
    """With partitions= there may be too few; a definition that can be chunked decides too."""
    data = spark.read.parquet(str(packed)).unionAll(spark.read.parquet(str(packed)))
    many = data.unionAll(data)
    many = many.unionAll(many)
    assert too_large(size_of(many).nbytes, 1)
    definition = sf.rolling(on="t", by="k", n=sf.count().over(sf.time(3)))

    def sorts(**options: Any) -> bool:
        plan = definition.run(many, **options)._jdf.queryExecution().analyzed().toString()
        return "Sort [" in plan

    assert sorts(partitions=1)
    assert sorts(partitions=1, skew=0.99)
    assert not sorts()
    assert not sorts(partitions=1, spill=False)
    assert sorts(spill=True)


def test_without_an_estimate_spark_decides() -> None:
    assert Size(None, 4, 200, 0).adaptive
    assert not Size(None, 4, 200, 3).adaptive
    assert not Size(10, 4, 200, 0).adaptive
