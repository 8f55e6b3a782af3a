"""Definitions and rows for the engine of arrival order."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

import slidefold as sf

# For a test of many definitions: there are two dozen of them, and an example is a whole run.
FEWER = settings(max_examples=settings().max_examples * 2 // 5)

WINDOWS: dict[str, Any] = {
    "time": sf.time(9),
    "time left": sf.time(12, closed="left"),
    "time both": sf.time(5, closed="both"),
    "time neither": sf.time(2, closed="neither"),
    "rows": sf.rows(3),
    "rows left": sf.rows(2, closed="left"),
    "session": sf.session(3),
    "delta": sf.delta(7, on="km"),
    "delta left": sf.delta(9, on="km", closed="left"),
    "punctuated": sf.punctuated("end"),
}


def columns(*windows: Any) -> dict[str, Any]:
    """Return columns that add, that tell the order and that pick, over each of the windows."""
    made = {}
    for i, window in enumerate(windows):
        made[f"s{i}"] = sf.sum("x").over(window)
        made[f"c{i}"] = sf.collect("x").over(window)
        made[f"m{i}"] = sf.max_by("id", "y").over(window)
    return made


def _defined(*windows: Any, **said: Any) -> sf.Rolling:
    return sf.rolling(on="t", by="k", columns=columns(*windows), **said)


PER_ROW = {name: _defined(window) for name, window in WINDOWS.items()}
PER_ROW["all of them"] = _defined(*WINDOWS.values())
PER_ROW["no key"] = sf.rolling(
    on="t", columns=columns(WINDOWS["time"], WINDOWS["rows"], WINDOWS["session"])
)
PER_ROW["two keys"] = sf.rolling(on="t", by=["k", "end"], columns=columns(WINDOWS["time"]))
# A sum that is kept by key stands before what tells the order, and decides the order of peers.
PER_ROW["some by key"] = sf.rolling(
    on="t",
    by="k",
    s0=sf.sum("y").over(sf.time(9)),
    c0=sf.collect("x").over(sf.time(12, closed="left")),
)
PER_ROW["all by key"] = sf.rolling(
    on="t",
    by="k",
    s0=sf.sum("x").over(sf.time(9)),
    n0=sf.count("y").over(sf.time(12, closed="left"), min_count=2),
    m0=sf.max("y").over(sf.time(3, closed="neither")),
)
IN_TIME = {
    "every": _defined(sf.time(10), every=sf.time(5)),
    "every right": _defined(sf.time(4, closed="right"), sf.time(9), every=sf.time(3), offset=1),
    "every far": _defined(sf.time(2, closed="both"), every=sf.time(7)),
    "every with rows": _defined(sf.time(6), sf.rows(2), every=sf.time(4)),
}
EVERY = {
    **IN_TIME,
    "every 2 rows": _defined(sf.rows(3), every=2),
    "every 3 rows of a time window": _defined(sf.time(6), every=3),
    "every session": _defined(sf.session(2), every="window"),
    "every punctuated": _defined(sf.punctuated("end"), every="window"),
}
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "k": pa.string(),
        "t": pa.int64(),
        "x": pa.int64(),
        "y": pa.float64(),
        "km": pa.int64(),
        "end": pa.bool_(),
        "unused": pa.string(),
    }
)


def rows(seed: int, count: int) -> Any:
    """Return rows in order of arrival: mostly near one another in time, some far off."""
    rng = random.Random(seed)
    made: list[dict[str, Any]] = []
    now = rng.randint(-20, 20)
    for i in range(count):
        now += rng.choice([0, 0, 0, 1, 1, 2, 5, 14])
        t = now - rng.choice([0, 0, 0, 1, 3, 8, 30])
        if made and rng.random() < 0.1:
            made.append({**rng.choice(made), "id": i})
            continue
        made.append(
            {
                "id": i,
                "k": rng.choice(["a", "a", "b", None]),
                "t": t,
                "x": rng.choice([None, 1, 2, 4, 8]),
                "y": rng.choice([None, 0.5, 0.25, -1.0]),
                "km": 2 * t + rng.randint(0, 1),
                "end": rng.choice([False, False, True, None]),
                "unused": f"row {i}",
            }
        )
    return pa.Table.from_pylist(made, SCHEMA)


@st.composite
def batches(draw: st.DrawFn, most: int = 40) -> list[Any]:
    """Draw rows in batches, some of which are empty.

    The rows come from a seed: drawn one by one they took ten times as long as all that is tested.
    """
    table = rows(draw(st.integers(0, 2**32)), draw(st.integers(0, most)))
    cuts = sorted(draw(st.lists(st.integers(0, len(table)), max_size=6)))
    bounds = [0, *cuts, len(table)]
    return [table.slice(a, b - a) for a, b in pairwise(bounds)]


def assert_rows(found: Any, expected: Any) -> None:
    """Compare tables row for row, whatever their order."""
    assert found.schema.equals(expected.schema), f"{found.schema} and not {expected.schema}"
    got, due = (sorted(map(repr, table.to_pylist())) for table in (found, expected))
    assert got == due
