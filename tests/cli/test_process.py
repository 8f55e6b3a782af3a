"""The command line as users meet it: real processes, their output, files and exit codes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent

import pyarrow.parquet
import pytest
import typer

from slidefold.cli.guard import STOPPED, guarded
from slidefold.cli.output import Output
from slidefold.definition.files import _COLUMN_KEYS, _FORMULA_KEYS, _KEYS, read
from slidefold.pipeline.settings import read_sink, read_source, read_stream
from slidefold.pipeline.tables import Mistakes, Table
from tests.cli.support import PIPELINE, ROOT, TRADES, environment, from_scratch, slidefold, write

SLOW = """
import pathlib, time
import slidefold as sf

@sf.operator
class Slow:
    @staticmethod
    def lift(value):
        pathlib.Path("started").touch()
        time.sleep(60)
        return value
    combine = staticmethod(lambda older, newer: newer)
    lower = staticmethod(lambda state: state)

@sf.operator
class Difference:
    lift = staticmethod(lambda value: value)
    combine = staticmethod(lambda older, newer: older - newer)
    lower = staticmethod(lambda state: state)
"""


def test_a_run_from_csv_to_parquet(tmp_path: Path) -> None:
    write(tmp_path)
    done = from_scratch(tmp_path, "run", "pipeline.toml")
    assert (done.code, done.err) == (0, "read 4 rows from 1 file\n")
    assert done.out.startswith("4 rows in, 4 rows out to out.parquet, ")
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    # By hand: the window of 10:15 holds (9:15, 10:15], so two trades of a at 14 and 12.
    assert table.column_names == ["ts", "symbol", "price", "venue", "n_1h", "n_6h", "mean"]
    assert table["n_1h"].to_pylist() == [1, 2, 1, 2]
    assert table["n_6h"].to_pylist() == [1, 2, 1, 3]
    assert table["mean"].to_pylist() == [10.0, 12.0, 5.0, 13.0]
    again = slidefold(tmp_path, "run", "pipeline.toml")
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("pipeline.toml: sink.path: 'out.parquet' already exists: remove it")


def test_a_run_that_says_everything_as_json(tmp_path: Path) -> None:
    text = PIPELINE.replace('"trades.csv"', '"t.csv"\nbad_rows = "side"\nside = "bad.jsonl"')
    text = text.replace("[features]", 'columns = { price = "float64" }\n[features]')
    text = text.replace('path = "out.parquet"', 'format = "console"\nlimit = 1')
    write(tmp_path, text, t_csv=TRADES.replace("14.0", "n/a"))
    done = slidefold(tmp_path, "run", "pipeline.toml", "--json")
    assert (done.code, done.err) == (0, "")
    read, row, more, end = done.events
    assert read == {"event": "read", "rows": 3, "files": 1, "bad_rows": 1}
    assert (row["event"], row["symbol"], row["n_1h"], row["mean"]) == ("row", "a", 1, 10.0)
    assert more == {"event": "more", "rows": 2}
    assert (end["event"], end["rows_in"], end["rows_out"], end["bad_rows"]) == ("done", 3, 3, 1)
    bad = (tmp_path / "bad.jsonl").read_text()
    assert '"line": 3, "reason": "column 3: expected float64, got \'n/a\'"' in bad


def test_a_broken_row_fails_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    text = PIPELINE.replace("[features]", 'columns = { price = "float64" }\n[features]')
    write(tmp_path, text)
    (tmp_path / "trades.csv").write_text(TRADES.replace("14.0", "n/a"))
    done = slidefold(tmp_path, "run", "pipeline.toml")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("trades.csv, line 3: column 3: expected float64, got 'n/a' (to ")
    assert {each.name for each in tmp_path.iterdir()} == {"pipeline.toml", "trades.csv"}


def test_every_mistake_is_an_object_with_its_file_and_key(tmp_path: Path) -> None:
    write(tmp_path, PIPELINE.replace("count", "cuont").replace('"symbol"', '"symbl"'))
    done = slidefold(tmp_path, "explain", "pipeline.toml", "--json")
    assert done.code == 2
    (error,) = done.events
    assert [(each["file"], each["key"]) for each in error["mistakes"]] == [
        ("pipeline.toml", "features.columns.n.operator")
    ]


def test_explain_checks_and_runs_nothing(tmp_path: Path) -> None:
    write(tmp_path, out_parquet="")
    done = slidefold(tmp_path, "explain", "pipeline.toml")
    assert (done.code, done.err) == (0, "")
    assert (
        "mean: sf.mean('price') of double over sf.time('1h')\n  algorithm: two_stacks_lite"
        in done.out
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    text = PIPELINE.replace('"mean", columns', '"slow:Slow", columns')
    text = text.replace('"trades.csv"', '"trades.csv"\nbad_rows = "side"\nside = "bad.jsonl"')
    write(tmp_path, text, slow_py=SLOW)
    command = [sys.executable, "-m", "slidefold.cli", "run", "pipeline.toml"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
    )
    with process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err.splitlines()[-1]) == (130, "stopped: nothing was written")
    left = {each.name for each in tmp_path.iterdir()} - {"__pycache__"}
    assert left == {"pipeline.toml", "trades.csv", "slow.py", "started"}


def test_check_finds_the_law_that_is_broken(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(SLOW)
    done = slidefold(tmp_path, "check", "ops:Difference", "--samples", "[0, 1, 2]")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Difference is not associative: combine(combine(a, b), c) != ")
    done = slidefold(tmp_path, "check", "max_by", "--json")
    assert done.code == 0
    assert "combine is associative" in done.events[0]["laws"]


def test_wrong_use_is_one_sentence_and_code_2(tmp_path: Path) -> None:
    said = {
        ("check", "no.such:Op"): "'no.such:Op' cannot be imported: No module named 'no'",
        (
            "check",
            "ops:x",
        ): "'ops:x' is not an operator: decorate its class with @slidefold.operator",
        ("check", "maxx"): "there is no operator 'maxx'; did you mean 'max'?",
        (
            "check",
            "max",
            "--samples",
            "1",
        ): "--samples must be a JSON list of at least one value, got 1",
        ("run", "none.toml"): "none.toml: the file does not exist",
    }
    (tmp_path / "ops.py").write_text("x = 1")
    for arguments, sentence in said.items():
        done = slidefold(tmp_path, *arguments)
        assert (done.code, done.out, done.err.replace("\n", " ").strip()) == (2, "", sentence)


def test_bench_measures_every_algorithm(tmp_path: Path) -> None:
    done = slidefold(tmp_path, "bench", "max", "--window", "8", "--rows", "200", "--json")
    assert done.code == 0
    rows = {row["algorithm"]: row for row in done.events}
    # Recalculating combines all but one of the rows; the deque of a max less than twice a step.
    assert rows["recalc"]["combines a step"] == 7
    assert 0 < rows["slick_deque"]["combines a step"] < 2
    assert rows["subtract_on_evict"]["combines a step"] is None


def test_help_teaches_and_names_every_command(tmp_path: Path) -> None:
    done = slidefold(tmp_path, "--help")
    assert done.code == 0
    for word in ("run", "explain", "check", "bench", "Exit codes: 0 success"):
        assert word in done.out
    shown = slidefold(tmp_path, "run", "--help").out
    assert "[features.columns]" in shown


def test_the_entry_point_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["slidefold"].partition(":")
    assert callable(getattr(import_module(module), name))


def test_the_version(tmp_path: Path) -> None:
    done = from_scratch(tmp_path, "--version")
    assert (done.code, done.out, done.err) == (0, f"slidefold {version('slidefold')}\n", "")


@pytest.mark.parametrize("command", ["run", "explain", "parity", "check", "bench", "demo"])
def test_help_names_only_options_that_exist(tmp_path: Path, command: str) -> None:
    done = slidefold(tmp_path, command, "--help", COLUMNS="200", TERM="dumb")
    assert done.code == 0
    listed = {
        each for line in done.out.splitlines() for each in re.findall(r"^│ +(--[a-z-]+)", line)
    }
    listed |= {"--no-spark"} if command == "demo" else set()
    assert {*re.findall(r"--[a-z][a-z-]*", done.out)} <= listed


@pytest.mark.parametrize("operator", ["quantile", "median", "max", "bit_or"])
def test_bench_measures_something(tmp_path: Path, operator: str) -> None:
    done = slidefold(tmp_path, "bench", operator, "--window", "10", "--rows", "100", "--json")
    assert (done.code, done.err) == (0, "")
    assert any(event["ns a row"] for event in done.events)


@pytest.mark.parametrize("operator", ["covariance", "histogram", "concat"])
def test_bench_refuses_what_it_cannot_measure(tmp_path: Path, operator: str) -> None:
    done = slidefold(tmp_path, "bench", operator)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("bench expects an operator that takes one numeric column")


def test_the_help_of_run_has_every_key(tmp_path: Path) -> None:
    text = import_module("slidefold.cli.run").run.__doc__
    file = dedent(text[text.index("        [source]") : text.index("    On Spark, `format")])
    told = tomllib.loads(file)
    columns = told["features"].pop("columns")
    assert {*told["features"], "columns"} == {*_KEYS}
    keys = {key for column in columns.values() for key in column}
    assert keys == {*_COLUMN_KEYS, *_FORMULA_KEYS, "q"} - {"params"}
    overs = [column.get("over") for column in columns.values()]
    windows = [over for over in overs if isinstance(over, dict)]
    assert [next(iter(window)) for window in windows] == ["session", "delta", "punctuated", "time"]
    said, mistakes = read({"on": "ts", "columns": columns})
    assert [str(error) for _, error in mistakes] == [
        "the column 'own' has the operator 'my.module:Name', which cannot be imported: "
        "No module named 'my'"
    ]
    assert len(said["columns"]) == len(columns)  # one cannot be imported, one is two
    noted = Mistakes(tmp_path / "p.toml")
    for name, reads in (("source", read_source), ("sink", read_sink)):
        table = Table(noted, name, told[name])
        reads(table, tmp_path, "local")
        assert {*table.known} - {"options", "schema"} == {*told[name]}
    table = Table(noted, "stream", told["stream"])
    read_stream(table, tmp_path, "local", True)
    assert {*table.known} == {*told["stream"]}
    assert [key for key, _ in noted.found] == ["source.path", "stream.id"]  # no file; for revise
    done = slidefold(tmp_path, "run", "--help", COLUMNS="80")
    for line in file.splitlines():
        assert line.split("#")[0].strip() in done.out, line


def test_a_signal_in_a_destructor_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    """Python ignores errors there, so that the command would go on for ever."""

    class Stopped:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def work() -> None:
        with guarded(Output(False)):
            Stopped()
            time.sleep(10)

    with pytest.raises(typer.Exit) as error:
        work()
    assert error.value.exit_code == STOPPED
    assert "stopped" in capsys.readouterr().err
