"""A finished run: what may still be asked of it, and what its watermark is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.live import Live
from slidefold.live.lateness import NEWEST
from slidefold.state import pack, unpack

SUMS = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10)))
EMITS = ("final", "arrival", "revise", "change")


def rows(*times: int) -> Any:
    return pa.table({"t": pa.array(times, pa.int64()), "x": [1] * len(times)})


def restored(live: Live) -> Live:
    return Live.from_bytes(live.to_bytes())


@pytest.mark.parametrize("emit", EMITS)
@pytest.mark.parametrize("again", [restored, lambda live: live], ids=["restored", "as it is"])
def test_feeding_a_finished_run_is_an_error(emit: str, again: Any) -> None:
    live = SUMS.live(lateness=3, emit=emit, id="t" if emit == "revise" else ())
    live.feed(rows(5, 9))
    live.finish()
    live = again(live)
    for batch in (rows(20), rows()):
        with pytest.raises(sf.errors.DataError, match="this live run is finished and takes no"):
            live.feed(batch)
    assert (live.late, live.pending, live.watermark) == (0, 0, 9)
    assert len(live.advance(50)) == len(live.finish()) == 0
    assert live.watermark == again(live).watermark == 9


@pytest.mark.parametrize("emit", ["final", "arrival"])
def test_asking_a_finished_run_is_an_error(emit: str) -> None:
    """Also if it was asked before: it answered as of the end of time, from empty windows."""
    definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(9)))
    live = definition.live(lateness=5, emit=emit)
    live.feed(pa.table({"t": [1, 3], "x": [1, 2]}))
    assert live.ask({}) == {"s": 3}
    live.finish()
    questions: list[Any] = [{}, {"t": 4}, [{}]]
    for question in questions:
        with pytest.raises(sf.errors.DataError, match="this live run is finished"):
            live.ask(question)


def test_a_run_that_was_finished_before_it_was_fed_takes_no_rows() -> None:
    live = SUMS.live(lateness=3)
    assert live.finish() is None
    for finished in (live, restored(live)):
        assert finished.finish() is None
        assert finished.watermark is None
        with pytest.raises(sf.errors.DataError, match="finished"):
            finished.feed(rows(1))


def test_a_run_that_fails_to_finish_is_not_finished() -> None:
    live = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10))).live(lateness=3)
    live.feed(pa.table({"t": [5, 6], "x": [2**62, 2**62]}))
    with pytest.raises(sf.errors.ResultOverflowError):
        live.finish()
    live.feed(pa.table({"t": [20], "x": [1]}).slice(0, 0))
    assert (live.watermark, live.pending) == (3, 2)


def test_the_watermark_of_a_finished_run_never_goes_back() -> None:
    live = SUMS.live(lateness=3)
    live.feed(rows(5))
    live.advance(30)
    live.finish()
    assert live.watermark == 30


def test_the_watermark_of_a_finished_run_is_a_time() -> None:
    definition = sf.rolling(on="t", s=sf.sum("x").over("1h"))
    live = definition.live(lateness="1h")
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    live.feed(pa.table({"t": [noon], "x": [1.0]}))
    live.finish()
    assert live.watermark == np.datetime64("2024-01-01T12:00")
    assert "watermark 2024-01-01T12:00:00" in repr(live)


def test_a_run_of_null_times_has_no_watermark() -> None:
    live = SUMS.live(lateness=3)
    live.feed(pa.table({"t": pa.array([None], pa.int64()), "x": [1]}))
    live.finish()
    assert (live.watermark, live.late) == (None, 1)


def test_older_states_of_finished_runs_are_finished() -> None:
    live = SUMS.live(lateness=3)
    live.feed(rows(5))
    live.finish()
    header, payload = unpack(live.to_bytes(), "Live")
    assert header.pop("finished") is True
    assert (header.pop("last"), header["watermark"]) == (5, NEWEST)
    live = Live.from_bytes(pack(header, payload))
    assert live.watermark is None
    with pytest.raises(sf.errors.DataError, match="finished"):
        live.feed(rows(6))


@pytest.mark.parametrize("wrong", [{"last": 2**63}, {"last": "5"}, {"finished": 1}])
def test_forged_ends_are_refused(wrong: dict[str, Any]) -> None:
    live = SUMS.live(lateness=3)
    live.feed(rows(5))
    header, payload = unpack(live.to_bytes(), "Live")
    with pytest.raises(sf.errors.StateError, match="has no valid"):
        Live.from_bytes(pack(header | wrong, payload))
