"""Pipeline files on Spark: the same rows as in one process, streams that continue, parity."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from slidefold.cli import on_spark, spark_stream
from slidefold.cli.output import Output
from slidefold.cli.pipeline import load
from slidefold.errors import DataError
from slidefold.spark import session as sessions
from tests.cli.support import PIPELINE, TRADES, slidefold, write

pytestmark = pytest.mark.spark
ZONE = "spark.sql.session.timeZone"
TYPED = PIPELINE.replace("[features]", 'columns = { price = "float64" }\n[features]')
STREAM = """
[stream]
watermark = "30m"
late = "side"
checkpoint = "checkpoint"
"""


@pytest.fixture
def in_session(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Commands run in the session of the tests; theirs is in UTC."""

    @contextmanager
    def shared(*_: object) -> Iterator[Any]:
        with sessions.readable():
            yield spark

    for module in (on_spark, spark_stream):
        monkeypatch.setattr(module, "spark_session", shared)
    before = spark.conf.get(ZONE)
    spark.conf.set(ZONE, "UTC")
    yield spark
    spark.conf.set(ZONE, before)


def test_a_batch_has_the_rows_of_one_process(tmp_path: Path, in_session: Any) -> None:
    kept = TYPED.replace('"trades.csv"', '"trades.csv"\nbad_rows = "side"\nside = "bad.jsonl"')
    write(tmp_path, kept)
    broken = TRADES.replace("14.0", "n/a")
    (tmp_path / "trades.csv").write_text(broken)
    pipeline = load(tmp_path / "pipeline.toml", engine="spark")
    on_spark.run_spark(pipeline, Output(), False, "")
    found = in_session.read.parquet(str(tmp_path / "out.parquet")).toArrow()
    assert found.schema.field("ts").type == pyarrow.timestamp("us")  # no zone came in
    rows = sorted(found.to_pylist(), key=lambda row: (row["ts"], row["symbol"]))
    assert [(row["n_1h"], row["n_6h"], row["mean"]) for row in rows] == [
        (1, 1, 10.0),
        (1, 1, 5.0),
        (1, 2, 12.0),
    ]
    (bad,) = map(json.loads, (tmp_path / "bad.jsonl").read_text().splitlines())
    assert (bad["file"], bad["line"]) == (str(tmp_path / "trades.csv"), 3)
    # And where a broken row is to fail the run, it does, with the same sentence and no result.
    write(tmp_path, TYPED.replace("out.parquet", "other.parquet"))
    (tmp_path / "trades.csv").write_text(broken)
    pipeline = load(tmp_path / "pipeline.toml", engine="spark")
    with pytest.raises(DataError, match=r"trades\.csv, line 3: column 3: no double: invalid"):
        on_spark.run_spark(pipeline, Output(), False, "")
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {"pipeline.toml", "trades.csv", "out.parquet", "bad.jsonl"}


def test_a_stream_continues_where_it_stopped(tmp_path: Path, in_session: Any) -> None:
    text = PIPELINE.replace('"trades.csv"', '"days"\nformat = "csv"').replace(
        "[sink]", STREAM + "[sink]"
    )
    days = tmp_path / "days"
    days.mkdir()
    (days / "1.csv").write_text(TRADES)
    write(tmp_path, text)

    def stream(rows: str, number: int) -> list[dict[str, Any]]:
        if rows:
            (days / f"{number}.csv").write_text(TRADES.splitlines()[0] + "\n" + rows)
            os.utime(days / f"{number}.csv", (2e9 + number, 2e9 + number))
        pipeline = load(tmp_path / "pipeline.toml", engine="spark", stream=True)
        spark_stream.stream_spark(pipeline, Output(), False, "", follow=False)
        found = in_session.read.parquet(str(tmp_path / "out.parquet")).toArrow().to_pylist()
        return sorted(found, key=lambda row: (row["ts"], row["symbol"]))

    # The watermark is 9:45 at the end: the trade of 10:15 waits.
    assert [row["mean"] for row in stream("", 1)] == [10.0, 12.0, 5.0]
    late = "2024-01-01 09:40:00,a,0.0,X\n"
    rows = stream(late + "2024-01-01 10:20:00,a,16.0,X\n2024-01-01 12:00:00,b,1.0,X\n", 2)
    assert [(f"{row['ts']:%H:%M}", row["late"], row["mean"]) for row in rows] == [
        ("09:00", False, 10.0),
        ("09:30", False, 12.0),
        ("09:30", False, 5.0),
        ("09:40", True, None),
        ("10:15", False, 13.0),
        ("10:20", False, 14.0),
    ]


def test_parity_of_all_engines_in_a_process(tmp_path: Path) -> None:
    write(tmp_path, PIPELINE.replace("[sink]", '[stream]\nwatermark = "30m"\n[sink]'))
    done = slidefold(tmp_path, "parity", "pipeline.toml", "--master", "local[1]", "--json")
    assert done.code == 0, done.out + done.err
    verdicts = {each["engine"]: each for each in done.events if each["event"] == "parity"}
    assert {name: (each["same"], each["rows"]) for name, each in verdicts.items()} == {
        "live": (True, 4),
        "spark": (True, 4),
        "stream": (True, 3),
    }
