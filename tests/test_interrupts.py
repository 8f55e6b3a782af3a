"""Ctrl-C stops long native calls soon, and nothing is half done then."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from tests.support.algorithms import make

RANDOM = np.random.default_rng(1)
N = 3_000_000
DELAY = 0.05  # seconds until the signal comes
SOON = 0.6  # seconds of processor time until the call has stopped: 0.1 to 0.2 as a rule


class StopError(Exception):
    """What the handler raises."""


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        raise StopError

    before = signal.signal(signal.SIGALRM, stop)
    gc.collect()
    gc.disable()  # what the handler raises inside of the collector is lost
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    gc.enable()


def stopped(call: Callable[[], Any]) -> None:
    """Check that a call of a second or more is stopped soon."""
    start = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, DELAY)
    with pytest.raises(StopError):
        call()
    assert time.process_time() - start < SOON


class TestColumns:
    """Whole columns: there is no result."""

    @pytest.mark.parametrize("name", ["recalc", "flat_fat"])
    def test_slide(self, name: str) -> None:
        values = RANDOM.random(N)
        a = make(name, sf.max())
        a.insert(1.0)
        stopped(lambda: a.slide(values, N // 3))
        assert (a.query(), len(a)) == (1.0, 1)

    def test_slide_of_an_erased_operator(self) -> None:
        values = RANDOM.random(N)
        stopped(lambda: make("two_stacks_lite", sf.approx_distinct()).slide(values, 1000))

    def test_latencies(self) -> None:
        stopped(lambda: make("recalc", sf.sum()).latencies(RANDOM.random(N), 100_000))

    def test_slide_of_a_list(self) -> None:
        values = [object()] * 5_000_000
        stopped(lambda: make("recalc", sf.last(dtype="object")).slide(values, 3))

    @pytest.mark.parametrize("cls", [sf.algorithms.Fiba, sf.algorithms.BTree])
    def test_slide_of_a_tree(self, cls: Any) -> None:
        times, values = RANDOM.permutation(N), RANDOM.random(N)
        stopped(lambda: cls(sf.max()).slide(times, values, N))

    def test_collect(self) -> None:
        """The row numbers of all frames were made in one call of numpy that nothing stopped."""
        events = pa.table({"t": np.arange(N // 30), "x": RANDOM.random(N // 30)})
        features = sf.rolling(on="t", v=sf.collect("x").over(sf.rows(1000)))
        stopped(lambda: features.run(events))

    @pytest.mark.parametrize("cls", [sf.algorithms.Sba, sf.algorithms.Pba])
    def test_slide_of_slices(self, cls: Any) -> None:
        values = RANDOM.random(N)
        stopped(lambda: cls(sf.approx_distinct(), 1000, 1).slide(values))

    @pytest.mark.parametrize("threads", [1, 2])
    def test_rolling(self, threads: int) -> None:
        table = pa.table(
            {
                "t": RANDOM.integers(0, 10**9, N // 2),
                "k": RANDOM.integers(0, 1000, N // 2),
                "x": RANDOM.random(N // 2),
            }
        )
        features = sf.rolling(
            on="t",
            by="k",
            columns={f"std{i}": sf.std("x").over(sf.time(1000 * i)) for i in range(1, 12)},
            middle=sf.median("x").over(sf.time(10**7)),
        )

        def run() -> float:
            start = time.process_time()
            features.run(table, threads=threads)
            return time.process_time() - start

        whole = min(run(), run())
        for share in (0.1, 0.3, 0.5):
            begin = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, share * whole)
            before = signal.signal(signal.SIGPROF, signal.getsignal(signal.SIGALRM))
            with pytest.raises(StopError):
                features.run(table, threads=threads)
            assert time.process_time() - begin < share * whole + SOON
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    @pytest.mark.parametrize("known", [None, "arrived"])
    def test_questions(self, known: str | None) -> None:
        rows = N // 3
        events = pa.table(
            {
                "t": RANDOM.integers(0, 10**9, rows),
                "k": RANDOM.integers(0, 100, rows),
                "x": RANDOM.random(rows),
                "arrived": RANDOM.integers(0, 10**9, rows),
            }
        )
        features = sf.rolling(
            on="t",
            by="k",
            middle=sf.median("x").over(sf.time(10**8)),
            ratio=sf.max("x").over(sf.time(10**7)) / sf.mean("x").over(sf.time(10**8)),
        )
        asked = events.select(["t", "k"])
        features.run(events.slice(0, 9), at=asked.slice(0, 9), known=known)  # imports what it needs
        stopped(lambda: features.run(events, at=asked, known=known))


class TestChanges:
    """Calls that change an object: it is as it was."""

    @pytest.mark.parametrize(
        "operator",
        [sf.max(), sf.sum(dtype="int64"), sf.approx_distinct(dtype="int64"), sf.first()],
        ids=str,
    )
    @pytest.mark.parametrize("cls", [sf.algorithms.Fiba, sf.algorithms.BTree])
    def test_bulk_insert(self, cls: Any, operator: Any) -> None:
        tree = cls(operator)
        dtype = "int64" if "int64" in str(operator) else "float64"
        tree.bulk_insert(np.arange(0, 200_000, 2), np.ones(100_000, dtype))
        before = list(tree), tree.query()
        times, values = RANDOM.permutation(N), np.ones(N, dtype)
        stopped(lambda: tree.bulk_insert(times, values))
        tree.check()
        assert (list(tree), tree.query()) == before
        tree.bulk_insert([1, 3], np.ones(2, dtype))
        assert len(tree) == 100_002

    @pytest.mark.parametrize(
        "operator", [sf.max(), sf.sum(dtype="int64"), sf.std(), sf.count(), sf.first()], ids=str
    )
    def test_push_of_keyed_windows(self, operator: Any) -> None:
        keyed = sf.algorithms.KeyedWindows(operator, sf.time(1000))
        dtype = "int64" if "int64" in str(operator) else "float64"
        keyed.push(np.arange(1000) % 7, np.arange(1000), np.ones(1000, dtype))
        before = keyed.to_bytes()
        keys, times = RANDOM.integers(0, 50_000, N), RANDOM.integers(0, 10**6, N)
        for wait in (0.05, 0.4):
            signal.setitimer(signal.ITIMER_REAL, wait)
            start = time.process_time()
            with pytest.raises(StopError):
                keyed.push(keys, times, np.ones(N, dtype))
            assert time.process_time() - start < wait + SOON
            keyed.check()
            assert keyed.to_bytes() == before
        keyed.push([1], [999], np.ones(1, dtype))
        keyed.check()

    def test_a_handler_that_uses_the_object_is_told_so(self) -> None:
        keyed = sf.algorithms.KeyedWindows(sf.max(), sf.time(1000))
        told = []

        def ask(number: int, frame: Any) -> None:
            try:
                len(keyed)
            except sf.errors.BusyError as error:
                told.append(str(error))

        signal.signal(signal.SIGALRM, ask)
        signal.setitimer(signal.ITIMER_REAL, DELAY, DELAY)
        keyed.push(RANDOM.integers(0, 9, N), RANDOM.integers(0, 10**6, N), np.ones(N))
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert told
        assert len(keyed) == 9
