"""`slidefold lateness` and `slidefold audit`, for files and for what a service records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidefold as sf
from tests.cli.support import slidefold

FEATURES = """
[stream]
watermark = 10
[features]
on = "t"
by = "k"
[features.columns]
s = { operator = "sum", columns = "x", over = { time = 60 } }
"""
FILES = '[source]\npath = "events.parquet"\n' + FEATURES
SERVED = '[source]\nschema = { t = "int64", k = "string", x = "double" }\n' + FEATURES
EVENTS = pa.table(
    {
        "t": [0, 10, 50, 30, 90],
        "k": ["a"] * 5,
        "x": [1.0, 2.0, 4.0, 8.0, 16.0],
        "came": [0, 12, 51, 75, 91],
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files.toml").write_text(FILES)
    (tmp_path / "served.toml").write_text(SERVED)
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    (tmp_path / "records").mkdir()
    for number in (0, 1):
        part = EVENTS.slice(3 * number, 3)
        pq.write_table(part, tmp_path / "records" / f"events-{number}.parquet")
    return tmp_path


@pytest.mark.parametrize(
    "source",
    [["files.toml"], ["served.toml", "--events", "events.parquet"],
     ["served.toml", "--events", "records"]],
    ids=" ".join,
)  # fmt: skip
def test_lateness(folder: Path, source: list[str]) -> None:
    done = slidefold(folder, "lateness", *source, "--arrived", "came")
    assert done.code == 0, done.err
    assert "5 rows" in done.out
    told = slidefold(folder, "lateness", *source, "--json").events
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(60)))
    expected = definition.lateness(EVENTS).to_pylist()
    assert [row["late"] for row in told if row["event"] == "row"] == [
        row["late"] for row in expected
    ]


def test_lateness_of_wrong_input(folder: Path) -> None:
    for arguments, reason in (
        (["served.toml"], "served.toml names no files: name a Parquet file of events with"),
        (["files.toml", "--arrived", "come"], "no column 'come'; did you mean 'came'?"),
        (["files.toml", "--events", "no.parquet"], "'no.parquet' cannot be read: there is no such"),
        (["files.toml", "--events", "files.toml"], "the events in 'files.toml' cannot be read"),
        (["files.toml", "--events", "."], "has no files events-*.parquet"),
        (["no.toml"], "no.toml: the file does not exist"),
    ):
        done = slidefold(folder, "lateness", *arguments)
        assert done.code in (1, 2)
        assert reason in done.err
        assert "Traceback" not in done.err


def answered(folder: Path, **changes: Any) -> None:
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(60)))
    answers = definition.run(EVENTS, at=EVENTS.select(["t", "k"]), known="came")
    values = answers["s"].to_pylist()
    for place, value in changes.items():
        values[int(place[1:])] = value
    pq.write_table(answers.set_column(2, "s", pa.array(values)), folder / "answers.parquet")


def test_audit(folder: Path) -> None:
    given = ["served.toml", "--answers", "answers.parquet", "--events", "events.parquet"]
    given += ["--known", "came", "--asked", "t"]
    answered(folder)
    done = slidefold(folder, "audit", *given)
    assert (done.code, done.err) == (0, "")
    assert "5 values of 5 answers: all are right" in done.out
    answered(folder, _4=999.0)
    done = slidefold(folder, "audit", *given)
    assert done.code == 1
    assert "1 differ (1 unknown)" in done.out


def test_audit_of_wrong_input(folder: Path) -> None:
    answered(folder)
    for arguments, reason in (
        (["--answers", "no"], "the answers in 'no' cannot be read: there is no such file"),
        (["--answers", "records"], "has no files answers-*.parquet"),
        (["--answers", "events.parquet"], "the answers have none of the columns s"),
        (["--answers", "answers.parquet"], "the answers have no column 'log_position'"),
        (
            ["--answers", "answers.parquet", "--events", "records", "--asked", "t"],
            "no column 'log_position', which known= names",
        ),
    ):
        done = slidefold(folder, "audit", "served.toml", *arguments)
        assert done.code in (1, 2)
        assert reason in done.err
        assert "Traceback" not in done.err
