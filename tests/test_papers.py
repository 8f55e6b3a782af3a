"""The papers' figures: they run, go on where they stopped, judge numbers right; data loads.

Nothing here looks at how fast anything is.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import harness
from benchmarks.papers import FIGURES, data, record, report, spark
from benchmarks.papers.__main__ import chosen_figures, main, run
from benchmarks.papers.bulk.fig15 import histogram, window_steps
from benchmarks.papers.daba.fig12 import evictions
from benchmarks.papers.data import DataError, files, generators, manufacturing, trips
from benchmarks.papers.data.events import Events
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series, Size
from tests.support.browser import browser, needs_browser

SMOKE = Context("smoke")


# ---- the run ------------------------------------------------------------------------------------


def counting(calls: list[str], fails_at: str | None = None) -> Figure:
    def cell(name: str) -> Cell:
        def measure() -> list[dict[str, Any]]:
            if name == fails_at:
                raise KeyboardInterrupt
            calls.append(name)
            return [{"side": side, "ns": 1.0} for side in "ab"]

        return Cell({"n": name}, measure)

    return Figure(
        "test.fig1",
        "A figure",
        "It grows.",
        lambda _: [cell(name) for name in ("x", "y", "z")],
        lambda rows: [Claim("it grows", len(rows) == 6, f"{len(rows)} rows")],
        lambda rows: [Chart("t", "x", "y", [Series("a", [1], [2.0])])],
    )


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    calls: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run([counting(calls, fails_at="z")], SMOKE, tmp_path)
    assert calls == ["x", "y"]
    path = tmp_path / "test.fig1.jsonl"
    # The last line is torn: the cell that it belongs to is measured again.
    path.write_text(path.read_text()[:-10])
    run([counting(calls)], SMOKE, tmp_path)
    assert calls == ["x", "y", "y", "z"]
    header, rows = record.load("test.fig1", tmp_path)
    assert header is not None
    assert header["size"] == "smoke"
    assert {"commit", "machine", "date", "load", "versions"} <= set(header)
    assert [(row["n"], row["side"]) for row in rows] == [(n, s) for n in "xyz" for s in "ab"]
    for line in path.read_text().splitlines():
        json.loads(line)
    run([counting(calls)], Context("quick"), tmp_path)  # another size begins anew
    assert calls[4:] == ["x", "y", "z"]


def test_verdicts_come_from_the_claims(tmp_path: Path) -> None:
    figure = counting([])
    assert report.judged(figure, SMOKE, tmp_path).verdict == "not run: no measurements"
    run([figure], SMOKE, tmp_path)
    assert report.judged(figure, SMOKE, tmp_path).verdict == "same shape"
    path = tmp_path / "test.fig1.jsonl"
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([header, *lines[:-2]]) + "\n")
    found = report.judged(figure, SMOKE, tmp_path)
    assert found.verdict == "not run: only 2 of 3 cells are measured"
    path.write_text("\n".join([header.replace('"cells": 3', '"cells": 2'), *lines[:-2]]) + "\n")
    found = report.judged(figure, SMOKE, tmp_path)
    assert found.verdict == "different, because it is not true here that it grows (4 rows)"


def test_a_run_in_parts_across_commits_gives_one_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = {"commit": "1" * 40, "code": "c" * 40, "modified": False}
    monkeypatch.setattr(harness, "commit", lambda: code)
    first = ["--only", "bulk.fig15", "--quick", "--out", str(tmp_path)]
    assert main(first) == 0
    before = (tmp_path / "bulk.fig15.jsonl").read_text()
    code["commit"] = "2" * 40  # the results were committed, the code is the same
    assert main(["--only", "pba.fig5", "--quick", "--out", str(tmp_path)]) == 0
    assert main(first) == 0
    assert (tmp_path / "bulk.fig15.jsonl").read_text() == before
    page = (tmp_path / "report.html").read_text()
    assert "Code of commit cccccccccc. " in page
    assert page.count("code of commit cccccccccc, load average") == 2
    code["code"] = "d" * 40  # now the code differs: the figure is measured again
    assert main(first) == 0
    assert (tmp_path / "bulk.fig15.jsonl").read_text() != before
    page = (tmp_path / "report.html").read_text()
    assert "Code of commit dddddddddd, cccccccccc. " in page


@needs_browser
def test_the_report_opens_in_a_browser(tmp_path: Path) -> None:
    figure = counting([])
    run([figure], SMOKE, tmp_path)
    address = report.write([report.judged(figure, SMOKE, tmp_path)], tmp_path).as_uri()
    with browser(tmp_path) as page:
        for width, dark in ((1400, False), (400, True)):
            page.size(width, 900, dark=dark)
            page.open(address)
            page.wait("document.readyState == 'complete' && window.Plotly")
            page.wait("document.querySelectorAll('.chart .scatterlayer .point').length == 1")
            assert not page.overflows
        assert page.errors == []
        assert set(page.requests) == {address}


def test_a_finding_for_several_operators_is_told_once() -> None:
    claims = [Claim("it is flat", False, f"{n}x", about=name) for n, name in enumerate("ab")]
    assert report.grouped(claims) == [("it is flat", "a: 0x; b: 1x")]


APART = ("bulk.fig10", "bulk.billion", "reactive.fig12")  # start processes of their own
ON_SPARK = [name for name, figure in FIGURES.items() if figure.missing is spark.missing]
FAST = [name for name in FIGURES if name not in (*APART, *ON_SPARK)]


def test_the_quick_run_leaves_spark_out(tmp_path: Path) -> None:
    assert ON_SPARK == ["fiba.fig16", "fiba.fig17", "fiba.fig18", "bulk.fig17", "pba.fig8"]
    found = report.judged(FIGURES["pba.fig8"], Context("quick"), tmp_path)
    assert found.verdict.startswith("not run: the quick run leaves Spark out")


@pytest.mark.parametrize("size", ["smoke", "quick", "default", "full"])
def test_the_windows_of_spark_itself_are_full(size: Size) -> None:
    n = spark.WINDOW[size]
    rows = spark.bearable(Context(size), n, window=n)
    assert rows >= 3 * n * spark.KEYS


@pytest.mark.parametrize("arguments", [["--only", "daba.fig9"], ["--only", "daba"]])
def test_an_interrupt_is_one_sentence(
    tmp_path: Path,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(record, "measure", interrupted)
    assert main([*arguments, "--quick", "--out", str(tmp_path)]) == 130
    assert "the same command goes on where it stopped" in capsys.readouterr().err


def test_only_the_full_run_plans_thousands_of_copies_per_row() -> None:
    assert not spark.plannable(Context("default"), 2**13)
    assert spark.plannable(Context("default"), 2**7)
    assert spark.plannable(Context("full"), 2**13)


def test_a_wrong_data_file_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "debs2012.txt", "1,2,3\n")
    words = ["--only", "daba.fig12", "--quick", "--data", str(tmp_path), "--out", str(tmp_path)]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "error: debs2012.txt: expected at least 12 fields" in error
    assert "Traceback" not in error


def test_the_billion_is_refused_where_memory_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "available_memory", lambda: 8_000_000_000)
    assert main(["--only", "bulk.billion", "--full", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "not run: it needs 22.6 GB of memory, and 8.0 GB are available" in out
    monkeypatch.setattr(harness, "available_memory", lambda: 64_000_000_000)
    assert FIGURES["bulk.billion"].missing(Context("full", named=True)) is None
    assert "only with --only" in (FIGURES["bulk.billion"].missing(Context("full")) or "")


def test_the_available_memory_is_known() -> None:
    found = harness.available_memory()
    assert found is None or 0 < found < 2**50


@pytest.mark.slow
def test_every_figure_runs_and_is_in_the_report(tmp_path: Path) -> None:
    figures = [FIGURES[name] for name in FAST if FIGURES[name].missing(SMOKE) is None]
    run(figures, SMOKE, tmp_path)
    results = [report.judged(figure, SMOKE, tmp_path) for figure in figures]
    for result in results:
        assert result.rows, result.figure.name
        assert result.claims, result.figure.name
        assert result.figure.charts(result.rows), result.figure.name
    path = report.write(results, tmp_path)
    text = path.read_text()
    for name in (result.figure.name for result in results):
        assert f'id="{name}"' in text
    # Only the page itself counts, not the inlined library.
    page = text[: text.index("<script>")]
    assert "http" not in page
    assert "generated data of the same shape" in page


def test_names_select_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert [figure.name for figure in chosen_figures(["fiba.fig15"])] == ["fiba.fig15"]
    assert "bulk.billion" not in [figure.name for figure in chosen_figures([])]
    with pytest.raises(SystemExit):
        main(["--only", "daba.fig99"])
    assert "expected a figure among daba.fig9" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--data", "/nowhere"])
    assert "--data must be a folder" in capsys.readouterr().err


# ---- data ---------------------------------------------------------------------------------------


def write(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def machine_line(second: float, value: int) -> str:
    time = f"2012-02-22T16:46:{second:010.7f}+00:00"
    return "\t".join([time, "7", str(value), *["0"] * 60])


@pytest.mark.parametrize("name", ["debs2012.txt", "debs2012.txt.gz"])
def test_debs_2012(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "LEAST", 1)
    lines = [machine_line(s, v) for s, v in ((28.967032, 5), (28.977, 6), (28.96, 7), (29.0, 8))]
    write(tmp_path / name, "\n".join(lines) + "\n")
    events = manufacturing(Context("smoke", tmp_path), 100)
    assert events.values.tolist() == [5.0, 6.0, 8.0], "a row out of order is left out"
    assert np.diff(events.times).tolist() == [9_968, 23_000]
    assert events.source == f"data: {name}"
    assert len(files.debs_2012([tmp_path / name], 2)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3\n", "expected at least 12 fields separated by tabs"),
        ("\t".join(["yesterday", *["1"] * 20]) + "\n", "expected times such as 2012-02-22T16"),
        (machine_line(1.0, 1).replace("\t1\t", "\tmany\t", 1) + "\n", "must hold numbers"),
        ("", "cannot be read as a table"),
        (
            machine_line(1.0, 1) + "\n" + machine_line(2.0, 1).replace("\t1\t", "\t\t", 1) + "\n",
            "mf01, the third field, is empty in row 2",
        ),
        ("\x80\ta\nb\n", "cannot be read as a table"),
    ],
)
def test_a_wrong_debs_2012_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "debs2012.txt", text)
    with pytest.raises(DataError, match=message) as refused:
        files.debs_2012([path], 10)
    assert "debs2012.txt" in str(refused.value)


def test_debs_2014(tmp_path: Path) -> None:
    lines = ["1,100,5.5,0,1,0,0", "2,100,7.25,1,1,0,0", "3,101,8,1,2,0,3", "4,102,9,1,1,0,0"]
    path = write(tmp_path / "debs2014.csv", "\n".join(lines) + "\n")
    events = files.debs_2014([path], 2)
    assert events.values.tolist() == [7.25, 8.0], "work is left out"
    assert events.times.tolist() == [100_000_000, 101_000_000]
    assert events.keys[0] != events.keys[1]
    write(path, lines[0] + "\n")
    with pytest.raises(DataError, match=r"debs2014.csv has no loads"):
        files.debs_2014([path], 2)
    write(path, "1,100,5.5,0,1\n")
    with pytest.raises(DataError, match=r"expected the fields id, timestamp, .* got 5 fields"):
        files.debs_2014([path], 2)


OLD = '"tripduration","starttime","stoptime","start station id","bikeid"\n'
NEW = "ride_id,rideable_type,started_at,ended_at,start_station_name,start_station_id\n"


def test_citi_bike_of_2018_and_newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "LEAST", 1)
    write(
        tmp_path / "201808-citibike.csv",
        OLD
        + '61,"2018-08-01 00:00:07.3210","2018-08-01 00:01:08.3210",3162,1\n'
        + '90,"2018-08-01 00:00:05.0000","2018-08-01 00:01:35.0000",3260,1\n',
    )
    write(
        tmp_path / "202401-citibike.csv",
        NEW
        + "a,bike,2024-01-01 00:00:01,2024-01-01 00:00:31,Here,5329.03\n"
        + "b,bike,2024-01-01 00:00:02,2024-01-01 00:00:32,,\n"
        + "c,bike,2024-01-01 00:00:03,2024-01-01 00:00:33,There,3260\n",
    )
    events = trips(Context("smoke", tmp_path), 100)
    assert events.values.tolist() == [61.0, 90.0, 30.0, 30.0, 30.0]
    assert events.times[0] - events.times[1] == 2_321_000
    assert events.keys.tolist() == [0, 1, 2, 3, 1], "a station has one number in all files"
    bad = write(tmp_path / "bad-citibike.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match=r"expected a header with starttime, .* got a, b"):
        files.citi_bike([bad], 10)
    hole = write(tmp_path / "hole-citibike.csv", OLD + '61,,"2018-08-01 00:01:08.3210",3162,1\n')
    with pytest.raises(DataError, match=r"hole-citibike.csv: starttime is empty in row 1"):
        files.citi_bike([hole], 10)
    with pytest.raises(DataError, match=r"is a zip archive; unpack it"):
        files.citi_bike([write(tmp_path / "citibike.csv.zip", "PK")], 10)
    empty = write(tmp_path / "empty-citibike.csv", OLD)
    with pytest.raises(DataError, match="has no rows"):
        files.citi_bike([empty], 10)


def test_odd_files_are_refused(tmp_path: Path) -> None:
    twice = OLD.replace("bikeid", "starttime")
    line = '61,"2018-08-01 00:00:07","2018-08-01 00:01:08",3162,"2018-08-01 00:00:07"\n'
    latin = tmp_path / "latin-citibike.csv"
    latin.write_bytes((OLD + line.replace("3162", "M\u00fcller")).encode("latin-1"))
    for path, message in (
        (write(tmp_path / "twice-citibike.csv", twice + line), "has starttime more than once"),
        (latin, "latin-citibike.csv cannot be read"),
        (write(tmp_path / "two-citibike.csv", OLD + line + OLD + line), "expected times such as"),
        (write(tmp_path / "cut-citibike.csv", OLD + line + line[:9]), "cannot be read as a table"),
    ):
        with pytest.raises(DataError, match=message):
            files.citi_bike([path], 10)
    far = write(tmp_path / "debs2014.csv", "1,99999999999999999,5.5,1,1,0,0\n")
    with pytest.raises(DataError, match="expected timestamps in seconds since 1970"):
        files.debs_2014([far], 10)
    cut = tmp_path / "debs2012.txt.gz"
    cut.write_bytes(gzip.compress((machine_line(1.0, 1) + "\n").encode())[:-20])
    with pytest.raises(DataError, match=r"debs2012\.txt\.gz cannot be read"):
        files.debs_2012([cut], 10)


def test_only_files_that_were_read_are_named(tmp_path: Path) -> None:
    line = '61,"2018-08-01 00:00:07","2018-08-01 00:01:08",3162,1\n'
    paths = [write(tmp_path / f"{name}-citibike.csv", OLD + line) for name in "ab"]
    assert files.citi_bike(paths, 1).source == "data: a-citibike.csv"


def test_a_folder_is_checked_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--only", "reactive.table4", "--quick", "--data", str(tmp_path), "--out"]
    assert main([*words, str(tmp_path / "out")]) == 2
    assert "has no file named debs2012*.txt*, *citibike*.csv*" in capsys.readouterr().err
    write(tmp_path / "debs2014.csv", "1,2,3\n")
    assert main([*words, str(tmp_path / "out")]) == 2
    assert "error: debs2014.csv: expected the fields id" in capsys.readouterr().err
    assert not (tmp_path / "out").exists(), "nothing is measured"


def test_too_few_rows_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [machine_line(second, 5) for second in range(3)]
    write(tmp_path / "debs2012.txt", "\n".join(lines) + "\n")
    words = ["--only", "daba.fig12", "--quick", "--data", str(tmp_path), "--out", str(tmp_path)]
    assert main(words) == 2
    assert "error: debs2012.txt: expected at least 100 rows, got 3" in capsys.readouterr().err


def test_generated_trips_have_the_disorder_of_the_paper() -> None:
    events = generators.trips(400_000)
    late = events.distances()
    assert np.percentile(late, 99) <= 9
    assert late.max() > 0.02 * len(events), "150,000 of 8 M"
    # The bursts scale with the number of events: with all 8 M the mean is about 56.
    bursts = late[late > 1_000].sum() / len(events)
    assert 40 <= bursts * 8_000_000 / len(events) <= 75


def test_distances_and_window_steps_match_a_loop() -> None:
    random = np.random.default_rng(4)
    times = np.arange(300) * 3 - random.integers(0, 40, 300) * (random.random(300) < 0.3)
    events = Events(times, times * 1.0, times, "")
    expected = [sum(1 for other in times[:i] if other > times[i]) for i in range(300)]
    assert events.distances().tolist() == expected
    sizes, gone = window_steps(times, 50)
    held: list[int] = []
    for row, time in enumerate(times.tolist()):
        held.append(time)
        newest = max(times[: row + 1])
        kept = [t for t in held if t > newest - 50]
        assert gone[row] == len(held) - len(kept)
        assert sizes[row] == len(kept)
        held = kept
    edges, counts = histogram(np.array([0, 1, 2, 3, 9]))
    assert dict(zip(edges, counts, strict=True)) == {0: 1, 1: 1, 2: 2, 4: 0, 8: 1}


def test_evictions_match_a_loop() -> None:
    times = np.cumsum(np.random.default_rng(5).integers(0, 30, 200))
    leaving = evictions(times, 60)
    held: list[int] = []
    for row, time in enumerate(times.tolist()):
        kept = [t for t in held if t > time - 60]
        assert leaving[row] == len(held) - len(kept)
        held = [*kept, time]
