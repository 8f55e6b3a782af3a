"""`slidefold run --since --until`: a period of a pipeline file, and what it reads of Parquet."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slidefold.errors import DataError, DefinitionError, UsageError, ValueTypeError
from slidefold.pipeline import run_pipeline
from slidefold.pipeline.sources import row_groups

FILE = """
[source]
path = "rows.{ending}"

[features]
on = "ts"
columns.s = {{ operator = "sum", columns = "x", over = {over} }}

[sink]
format = "memory"
"""


def write(folder: Path, over: str = '"2d"', ending: str = "parquet") -> pa.Table:
    (folder / "pipeline.toml").write_text(FILE.format(over=over, ending=ending))
    times = [datetime(2026, 1, 1) + timedelta(hours=6 * n) for n in range(120)]
    table = pa.table({"ts": pa.array(times, pa.timestamp("us")), "x": range(120)})
    if ending == "parquet":
        pq.write_table(table, folder / "rows.parquet", row_group_size=4)
    else:
        import pyarrow.csv

        pyarrow.csv.write_csv(table, folder / "rows.csv")
    return table


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_days_give_what_one_run_gives(tmp_path: Path, ending: str) -> None:
    write(tmp_path, ending=ending)
    days = [date(2026, 1, 1) + timedelta(days=n) for n in range(31)]
    parts: list[Any] = [
        run_pipeline(tmp_path / "pipeline.toml", since=str(a), until=str(b))
        for a, b in pairwise(days)
    ]
    assert [len(part) for part in parts] == [4] * 30
    assert pa.concat_tables(parts).equals(run_pipeline(tmp_path / "pipeline.toml"))


@pytest.mark.parametrize(
    "kind", [pa.timestamp("ns", "UTC"), pa.timestamp("s"), pa.date32()], ids=str
)
def test_only_row_groups_of_the_period_are_read(tmp_path: Path, kind: pa.DataType) -> None:
    days = pa.array([day for day in range(20) for _ in range(3)], pa.int32()).cast(pa.date32())
    table = pa.table({"ts": days.cast(pa.timestamp("s")).cast(kind)})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=3)
    unit = table["ts"].cast(pa.int32() if kind == pa.date32() else pa.int64())[-1].as_py() // 19
    schema = table.schema
    with pq.ParquetFile(tmp_path / "rows.parquet") as opened:
        assert row_groups(opened, schema, ("ts", (4 * unit, 6 * unit))) == [4, 5, 6]
        assert row_groups(opened, schema, ("ts", (None, 1 * unit))) == [0, 1]
        assert row_groups(opened, schema, ("ts", (None, None))) == list(range(20))
        assert row_groups(opened, schema, None) == list(range(20))


def test_broken_rows_keep_their_lines(tmp_path: Path) -> None:
    table = write(tmp_path)
    times = table["ts"].to_pylist()
    times[101] = None
    broken = table.set_column(0, "ts", pa.array(times, pa.timestamp("us")))
    pq.write_table(broken, tmp_path / "rows.parquet", row_group_size=4)
    with pytest.raises(DataError, match="row 102: the column 'ts' is null"):
        run_pipeline(tmp_path / "pipeline.toml", since="2026-01-20")


def test_bad_periods(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / "pipeline.toml"
    with pytest.raises(ValueTypeError, match="expected a time such as '2026-01-31' as since="):
        run_pipeline(file, since="soon")
    with pytest.raises(DefinitionError, match="is before since="):
        run_pipeline(file, since="2026-01-02", until="2026-01-01")
    with pytest.raises(UsageError, match="work without --stream only"):
        run_pipeline(file, stream=True, since="2026-01-02")


def test_numbers(tmp_path: Path) -> None:
    (tmp_path / "pipeline.toml").write_text(FILE.format(over="{ time = 3 }", ending="parquet"))
    pq.write_table(pa.table({"ts": range(9), "x": range(9)}), tmp_path / "rows.parquet")
    results: Any = run_pipeline(tmp_path / "pipeline.toml", since="4", until="6")
    assert results["s"].to_pylist() == [9, 12]
