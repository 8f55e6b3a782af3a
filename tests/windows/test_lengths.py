"""Durations of numpy and pandas wherever a duration goes, and no time at all as a lateness."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.algorithms import KeyedWindows
from slidefold.errors import OperatorError, WindowError

HOURS = [np.timedelta64(60, "m"), np.timedelta64(1, "h"), pd.Timedelta("1h"), timedelta(hours=1)]
START = datetime(2024, 1, 1)
TABLE = pa.table(
    {
        "ts": pa.array([START + timedelta(minutes=m) for m in (0, 30, 60, 61, 200)]),
        "x": [1, 2, 4, 8, 16],
    }
)


def rolled(window: Any, **options: Any) -> list[Any]:
    made = sf.rolling(on="ts", s=sf.sum("x").over(window), **options)
    found: list[Any] = made.run(TABLE).to_pylist()
    return found


@pytest.mark.parametrize("hour", HOURS, ids=repr)
def test_windows(hour: Any) -> None:
    assert rolled(hour) == rolled("1h")
    assert rolled(sf.time(hour, closed="both")) == rolled(sf.time("1h", closed="both"))
    assert rolled(sf.session(hour)) == rolled(sf.session("1h"))
    assert rolled(sf.delta(hour, on="ts")) == rolled(sf.delta("1h", on="ts"))
    for window in (sf.time(hour), sf.session(hour), sf.delta(hour, on="ts")):
        assert "'1h'" in repr(window)
    listed = sf.rolling(on="ts", s=sf.sum("x").over([hour, "90m", 3]))
    assert list(listed.columns) == ["s_1h", "s_90m", "s_3"]


@pytest.mark.parametrize("hour", HOURS, ids=repr)
def test_every_and_offset(hour: Any) -> None:
    assert rolled("2h", every=hour) == rolled("2h", every="1h")
    assert rolled("3h", every="2h", offset=hour) == rolled("3h", every="2h", offset="1h")
    made = sf.rolling(on="ts", every=hour * 2, offset=hour, s=sf.sum("x").over("2h"))
    assert (made.to_dict()["every"], made.to_dict()["offset"]) == ("2h", "1h")
    assert sf.Rolling.from_dict(made.to_dict()).run(TABLE) == made.run(TABLE)


@pytest.mark.parametrize("hour", HOURS, ids=repr)
def test_lateness_and_query(hour: Any) -> None:
    for window in (
        sf.Window(sf.sum(), sf.time("2h"), lateness=hour),
        sf.Window(sf.median(), "2h", lateness=hour),
    ):
        window.push(START, 1.0)
        window.push(START + timedelta(minutes=90), 2.0)
        assert window.push(START + timedelta(minutes=20), 4.0) is None  # late by 70 minutes
        assert window.query(last=hour) == 2.0
        assert type(window).from_bytes(window.to_bytes()).query(last=hour) == 2.0
    keyed = KeyedWindows(sf.sum(), hour, lateness=hour)
    assert KeyedWindows.from_bytes(keyed.to_bytes()).window.rule() == sf.time("1h").rule()
    made = sf.rolling(on="ts", s=sf.sum("x").over("1h"))
    live = made.live(lateness=hour)
    expected = made.live(lateness="1h").feed(TABLE)
    assert live.feed(TABLE) == expected
    assert sf.Live.from_bytes(live.to_bytes()).watermark == live.watermark


@pytest.mark.parametrize("hour", HOURS, ids=repr)
def test_half_lives(hour: Any) -> None:
    def found(half_life: Any) -> Any:
        made = sf.rolling(on="ts", m=sf.decayed_mean("x", "ts", half_life=half_life).over("2h"))
        return made.run(TABLE)["m"].to_pylist()

    assert found(hour) == found("1h")


@pytest.mark.parametrize(
    "zero", ["0s", "0h0m", timedelta(0), np.timedelta64(0, "ms"), 0, 0.0], ids=repr
)
def test_no_lateness(zero: Any) -> None:
    window = sf.Window(sf.sum(), sf.time("1h"), lateness=zero)
    assert [window.push(START, 1.0), window.push(START, 2.0)] == [1.0, 3.0]
    assert window.push(START - timedelta(seconds=1), 4.0) is None
    assert sf.Window.from_bytes(window.to_bytes()).query() == 3.0
    keyed = KeyedWindows(sf.sum(), "1h", lateness=zero)
    times = np.array(["2024-01-01T01", "2024-01-01T01"], "datetime64[us]")
    assert keyed.push([1, 2], times, [1.0, 2.0]).to_pylist() == [1.0, 2.0]
    made = sf.rolling(on="ts", s=sf.sum("x").over("1h"))
    live = made.live(lateness=zero)
    assert len(live.feed(TABLE)) == 5
    assert sf.Live.from_bytes(live.to_bytes()).watermark == live.watermark


@pytest.mark.parametrize("zero", ["0s", timedelta(0), np.timedelta64(0, "s"), 0], ids=repr)
def test_no_offset(zero: Any) -> None:
    assert rolled("2h", every="1h", offset=zero) == rolled("2h", every="1h")


def test_offset_as_every_needs_it() -> None:
    table = pa.table({"t": [1, 5, 12, 31], "x": [1, 2, 4, 8]})
    window = sf.time(20)
    plain = sf.rolling(on="t", every=sf.time(10), offset=2, s=sf.sum("x").over(window))
    made = sf.rolling(on="t", every=sf.time(10), offset=sf.time(2), s=sf.sum("x").over(window))
    assert made == plain
    assert made.run(table) == plain.run(table)
    assert plain.run(table)["window_end"].to_pylist() == [2, 12, 22, 32, 42]
    saved = {**made.to_dict(), "offset": {"kind": "time", "range": 2}}
    assert sf.Rolling.from_dict(saved) == made


def test_nanoseconds_are_not_lost() -> None:
    times = pa.array([0, 1000, 2400], pa.timestamp("ns"))
    table = pa.table({"ts": times, "x": [1, 2, 4]})
    for length in (np.timedelta64(1500, "ns"), pd.Timedelta(1500, "ns"), "1500ns"):
        given: Any = length
        made = sf.rolling(on="ts", s=sf.sum("x").over(given))
        assert made.run(table)["s"].to_pylist() == [1, 3, 6]
        assert made.to_dict()["columns"]["s"]["over"] == "1500ns"


WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "no unit": (lambda: sf.time(np.timedelta64(5)), WindowError, "with a unit from weeks to nano"),
    "months": (lambda: sf.time(np.timedelta64(5, "M")), WindowError, "months and years vary"),
    "finer": (lambda: sf.time(np.timedelta64(5, "ps")), WindowError, "from weeks to nanoseconds"),
    "no time": (lambda: sf.time(np.timedelta64("NaT")), WindowError, "got NaT"),
    "negative": (lambda: sf.time(np.timedelta64(-5, "s")), WindowError, "must be positive"),
    "zero": (lambda: sf.count().over(np.timedelta64(0, "s")), WindowError, "must be positive"),
    "long": (lambda: sf.time(np.timedelta64(2**60, "W")), WindowError, "at most 292 years"),
    "gap": (lambda: sf.session(np.timedelta64(5)), WindowError, "with a unit"),
    "every": (
        lambda: rolled("1h", every=np.timedelta64(1, "Y")),
        WindowError,
        "months and years vary",
    ),
    "half-life": (
        lambda: sf.decayed_mean("x", "ts", half_life=np.timedelta64(-1, "s")),
        OperatorError,
        "half_life of decayed_mean must be",
    ),
    "lateness": (
        lambda: sf.Window(sf.sum(), "1h", lateness=np.timedelta64(-1, "s")),
        WindowError,
        "lateness must be a duration or a number >= 0",
    ),
    "number of rows": (
        lambda: sf.rows(np.timedelta64(5, "s")),  # type: ignore[arg-type]
        WindowError,
        "an integer n",
    ),
    "offset": (
        lambda: rolled("1h", every="1h", offset=-5),
        WindowError,
        "offset of every must be > 0",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_ones(what: str) -> None:
    wrong, error, message = WRONG[what]
    with pytest.raises(error, match=message):
        wrong()
