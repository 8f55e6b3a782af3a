"""Pipeline files on Spark: the same rows as in one process, streams that continue, parity."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

from slidefold.cli import parity
from slidefold.cli.output import Output
from slidefold.errors import DataError, SlidefoldError
from slidefold.pipeline import load, on_spark, run_pipeline, spark_stream
from slidefold.pipeline.local import collect
from slidefold.spark import startup
from tests.cli.support import PIPELINE, TRADES, environment, slidefold, write

pytestmark = pytest.mark.spark
INFERENCE = "spark.sql.streaming.schemaInference"
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
        with startup.readable():
            yield spark

    for module in (on_spark, spark_stream, parity):
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
    with pytest.raises(DataError, match=r"trades\.csv, line 3: column 3: expected float64, got"):
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


def test_any_format_of_spark_is_read_and_written(tmp_path: Path, in_session: Any) -> None:
    text = PIPELINE.replace('"trades.csv"', f'"{tmp_path}/orc"\nformat = "spark:orc"')
    text = text.replace('"out.parquet"', f'"{tmp_path}/out"\nformat = "spark:json"')
    write(tmp_path, text + "options = { ignoreNullFields = false }\n")
    trades = in_session.read.option("header", True).csv(str(tmp_path / "trades.csv"))
    typed = trades.selectExpr("timestamp(ts) ts", "symbol", "double(price) price", "venue")
    typed.write.orc(str(tmp_path / "orc"))
    file = tmp_path / "pipeline.toml"
    assert run_pipeline(file, engine="spark") is None
    found = in_session.read.json(str(tmp_path / "out")).toArrow().to_pylist()
    assert sorted(row["mean"] for row in found) == [5.0, 10.0, 12.0, 13.0]
    with pytest.raises(SlidefoldError, match="already exists"):
        run_pipeline(file, engine="spark")
    file.write_text(text.replace("spark:orc", "spark:kafkaa"))
    with pytest.raises(SlidefoldError, match="kafkaa"):
        run_pipeline(file, engine="spark")


def test_a_stream_replaces_the_results_of_any_format(tmp_path: Path, in_session: Any) -> None:
    text = PIPELINE.replace('"trades.csv"', '"days"\nformat = "csv"')
    text = text.replace("[sink]", STREAM + "[sink]")
    write(tmp_path, text.replace('"out.parquet"', '"out"\nformat = "spark:json"'))
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "1.csv").write_text(TRADES)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.json").write_text('{"mean": 0.0}\n')
    pipeline = load(tmp_path / "pipeline.toml", engine="spark", stream=True, overwrite=True)
    spark_stream.stream_spark(pipeline, Output(), True, "", follow=False)
    lines = [each.read_text().splitlines() for each in (tmp_path / "out").glob("*.json")]
    assert sorted(json.loads(line)["mean"] for each in lines for line in each) == [5.0, 10.0, 12.0]


def test_a_stream_shows_its_rows_and_keeps_broken_ones_aside(
    tmp_path: Path, in_session: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TYPED.replace('"trades.csv"', '"trades.csv"\nbad_rows = "side"\nside = "bad"')
    text = text.replace("[sink]", STREAM + "[sink]")
    write(tmp_path, text.replace('path = "out.parquet"', 'format = "console"\nlimit = 2'))
    (tmp_path / "trades.csv").write_text(TRADES.replace("14.0", "n/a"))
    pipeline = load(tmp_path / "pipeline.toml", engine="spark", stream=True)
    out = Output(as_json=True)
    assert spark_stream.stream_spark(pipeline, out, False, "", follow=False) is None
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["mean"] for each in events if each["event"] == "row"} == {10.0, 5.0}
    assert (events[-1]["rows_in"], events[-1]["bad_rows"]) == (3, 1)
    (kept,) = in_session.read.json(str(tmp_path / "bad")).collect()
    assert (kept["line"], kept["text"]) == (3, "2024-01-01 09:30:00,a,n/a,Y")
    # A second run goes on: nothing is shown or kept twice.
    spark_stream.stream_spark(pipeline, out, False, "", follow=False)
    assert '"row"' not in capsys.readouterr().out
    assert in_session.read.json(str(tmp_path / "bad")).count() == 1


@pytest.mark.exhaustive  # a minute, most of which two processes take to start Spark
def test_a_stream_that_follows_is_stopped_and_goes_on(tmp_path: Path) -> None:
    text = PIPELINE.replace('"trades.csv"', '"days"\nformat = "csv"')
    write(tmp_path, text.replace("[sink]", STREAM + "[sink]"))
    days = tmp_path / "days"
    days.mkdir()
    (days / "1.csv").write_text(TRADES)
    options = ("--engine", "spark", "--stream", "--json", "--master", "local[1]")
    command = [sys.executable, "-m", "slidefold.cli", "run", "pipeline.toml", *options, "--follow"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        said = process.stdout
        assert said is not None
        events: list[dict[str, Any]] = []

        def until(rows: int) -> None:
            assert said is not None
            for line in said:
                events.append(json.loads(line))
                if sum(each.get("rows_in", 0) for each in events) >= rows:
                    return

        def add(name: str, line: str) -> None:
            (tmp_path / "part").write_text(f"{TRADES.splitlines()[0]}\n{line}\n")
            (tmp_path / "part").rename(days / name)

        until(4)
        add("2.csv", "2024-01-01 12:00:00,b,1.0,X")
        until(5)
        process.send_signal(signal.SIGINT)
        events += map(json.loads, said)
    assert (process.returncode, events[-1]["event"]) == (130, "error"), events
    assert (
        events[-1]["message"]
        == "stopped: the results so far are complete, and the next run resumes"
    )
    # What the second file made due may have been stopped: it comes with the next rows.
    add("3.csv", "2024-01-01 13:00:00,b,1.0,X")
    done = slidefold(tmp_path, "run", "pipeline.toml", *options)
    assert done.code == 0, done.out + done.err
    written = {json.loads(line)["path"] for line in committed(tmp_path / "out.parquet")}
    rows = [
        row
        for path in written
        for row in pyarrow.parquet.read_table(path.removeprefix("file://")).to_pylist()
    ]
    assert sorted(row["mean"] for row in rows) == [1.0, 5.0, 10.0, 12.0, 13.0]


def committed(sink: Path) -> list[str]:
    """What Spark says of the files of a stream's sink, a line each."""
    batches = [each for each in (sink / "_spark_metadata").iterdir() if each.name.isdigit()]
    return [line for each in batches for line in each.read_text().splitlines()[1:]]


