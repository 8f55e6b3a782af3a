"""Files of results: whole or not at all."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from slidefold.errors import DataError, UsageError
from slidefold.pipeline import run_pipeline
from slidefold.pipeline.sinks import file_sink
from tests.cli.support import PIPELINE, write

TABLE = pa.table({"t": [1, 2], "k": ["a", None]})


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_file_appears_when_it_is_whole(tmp_path: Path, format: str) -> None:
    path = tmp_path / "out"
    with file_sink(path, format, replace=False) as sink:
        sink.write(TABLE)
        sink.write(TABLE)
        assert not path.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    if format == "json":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        reads = {"csv": pyarrow.csv.read_csv, "parquet": pyarrow.parquet.read_table}
        rows = reads[format](path).to_pylist()
    assert [row["t"] for row in rows] == [1, 2, 1, 2]


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_half_a_file_is_none(tmp_path: Path, format: str) -> None:
    path = tmp_path / "out"
    path.write_text("before")

    def stopped() -> None:
        with file_sink(path, format, replace=True) as sink:
            sink.write(TABLE)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert path.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_made_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def overtaken() -> None:
        with file_sink(path, "csv", replace=False) as sink:
            sink.write(TABLE)
            path.write_text("another's")

    with pytest.raises(DataError, match=r"another process created '.*' during the run"):
        overtaken()
    assert path.read_text() == "another's"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match="cannot be written: "),
        file_sink(tmp_path / "no" / "out", "json", replace=False) as sink,
    ):
        sink.write(TABLE)


def test_json_has_a_word_for_everything(tmp_path: Path) -> None:
    values = {
        "when": datetime(2024, 1, 2, tzinfo=UTC),
        "long": timedelta(seconds=90),
        "exact": Decimal("1.10"),
        "raw": b"\x00\xff",
        "odd": [float("inf"), float("-inf"), float("nan"), 1.5],
        "pair": {"a": True, "b": None},
    }
    with file_sink(tmp_path / "out", "json", replace=False) as sink:
        sink.write(pa.Table.from_pylist([values]))
    assert json.loads((tmp_path / "out").read_text()) == {
        "when": "2024-01-02T00:00:00+00:00",
        "long": 90.0,
        "exact": "1.10",
        "raw": "AP8=",
        "odd": ["Infinity", "-Infinity", "NaN", 1.5],
        "pair": {"a": True, "b": None},
    }


@pytest.mark.parametrize("stream", [False, True])
def test_results_stay_in_memory_for_python(tmp_path: Path, stream: bool) -> None:
    text = PIPELINE.replace("[sink]", '[stream]\nwatermark = "1h"\n[sink]')
    write(tmp_path, text.replace('path = "out.parquet"', 'format = "memory"'))
    found = run_pipeline(tmp_path / "pipeline.toml", stream=stream)
    assert found is not None
    assert sorted(found["mean"].to_pylist()) == [5.0, 10.0, 12.0, 13.0]
    assert {each.name for each in tmp_path.iterdir()} == {"pipeline.toml", "trades.csv"}
    with pytest.raises(UsageError, match="expected the engine 'local' or 'spark', got 'sparc'"):
        run_pipeline(tmp_path / "pipeline.toml", engine="sparc")
    with pytest.raises(UsageError, match="--follow needs"):
        run_pipeline(tmp_path / "pipeline.toml", follow=True)
