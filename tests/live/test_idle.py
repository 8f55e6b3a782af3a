"""A silent source: `live(idle=)` and `tick`, with a clock that the test moves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import DefinitionError, WindowError

FEATURES = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(10)))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def rows(*times: int) -> pa.Table:
    return pa.table({"t": times, "k": ["a"] * len(times), "x": [1] * len(times)})


def test_waiting_rows_get_their_results_when_the_source_is_silent() -> None:
    clock = Clock()
    live = FEATURES.live(lateness=5, idle="5m", clock=clock)
    assert live.tick() is None
    assert len(live.feed(rows(20, 22, 24))) == 0
    clock.now += 299.9
    assert len(live.tick()) == 0
    assert (live.watermark, live.pending) == (19, 3)
    clock.now += 0.1
    assert live.tick()["s"].to_pylist() == [1, 2, 3]
    assert (live.watermark, live.pending) == (24, 0)
    assert len(live.tick()) == 0
    # Rows up to the newest time are late now; later ones are not, and see the rows before them.
    assert len(live.feed(rows(24, 23, 26))) == 0
    assert live.late == 2
    assert live.finish()["s"].to_pylist() == [4]
    assert len(live.tick()) == 0


@pytest.mark.parametrize("way", ["feed", "push", "push_many", "late"])
def test_any_row_breaks_the_silence(way: str) -> None:
    clock = Clock()
    live = FEATURES.live(lateness=5, idle=timedelta(seconds=60), clock=clock)
    live.feed(rows(20))
    clock.now += 59
    event = {"t": 21, "k": "a", "x": 1}
    if way == "feed":
        live.feed(rows(21))
    elif way == "push":
        live.push(event)
    elif way == "push_many":
        live.push_many([event])
    else:
        live.feed(rows(1))
    clock.now += 59
    assert len(live.tick()) == 0
    live.feed(rows())  # no row is no sign of life
    clock.now += 1
    assert len(live.tick()) == (1 if way == "late" else 2)


def test_results_are_those_of_one_run_whenever_ticks_come() -> None:
    clock = Clock()
    live = FEATURES.live(lateness=5, idle="10s", clock=clock)
    found: list[Any] = []
    given = [rows(1, 3, 2), rows(4, 9), rows(12, 11), rows(30), rows(41, 44, 43)]
    for batch in given:
        found.append(live.feed(batch))
        clock.now += 10
        found.append(live.tick())
    found.append(live.finish())
    assert live.late == 0
    whole = FEATURES.run(pa.concat_tables(given)).sort_by("t")
    assert pa.concat_tables(found).sort_by("t").to_pylist() == whole.to_pylist()


def test_every_and_other_modes() -> None:
    clock = Clock()
    ends = sf.rolling(on="t", every=sf.time(10), n=sf.count().over(sf.time(10)))
    live = ends.live(lateness=5, idle="1s", clock=clock)
    assert len(live.feed(rows(1, 5, 12))) == 0
    clock.now += 1
    # Windows that end after the newest time may still get rows.
    assert live.tick()["window_end"].to_pylist() == [10]
    arrival = FEATURES.live(lateness=5, emit="arrival", idle="1s", clock=clock)
    assert arrival.push({"t": 1, "k": "a", "x": 1}) == {"s": 1}
    clock.now += 1
    assert len(arrival.tick()) == 0
    assert arrival.watermark == 1


@pytest.mark.parametrize("idle", [5, "soon", "0s", "-1m"])
def test_bad_durations(idle: Any) -> None:
    with pytest.raises((DefinitionError, WindowError)):
        FEATURES.live(lateness=5, idle=idle)


def test_tick_needs_idle() -> None:
    with pytest.raises(DefinitionError, match="tick needs live"):
        FEATURES.live(lateness=5).tick()
