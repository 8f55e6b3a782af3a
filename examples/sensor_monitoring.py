"""Pumps that wear out: `python examples/sensor_monitoring.py`.

Generates the log of some pumps that run from time to time. Session windows cover the time since a
pump was switched on. Delta windows cover the last litres that a pump moved, independent of time.
One pump wears out: its pressure falls, litre by litre.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import slidefold as sf

PUMPS, WORN, RUNS = 6, "pump 4", 25
PAUSE = "30m"  # a pump without readings for longer was switched off

WATCH = sf.rolling(
    on="at",
    by="pump",
    since_on=sf.count().over(sf.session(PAUSE)),
    hottest=sf.max("celsius").over(sf.session(PAUSE)),
    bar_500l=sf.mean("bar").over(sf.delta(500, on="litres")),
    bar_5000l=sf.mean("bar").over(sf.delta(5000, on="litres"), min_count=50),
    spread_500l=sf.std("bar").over(sf.delta(500, on="litres")),
)
RUNS_OF = sf.rolling(
    on="at",
    by="pump",
    every="window",
    readings=sf.count().over(sf.session(PAUSE)),
    hottest=sf.max("celsius").over(sf.session(PAUSE)),
    lowest=sf.min("bar").over(sf.session(PAUSE)),
)


def readings(seed: int = 3) -> pa.Table:
    """Return one reading every two minutes while a pump runs, for all pumps in time order."""
    random = np.random.default_rng(seed)
    parts = []
    for number in range(PUMPS):
        name = f"pump {number}"
        lengths = random.integers(10, 60, RUNS)  # readings in each run
        gaps = random.integers(45, 400, RUNS)  # minutes before it
        pauses = np.repeat(np.cumsum(gaps), lengths)
        minutes = pauses + 2 * np.arange(lengths.sum()) + number % 2
        litres = np.cumsum(random.uniform(8, 30, lengths.sum()))
        since_on = np.concatenate([np.arange(length) for length in lengths])
        bar = 4 + random.normal(0, 0.15, lengths.sum())
        if name == WORN:
            bar -= 0.8 * np.clip(litres / litres[-1] - 0.5, 0, None)
        warm = 20 + 30 * (1 - np.exp(-since_on / 15)) + random.normal(size=len(bar))
        columns = {
            "at": np.datetime64("2024-03-01", "us") + minutes.astype("m8[m]"),
            "pump": [name] * len(minutes),
            "litres": litres,
            "bar": np.round(bar, 3),
            "celsius": np.round(warm, 1),
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts).sort_by([("at", "ascending"), ("pump", "ascending")])


def alerts(watched: pa.Table) -> pa.Table:
    """Return the rows where the last 500 litres had clearly less pressure than the last 5,000."""
    drop = pc.subtract(watched["bar_5000l"], watched["bar_500l"])
    return watched.append_column("drop", drop).filter(pc.greater(drop, 0.12))


def show(header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table."""
    cells = ([f"{x:,.2f}" if isinstance(x, float) else str(x) for x in row] for row in rows)
    lines = [list(header), *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("".join(f"  {text:>{width}}" for text, width in zip(line, widths, strict=True)))
    print()


def main() -> None:
    """Run the example."""
    log = readings()
    print(f"{log.num_rows:,} readings of {PUMPS} pumps\n")
    watched = WATCH.run(log)
    print(WATCH, end="\n\n")
    print(f"The last readings of {WORN}:\n")
    of_worn = watched.filter(pc.equal(watched["pump"], WORN))
    names = ("at", "litres", "bar", "since_on", "hottest", "bar_500l", "bar_5000l")
    last = of_worn.slice(of_worn.num_rows - 5).select(names)
    show(names, [row.values() for row in last.to_pylist()])

    print("Runs, one row per run (every='window'):\n")
    runs = RUNS_OF.run(log)
    hot = runs.sort_by([("hottest", "descending"), ("pump", "ascending")]).slice(0, 4)
    rows = hot.to_pylist()
    for row in rows:
        row["window_end"] -= timedelta(minutes=30)  # a session ends one pause after its last row
    show(
        ("pump", "from", "to", "readings", "hottest", "lowest bar"), [row.values() for row in rows]
    )

    alerted = alerts(watched)
    counts = dict.fromkeys(sorted(set(log["pump"].to_pylist())), 0)
    for name in alerted["pump"].to_pylist():
        counts[name] += 1
    print("Alerts, where the last 500 litres had less pressure than the last 5,000:\n")
    show(("pump", "alerts"), counts.items())
    first = alerted.filter(pc.equal(alerted["pump"], WORN)).slice(0, 1).to_pylist()[0]
    print(f"{WORN} was noticed at {first['at']:%d %B %H:%M}, after {first['litres']:,.0f} litres.")


if __name__ == "__main__":
    main()
