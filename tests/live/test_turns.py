"""One live run and several threads: calls wait for each other, and none may call from inside."""

from __future__ import annotations

import copy
import datetime
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.live import Live
from slidefold.live.turn import Turn

SCHEMA = pa.schema({"t": pa.int64(), "x": pa.int64()})
THREADS, BATCHES, ROWS = 4, 60, 20


@pytest.fixture
def often() -> Iterator[None]:
    """Let threads change often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("emit", ["final", "arrival"])
def test_rows_of_several_threads_are_all_taken(emit: str) -> None:
    definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(5)), last=sf.last("x").over(3))
    live = definition.live(lateness=10**6, emit=emit)

    def feed(thread: int) -> int:
        found = 0
        for batch in range(BATCHES):
            first = (batch * THREADS + thread) * ROWS
            times = pa.array(range(first, first + ROWS), pa.int64())
            found += len(live.feed(pa.table([times, times], schema=SCHEMA)))
            live.advance(live.watermark)  # type: ignore[arg-type]
            assert live.pending >= live.late == 0
            assert live.nbytes > 0
            assert "watermark" in live.explain()
            assert "pending" in repr(live)
            if batch % 20 == thread:
                assert len(live.to_bytes()) > 0
        return found

    with ThreadPoolExecutor(THREADS) as pool:
        found = sum(pool.map(feed, range(THREADS)))
    assert found + len(live.finish()) == THREADS * BATCHES * ROWS
    assert live.late == 0


CALLS: dict[str, Callable[[Live], Any]] = {
    "feed": lambda live: live.feed(pa.table({"t": [9], "x": [1]})),
    "advance": lambda live: live.advance(9),
    "finish": lambda live: live.finish(),
    "to_bytes": lambda live: live.to_bytes(),
    "explain": lambda live: live.explain(),
    "watermark": lambda live: live.watermark,
    "pending": lambda live: live.pending,
    "late": lambda live: live.late,
    "nbytes": lambda live: live.nbytes,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_from_an_operator_is_refused(name: str) -> None:
    run: list[Live] = []
    shown: list[str] = []

    @sf.operator
    class Nosy(sf.Fold):
        @staticmethod
        def lift(x: int) -> int:
            if run:
                shown.append(repr(run[0]))
                CALLS[name](run[0])
            return x

        combine = staticmethod(lambda older, newer: older + newer)
        lower = staticmethod(lambda state: state)

    live = sf.rolling(on="t", s=Nosy("x").over(sf.time(10))).live(lateness=0)
    run.append(live)
    with pytest.raises(sf.errors.BusyError, match="this live run is busy with a call"):
        live.feed(pa.table({"t": [1, 2], "x": [1, 2]}))
    assert shown == ["<live final, lateness 0, busy>"]
    run.clear()
    # Nothing was taken, and the turn is free again.
    assert live.feed(pa.table({"t": [1, 2], "x": [1, 2]}))["s"].to_pylist() == [1, 3]


def test_a_call_from_the_data_is_refused() -> None:
    live = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10))).live(lateness=0)

    class Data:
        def __arrow_c_stream__(self, requested: Any = None) -> Any:
            live.finish()

    with pytest.raises(sf.errors.BusyError):
        live.feed(Data())
    assert live.feed(pa.table({"t": [1], "x": [1]}))["s"].to_pylist() == [1]


@pytest.mark.parametrize("emit", ["arrival", "final"])
@pytest.mark.parametrize(
    ("kind", "method"),
    [(pa.float64(), "__float__"), (pa.float64(), "__index__"), (pa.int64(), "__index__")],
)
@pytest.mark.parametrize("error", [None, ValueError("a bad reading"), KeyError("x")])
def test_errors_of_a_value_come_out_as_they_are(
    emit: str, kind: pa.DataType, method: str, error: Exception | None
) -> None:
    schema = pa.schema({"t": pa.int64(), "x": kind})
    definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10)))
    live = definition.live(lateness=0, emit=emit, schema=schema)
    live.push({"t": 1, "x": 1})

    def converted(self: Any) -> Any:
        if error is not None:
            raise error
        return live.push({"t": 2, "x": 1})

    value = type("Reading", (), {method: converted})()
    before = live.to_bytes()
    expected = sf.errors.BusyError if error is None else type(error)
    with pytest.raises(expected):
        live.push({"t": 3, "x": value})
    with pytest.raises(expected):
        live.push_many([{"t": 3, "x": value}])
    assert live.to_bytes() == before


def test_errors_of_a_time_zone_come_out_as_they_are() -> None:
    class Zone(datetime.tzinfo):
        def utcoffset(self, when: Any) -> Any:
            return live.push({"t": datetime.datetime(2024, 1, 2), "x": 1})

        dst = tzname = utcoffset

    schema = pa.schema({"t": pa.timestamp("ms"), "x": pa.int64()})
    live = sf.rolling(on="t", s=sf.sum("x").over(sf.time("1h"))).live(lateness="1h", schema=schema)
    live.push({"t": datetime.datetime(2024, 1, 1), "x": 1})
    with pytest.raises(sf.errors.BusyError):
        live.push({"t": datetime.datetime(2024, 1, 1, tzinfo=Zone()), "x": 1})
    with pytest.raises(sf.errors.ValueTypeError, match="'t' must be a time in whole milliseconds"):
        live.push({"t": datetime.datetime(2024, 1, 1, microsecond=5), "x": 1})
    assert live.rows == 1


@pytest.mark.parametrize("again", [copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
def test_a_copy_has_a_turn_of_its_own(again: Any) -> None:
    live = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10))).live(lateness=0)
    with live._turn:
        twin = again(live)
        assert twin.feed(pa.table({"t": [1], "x": [1]}))["s"].to_pylist() == [1]
    assert live.watermark is None


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_process_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    turn, held, over = Turn("a run"), Event(), Event()

    def hold() -> None:
        with turn:
            held.set()
            over.wait()

    thread = Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            with turn:
                os._exit(1)
        except sf.errors.BusyError as error:
            os._exit(0 if "forked" in str(error) else 2)
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with turn:
        assert turn.held
    assert not turn.held
