"""Loaders of the files that a user brings; each names the file and the line at fault."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from benchmarks.papers.data.events import DataError, Events

# Field numbers of the DEBS 2012 file: time and the first energy sensor, mf01.
DEBS_2012 = (0, 2)
DEBS_2012_FIELDS = 12
# id, timestamp, value, property, plug, household, house
DEBS_2014_FIELDS = ("id", "timestamp", "value", "property", "plug", "household", "house")
LATEST = 10**10  # seconds since 1970, in the year 2286: larger ones are not in seconds
LOAD = 1  # the property of a measurement of load; 0 is work
# The names of time, end and station: 2018 and newer.
CITI_BIKE = (
    ("starttime", "stoptime", "start station id"),
    ("started_at", "ended_at", "start_station_id"),
)


def _read(path: Path, rows: int, **options: Any) -> Any:
    """Return the first rows of a CSV file."""
    if path.suffix == ".zip":
        raise DataError(f"{path.name} is a zip archive; unpack it into the folder first")
    parse = csv.ParseOptions(delimiter=options.pop("delimiter", ","))
    read = csv.ReadOptions(**{"block_size": 1 << 22, **options})
    try:
        with csv.open_csv(path, read_options=read, parse_options=parse) as reader:
            batches, count = [], 0
            for batch in reader:
                batches.append(batch)
                count += batch.num_rows
                if count >= rows:
                    break
        return pa.Table.from_batches(batches, reader.schema).slice(0, rows)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path.name} cannot be read as a table: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return ascii(str(error).splitlines()[0])[1:-1]  # the file may hold anything


def _refuse_nulls(path: Path, column: Any, name: str) -> None:
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py() + 1
        raise DataError(f"{path.name}: {name} is empty in row {row}")


def _number(path: Path, column: Any, name: str, kind: Any) -> Any:
    _refuse_nulls(path, column, name)
    try:
        return pc.cast(column, kind).to_numpy()
    except pa.ArrowInvalid as error:
        raise DataError(f"{path.name}: {name} must hold numbers: {error}") from error


def _times(path: Path, column: Any, name: str, example: str) -> Any:
    """Return times in microseconds of ISO text; digits beyond microseconds and zones are cut."""
    _refuse_nulls(path, column, name)
    if not pa.types.is_string(column.type):
        column = pc.cast(column, pa.string())
    text = pc.replace_substring(pc.utf8_slice_codeunits(column, 0, 26), " ", "T")
    text = pc.utf8_rtrim(text, characters="Z")
    try:
        return pc.cast(text, pa.timestamp("us")).to_numpy().astype(np.int64)
    except pa.ArrowInvalid as error:
        first = str(error).splitlines()[0]
        raise DataError(f"{path.name}: expected times such as {example}: {first}") from error


def _joined(parts: Sequence[Events], source: str) -> Events:
    return Events(
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.keys for part in parts]),
        source,
    )


def _each(paths: Sequence[Path], rows: int, load: Any) -> Events:
    """Load files one after another until there are so many rows."""
    parts: list[Events] = []
    for path in paths:
        left = rows - sum(map(len, parts))
        if left > 0:
            try:
                part = load(path, left)
            except pa.ArrowInvalid as error:  # such as text that is not UTF-8
                raise DataError(f"{path.name} cannot be read: {_first_line(error)}") from error
            if not len(part):
                raise DataError(f"{path.name} has no rows")
            parts.append(part)
    return _joined(parts, f"data: {', '.join(path.name for path in paths[: len(parts)])}")


def debs_2012(paths: Sequence[Path], rows: int) -> Events:
    """Load the manufacturing equipment data: text with tabs, a time, an index, then sensors."""

    def load(path: Path, count: int) -> Events:
        table = _read(path, count, delimiter="\t", autogenerate_column_names=True)
        if table.num_columns < DEBS_2012_FIELDS:
            raise DataError(
                f"{path.name}: expected at least {DEBS_2012_FIELDS} fields separated by tabs "
                f"(time, index, mf01, ...), got {table.num_columns}"
            )
        time, sensor = (table.column(number) for number in DEBS_2012)
        times = _times(path, time, "the time", "2012-02-22T16:46:28.9670320+00:00")
        values = _number(path, sensor, "mf01, the third field,", pa.float64())
        return Events(times, values, np.zeros(len(times), np.int64), "")

    return _each(paths, rows, load)


def debs_2014(paths: Sequence[Path], rows: int) -> Events:
    """Load the smart plug data: seven numbers per line, without a header; only loads are kept."""

    def load(path: Path, count: int) -> Events:
        # Every other line is a load.
        table = _read(path, 2 * count, autogenerate_column_names=True)
        if table.num_columns != len(DEBS_2014_FIELDS):
            raise DataError(
                f"{path.name}: expected the fields {', '.join(DEBS_2014_FIELDS)}, got "
                f"{table.num_columns} fields"
            )
        table = table.rename_columns(list(DEBS_2014_FIELDS))
        whole = {
            name: _number(path, table[name], name, pa.int64())
            for name in ("timestamp", "property", "plug", "household", "house")
        }
        value = _number(path, table["value"], "value", pa.float64())
        if (np.abs(whole["timestamp"]) > LATEST).any():
            raise DataError(f"{path.name}: expected timestamps in seconds since 1970")
        kept = np.flatnonzero(whole["property"] == LOAD)[:count]
        if not len(kept):
            raise DataError(f"{path.name} has no loads, which are the rows of property {LOAD}")
        plug = (whole["house"] * 1_000 + whole["household"]) * 1_000 + whole["plug"]
        return Events(whole["timestamp"][kept] * 1_000_000, value[kept], plug[kept], "")

    return _each(paths, rows, load)


def citi_bike(paths: Sequence[Path], rows: int) -> Events:
    """Load bike trips in the order of the file, with headers of 2018 or newer ones."""
    stations: dict[str, int] = {}  # the number of a station, the same in all files

    def load(path: Path, count: int) -> Events:
        table = _read(path, count)
        table = table.rename_columns([name.strip().lower() for name in table.column_names])
        names = next((names for names in CITI_BIKE if set(names) <= set(table.column_names)), None)
        if names is None:
            raise DataError(
                f"{path.name}: expected a header with {', '.join(CITI_BIKE[0])} (2018) or "
                f"{', '.join(CITI_BIKE[1])} (newer), got {', '.join(table.column_names)}"
            )
        twice = [name for name in names if table.column_names.count(name) > 1]
        if twice:
            raise DataError(f"{path.name}: the header has {twice[0]} more than once")
        started, ended = (
            _times(path, table[name], name, "2018-08-01 00:00:07.3210") for name in names[:2]
        )
        # Newer files leave the station of some trips out.
        station = pc.fill_null(pc.cast(table[names[2]], pa.string()), "")
        codes = pc.dictionary_encode(station).combine_chunks()
        numbers = [
            stations.setdefault(name, len(stations)) for name in codes.dictionary.to_pylist()
        ]
        keys = np.array(numbers, np.int64)[codes.indices.to_numpy()]
        # A geometric mean needs positive durations.
        duration = np.maximum((ended - started) / 1e6, 1.0)
        return Events(started, duration, keys, "")

    return _each(paths, rows, load)
