"""The papers' data sets: the user's files if they are there, else a generator of the same shape.

`docs/papers.md` describes the files. A folder given as `--data` is searched for
debs2012*.txt, debs2014*.csv and *citibike*.csv (compressed with gzip or not).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from benchmarks.papers.data import files, generators
from benchmarks.papers.data.events import DataError, Events
from benchmarks.papers.figure import Context

__all__ = ["DataError", "Events", "check_folder", "manufacturing", "plugs", "trips"]

LEAST = 100  # rows; fewer fill no window
CHECKED = 10_000  # rows of a file that are read before a run begins


PATTERNS = {
    "debs2012*.txt*": files.debs_2012,
    "*citibike*.csv*": files.citi_bike,
    "debs2014*.csv*": files.debs_2014,
}


def check_folder(folder: Path) -> None:
    """Refuse a folder without data, and files whose first rows cannot be read."""
    paths = {pattern: sorted(folder.glob(pattern)) for pattern in PATTERNS}
    if not any(paths.values()):
        raise DataError(f"{folder} has no file named {', '.join(PATTERNS)}")
    for pattern, load in PATTERNS.items():
        for path in paths[pattern]:
            load([path], CHECKED)


def _events(context: Context, pattern: str, generate: Callable[[int], Events], rows: int) -> Events:
    paths = sorted(context.data.glob(pattern)) if context.data is not None else []
    if not paths:
        return generate(rows)
    events = PATTERNS[pattern](paths, rows)
    if len(events) < LEAST:
        names = ", ".join(path.name for path in paths)
        raise DataError(f"{names}: expected at least {LEAST} rows, got {len(events)}")
    return events


@lru_cache(maxsize=2)
def manufacturing(context: Context, rows: int) -> Events:
    """Return sensor values at about 100 Hz in order of time, as in DEBS 2012."""
    return _events(context, "debs2012*.txt*", generators.manufacturing, rows).in_order()


@lru_cache(maxsize=2)
def trips(context: Context, rows: int) -> Events:
    """Return bike trips in order of arrival; keys are stations, values durations in seconds."""
    return _events(context, "*citibike*.csv*", generators.trips, rows)


@lru_cache(maxsize=2)
def plugs(context: Context, rows: int) -> Events:
    """Return the load of smart plugs, as in DEBS 2014; keys are plugs."""
    return _events(context, "debs2014*.csv*", generators.plugs, rows)
