"""Random trees of expressions over windows on Spark, batch and stream, against DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.expressions.sql import MINUTE, assert_equal, definition_of, in_duckdb, rows
from tests.spark.support import frame
from tests.support.streams import Files, drain, written

pytestmark = pytest.mark.spark

SEED = 11


def test_batch(spark: Any) -> None:
    table = rows(SEED, 300)
    for by, options in ((("k",), {"partitions": 2}), ((), {"partitions": 3})):
        definition, columns = definition_of(SEED, 16, by)
        found = definition.run(frame(spark, table, 2), **options).toArrow()
        assert_equal(found, in_duckdb(table, columns, by), columns, f"batch by {by}")


def test_stream(spark: Any, tmp_path: Path) -> None:
    table = rows(SEED, 300)
    definition, columns = definition_of(SEED, 16)
    files = Files(tmp_path / "in")
    last = table.slice(0, 1).set_column(
        1, "ts", pa.array([10_000 * MINUTE], pa.timestamp("us", "UTC"))
    )
    files.add(table.slice(0, 90), table.slice(90, 110), table.slice(200), last)
    stream = files.stream(spark, "15 minutes")
    drain(definition.run(stream), tmp_path)
    found = written(spark, tmp_path)
    assert_equal(found, in_duckdb(table, columns), columns, "stream")
