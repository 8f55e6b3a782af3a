"""Comparing results of engines, and the row that is shown where they differ."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.cli import parity
from slidefold.cli.comparing import Difference, compare, window_rows
from slidefold.cli.output import Output
from slidefold.cli.parity import Ran, split_late
from slidefold.errors import DataError
from slidefold.pipeline import load
from slidefold.pipeline.local import collect
from tests.cli.support import PIPELINE, slidefold, write

DUE = pa.table({"t": [1, 2, 2, 3], "k": ["a", None, "b", "a"], "s": [1.0, None, float("nan"), 1e9]})


def differ(found: pa.Table, due: pa.Table = DUE) -> str:
    return str(compare(due, found, ["t", "k"], ["s"], 1e-9))


def with_sums(values: list[float | None]) -> pa.Table:
    return DUE.set_column(2, "s", pa.array(values, pa.float64()))


def test_rows_are_compared_whatever_their_order_and_width() -> None:
    assert differ(DUE.take([3, 0, 2, 1])) == "None"
    narrow = DUE.set_column(0, "t", DUE["t"].cast(pa.int32()))
    assert differ(narrow.select(["s", "t", "k"])) == "None"
    assert differ(with_sums([1.0, None, float("nan"), 1e9 + 0.5])) == "None"  # 5e-10 of it


@pytest.mark.parametrize(
    ("sums", "said"),
    [
        ([1.0, None, float("nan"), 1e9 + 2], "s to be 1000000000.0, got 1000000002.0 at t=3"),
        ([1.0, 0.0, float("nan"), 1e9], "s to be None, got 0.0 at t=2, k=None"),
        ([1.0, None, None, 1e9], "s to be nan, got None at t=2, k='b'"),
        ([2.0 + 1, None, 5.0, 1e9], "s to be 1.0, got 3.0 at t=1, k='a'"),
    ],
)
def test_the_first_row_that_differs_is_told(sums: list[float | None], said: str) -> None:
    assert differ(with_sums(sums)).startswith(f"expected {said}")


def test_a_row_that_is_missing_or_too_many() -> None:
    missing = "expected the row to be 'present', got 'missing'"
    assert differ(DUE.slice(1)) == f"{missing} at t=1, k='a'"
    more = pa.concat_tables([DUE, DUE.slice(3)])
    assert differ(more) == "expected the row to be 'absent', got 'present' at t=3, k='a'"
    other = DUE.set_column(1, "k", pa.array(["a", None, "c", "a"]))
    assert differ(other) == f"{missing} at t=2, k='b'"


def test_lists_and_structs_are_compared() -> None:
    due = pa.table({"t": [1, 2], "s": [[1.0, 2.0], [3.0]]})
    near = pa.table({"t": [2, 1], "s": [[3.0 + 1e-12], [1.0, 2.0]]})
    assert compare(due, near, ["t"], ["s"], 1e-9) is None
    far = compare(due, pa.table({"t": [2, 1], "s": [[3.0], [2.0, 1.0]]}), ["t"], ["s"], 1e-9)
    assert far == Difference({"t": 1}, "s", [1.0, 2.0], [2.0, 1.0])


def test_types_that_do_not_go_together() -> None:
    wrong = pa.table({"t": [1], "k": ["a"], "s": ["one"]})
    with pytest.raises(DataError, match="the result types differ: "):
        differ(wrong)


def test_the_rows_of_a_window() -> None:
    table = pa.table({"t": [9, 1, 5, 5, 7], "k": ["a", "a", "a", "b", "a"], "x": [9, 1, 5, 55, 7]})
    definition = sf.rolling(
        on="t", by="k", s=sf.sum("x").over(sf.time(5)), n=sf.count().over(2, closed="left")
    )
    held = window_rows(definition, table, Difference({"t": 9, "k": "a", "x": 9}, "s", 21, 0))
    assert held["x"].to_pylist() == [5, 7, 9]
    held = window_rows(definition, table, Difference({"t": 9, "k": "a", "x": 9}, "n", 2, 0))
    assert held["x"].to_pylist() == [5, 7]
    sliding = sf.rolling(on="t", every=sf.time(4), s=sf.sum("x").over(sf.time(4)))
    row = {"window_start": 4, "window_end": 8}
    held = window_rows(sliding, table, Difference(row, "s", 67, 0))
    assert sorted(held["x"].to_pylist()) == [5, 7, 55]


def test_late_rows_are_taken_out_once_each() -> None:
    table = pa.table({"t": [5, 1, 1, 6]})
    found = pa.table({"t": [1, 5, 1, 6], "s": [1, 2, None, 3], "late": [False, False, True, False]})
    found = found.append_column("late_reason", pa.nulls(4, pa.string()))
    accepted, in_time = split_late(table, found)
    assert accepted["t"].to_pylist() == [5, 1, 6]
    assert in_time.to_pydict() == {"t": [1, 5, 6], "s": [1, 2, 3]}


def test_parity_in_a_process(tmp_path: Path) -> None:
    write(tmp_path, PIPELINE.replace("[sink]", '[stream]\nwatermark = "10m"\nbatch = 1\n[sink]'))
    trades = (tmp_path / "trades.csv").read_text().splitlines()
    trades.append("2024-01-01 08:00:00,a,99.0,X")  # later than ten minutes
    (tmp_path / "trades.csv").write_text("\n".join(trades) + "\n")
    done = slidefold(tmp_path, "parity", "pipeline.toml", "--engines", "live")
    said = (
        "live: the same 4 rows as the local batch run (4 emitted + 0 waiting + 1 late = 5 input "
        "rows)\n"
    )
    assert (done.code, done.out) == (0, said)
    done = slidefold(tmp_path, "parity", "pipeline.toml", "--engines", "life")
    assert (done.code, done.err) == (
        2,
        "expected an engine among live, spark, stream, got 'life'; did you mean 'live'?\n",
    )


def test_a_row_that_differs_is_shown_with_its_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = load(write(tmp_path), writes=False)
    out = Output()
    table = collect(pipeline, out)
    good = pipeline.features.run(table)
    wrong = good.set_column(4, "n_1h", pa.array([1, 2, 1, 3]))
    monkeypatch.setitem(parity._RUNS, "live", lambda *_: Ran(table, wrong))
    found = parity.compare_engines(pipeline, table, ["live"], 1e-9, "", out)
    assert found == {"live": False}
    first, title, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith(
        "live: expected n_1h to be 2, got 3 at ts=datetime.datetime(2024, 1, 1, 10"
    )
    assert title == "The rows of its window:"
    assert [row.split()[1] for row in rows[1:]] == ["09:30:00", "10:15:00"]


def test_rows_that_do_not_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = load(write(tmp_path), writes=False)
    out = Output()
    table = collect(pipeline, out)
    some = table.slice(0, 3)
    ran = Ran(some, pipeline.features.run(some), late=0, waiting=1)
    monkeypatch.setitem(parity._RUNS, "live", lambda *_: ran)
    found = parity.compare_engines(pipeline, table, ["live"], 1e-9, "", out)
    assert found == {"live": False}
    said = "live: expected 4 rows as in the input, got 2 emitted + 1 waiting + 0 late\n"
    assert capsys.readouterr().out == said


def test_parity_of_slides_in_a_process(tmp_path: Path) -> None:
    write(tmp_path, PIPELINE.replace('by = "symbol"', 'by = "symbol"\nevery = "30m"'))
    done = slidefold(tmp_path, "parity", "pipeline.toml", "--engines", "live")
    said = "live: the same 26 results as the local batch run (26 emitted + 0 waiting); "
    assert (done.code, done.out) == (0, said + "0 of 4 input rows were late\n")