COUNTS = ("emitted", "waiting", "late", "given")


@pytest.mark.exhaustive  # a process of its own, with a Spark of its own
def test_parity_of_all_engines_in_a_process(tmp_path: Path) -> None:
    write(tmp_path, PIPELINE.replace("[sink]", '[stream]\nwatermark = "30m"\n[sink]'))
    done = slidefold(tmp_path, "parity", "pipeline.toml", "--master", "local[1]", "--json")
    assert done.code == 0, done.out + done.err
    verdicts = {each["engine"]: each for each in done.events if each["event"] == "parity"}
    told = {name: tuple(each[n] for n in COUNTS) for name, each in verdicts.items()}
    assert told == {"live": (4, 0, 0, 4), "spark": (4, 0, 0, 4), "stream": (3, 1, 0, 4)}
    assert all(each["same"] and each["rows"] == 4 for each in verdicts.values())


@pytest.mark.parametrize(
    ("watermark", "every", "counts"),
    [
        ("30m", "", {"live": (4, 0, 0, 4), "spark": (4, 0, 0, 4), "stream": (3, 1, 0, 4)}),
        # Nothing is final: all rows are compared still.
        pytest.param("30d", "", {"stream": (0, 4, 0, 4)}, marks=pytest.mark.exhaustive),
        # One row has the time of another, and so is late.
        pytest.param("0s", "", {"stream": (3, 0, 1, 4)}, marks=pytest.mark.exhaustive),
        ("30m", 'every = "30m"\n', {"stream": (1, 25, 0, 4)}),  # by 9:45 one window has ended
    ],
)
def test_parity_compares_the_rows_that_wait(
    tmp_path: Path,
    in_session: Any,
    capsys: pytest.CaptureFixture[str],
    watermark: str,
    every: str,
    counts: dict[str, tuple[int, ...]],
) -> None:
    text = PIPELINE.replace("[sink]", f'[stream]\nwatermark = "{watermark}"\n[sink]')
    file = write(tmp_path, text.replace("[features.columns]", f"{every}[features.columns]"))
    pipeline, out = load(file, writes=False), Output(as_json=True)
    table = collect(pipeline, out)
    same = parity.compare_engines(pipeline, table, list(counts), 1e-9, "", out)
    assert same == dict.fromkeys(counts, True)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    verdicts = {each["engine"]: each for each in events if each["event"] == "parity"}
    assert {name: tuple(each[n] for n in COUNTS) for name, each in verdicts.items()} == counts


@pytest.mark.parametrize(
    ("format", "stream"),
    [
        pytest.param("csv", False, marks=pytest.mark.exhaustive),
        ("csv", True),
        ("parquet", False),
        pytest.param("parquet", True, marks=pytest.mark.exhaustive),
        pytest.param("spark:parquet", False, marks=pytest.mark.exhaustive),
        ("spark:parquet", True),
    ],
)
def test_rows_without_a_time_are_broken_on_spark_too(
    tmp_path: Path, in_session: Any, format: str, stream: bool
) -> None:
    in_session.conf.set(INFERENCE, "true")  # of streams, which otherwise want a schema
    (tmp_path / "in[1]").mkdir()  # no pattern for anything but Spark
    lines = TRADES.splitlines()
    text = "\n".join([*lines[:3], ",b,7.0,X", *lines[3:]]) + "\n"
    if format == "csv":
        (tmp_path / "in[1]" / "rows[1].csv").write_text(text)
        (tmp_path / "in1").mkdir()
        (tmp_path / "in1" / "rows1.csv").write_text("something else")
        place = "in[1]/rows[1].csv"
    else:
        table = pyarrow.csv.read_csv(io.BytesIO(text.encode()))
        place = "in[1]" if format == "parquet" else "in"
        (tmp_path / "in").mkdir()
        pyarrow.parquet.write_table(table, tmp_path / place / "rows.parquet")
    told = f'"{place}"\nformat = "{format}"\nbad_rows = "side"\nside = "bad.jsonl"'
    file = write(
        tmp_path, PIPELINE.replace('"trades.csv"', told).replace("[sink]", STREAM + "[sink]")
    )
    run_pipeline(file, engine="spark", stream=stream)
    in_session.conf.unset(INFERENCE)
    found = in_session.read.parquet(str(tmp_path / "out.parquet")).toArrow().to_pylist()
    due = [10.0, 12.0, 5.0] if stream else [10.0, 12.0, 5.0, 13.0]
    rows = sorted(found, key=lambda row: (row["ts"], row["symbol"]))
    assert [row["mean"] for row in rows] == due
    side = tmp_path / "bad.jsonl"
    parts = sorted(side.glob("part-*")) if stream else [side]
    (bad,) = [json.loads(line) for part in parts for line in part.read_text().splitlines()]
    assert bad["reason"] == "the column 'ts' is null"
    assert bad["line"] == (4 if format == "csv" else None)
    assert bad["file"].startswith(f"{tmp_path}/in")
    assert "7.0" in bad["text"]
