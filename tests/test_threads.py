"""One object from several threads, from within its own calls, and beside calls without the GIL."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.errors import BusyError
from tests.support.algorithms import make, takes

KeyedWindows = sf.algorithms.KeyedWindows


class Meddler:
    """A number that does something while it is read."""

    def __init__(self, number: int, meddle: Callable[[], Any]) -> None:
        self.number = number
        self.meddle = meddle
        self.read = False

    def __float__(self) -> float:
        return float(self.__index__())

    def __index__(self) -> int:
        self.read = True
        self.meddle()
        return self.number


Take = Callable[[Any], Any]


def with_one(call: Callable[..., Any]) -> Take:
    """Take a time; the value is 1."""
    return lambda time: call(time, 1)


def windows(dtype: str) -> Iterator[tuple[str, Any, Take, Take]]:
    """Name, object, how it takes a value, and how it takes a time (a value if it has no times)."""
    total, middle = sf.sum(dtype=dtype), sf.median(dtype=dtype)

    def timed(name: str, window: Any) -> tuple[str, Any, Take, Take]:
        push = window.push if isinstance(window, sf.Window) else window.insert
        return name, window, partial(push, 2), with_one(push)

    def plain(name: str, window: Any) -> tuple[str, Any, Take, Take]:
        push = window.push if hasattr(window, "push") else window.insert
        return name, window, push, push

    names = ("daba", "daba_lite", "two_stacks_lite", "subtract_on_evict", "flat_fat", "recalc")
    for name in (n for n in names if takes(n, total)):
        yield plain(f"rows-{name}", sf.Window(total, sf.rows(3), algorithm=name))
        yield timed(f"time-{name}", sf.Window(total, sf.time(50), algorithm=name))
        yield plain(f"algorithm-{name}", make(name, total))
    for name, operator in (("sum", total), ("median", middle)):
        yield timed(f"left-{name}", sf.Window(operator, sf.time(50, closed="left")))
        yield timed(f"late-{name}", sf.Window(operator, sf.time(50), lateness=9))
        yield plain(f"behind-{name}", sf.Window(operator, sf.rows(3, closed="left")))
    yield plain("rows-median", sf.Window(middle, sf.rows(3)))
    for boundary in (sf.algorithms.Sba, sf.algorithms.Pba):
        yield plain(boundary.__name__, boundary(total, 4, 2))
    parts: Any = sf.Window(sf.struct(a=total, b=sf.max(dtype=dtype)), sf.rows(3))
    yield "struct", parts, lambda v: parts.push((v, 1)), lambda v: parts.push((1, v))
    for cls in (sf.algorithms.Fiba, sf.algorithms.BTree):
        yield timed(cls.name, cls(total))
        tree: Any = cls(total)
        bulk = tree.bulk_insert
        yield (
            f"{cls.name}-bulk",
            tree,
            partial(lambda insert, v: insert([1, 2], [1, v]), bulk),
            partial(lambda insert, v: insert([2, v], [1, 1]), bulk),
        )
    flat: Any = sf.algorithms.FlatFat(total)
    flat.insert(1)
    yield "update", flat, lambda v: flat.update([0], [v]), lambda v: flat.update([0], [v])


def uses(subject: Any, step: Callable[[Any], Any]) -> list[Callable[[], Any]]:
    """Calls on the object that must not get through while it is at work."""
    calls = [lambda: step(5), lambda: len(subject), lambda: subject.nbytes, subject.copy]
    return [*calls, subject.to_bytes, subject.check, subject.query]


@pytest.mark.parametrize("dtype", ["float64", "int64"])
class TestFromWithin:
    """A value that uses the window which reads it."""

    def test_raises_and_leaves_the_window_as_it_was(self, dtype: str) -> None:
        seen = set()
        for name, subject, take, take_time in windows(dtype):
            take(1)
            before = subject.to_bytes()
            for step in (take, take_time):
                for use in uses(subject, take):
                    value = Meddler(3, use)
                    with suppress(BusyError):
                        step(value)
                        assert not value.read, f"{name} let {use} in"
                    if value.read:
                        assert subject.to_bytes() == before, name
                        seen.add(name)
            subject.check()
            take(2)
            subject.check()
        assert len(seen) > 20

    def test_that_goes_on_counts_once(self, dtype: str) -> None:
        twins = {name: (other, take) for name, other, take, _ in windows(dtype)}
        for name, subject, take, _ in windows(dtype):
            take(1)
            refused = 0

            def meddle(subject: Any = subject, take: Any = take) -> None:
                nonlocal refused
                for use in uses(subject, take):
                    with pytest.raises(BusyError, match="at work"):
                        use()
                    refused += 1

            take(Meddler(3, meddle))
            subject.check()
            assert refused, name
            other, take_other = twins[name]
            take_other(1)
            take_other(3)
            assert other.to_bytes() == subject.to_bytes(), name


def together(*works: Callable[[], Any]) -> None:
    """Run in threads, all at once; failures come out."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns as often as they can
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]


class TestThreads:
    """Calls on one object wait for each other."""

    @pytest.mark.parametrize("algorithm", ["daba", "daba_lite", "two_stacks_lite", "recalc"])
    def test_push_fractions_into_one_rows_window(self, algorithm: str) -> None:
        w: Any = sf.Window(sf.sum(), sf.rows(3), algorithm=algorithm)

        def push() -> None:
            for _ in range(500):
                assert w.push(Fraction(1, 2)) in (0.5, 1.0, 1.5)

        together(push, push, push, push)
        w.check()
        assert len(w) == 3
        assert w.query() == 1.5

    @pytest.mark.parametrize("lateness", [None, 5])
    @pytest.mark.parametrize("operator", [sf.sum(), sf.median(), sf.count()], ids=str)
    def test_push_fractions_into_one_time_window(self, operator: Any, lateness: Any) -> None:
        w: Any = sf.Window(operator, sf.time(50), lateness=lateness)

        def push() -> None:
            for _ in range(300):
                w.push(Fraction(7), Fraction(1, 4))

        together(push, push, push, push)
        w.check()
        assert len(w) == (1200 if lateness is None else 1)
        assert w.query() == {"sum": 300.0, "median": 0.25, "count": 1200}[operator.name]

    @pytest.mark.parametrize("name", ["daba", "daba_lite", "flat_fat", "two_stacks", "amta"])
    def test_insert_and_evict_beside_each_other(self, name: str) -> None:
        a: Any = make(name, sf.sum())

        def insert() -> None:
            for _ in range(500):
                a.insert(Fraction(1))

        def evict() -> None:
            gone = 0
            while gone < 300:
                try:
                    a.evict()
                    gone += 1
                except sf.errors.EmptyWindowError:
                    pass

        together(insert, insert, evict, evict)
        a.check()
        assert len(a) == 400
        assert a.query() == 400.0

    @pytest.mark.parametrize("cls", [sf.algorithms.Fiba, sf.algorithms.BTree])
    def test_slide_beside_changes(self, cls: Any) -> None:
        tree = cls(sf.sum())
        n = 100_000
        tree.bulk_insert(np.arange(n), np.ones(n))
        times, values = np.arange(1000), np.ones(1000)
        due = tree.slide(times, values, 100)
        done = threading.Event()

        def slide() -> None:
            try:
                for _ in range(100):
                    assert np.array_equal(tree.slide(times, values, 100), due)
            finally:
                done.set()

        def change() -> None:
            at = n
            while not done.is_set():
                tree.bulk_insert(np.arange(at, at + 500), np.ones(500))
                tree.bulk_evict(at - n + 400)
                tree.insert(at - 3, 1.0)
                at += 500

        together(slide, change, tree.copy, tree.to_bytes)
        tree.check()

    def test_slide_while_the_object_is_replaced(self) -> None:
        a: Any = make("recalc", sf.sum())
        other: Any = make("recalc", sf.sum())
        done = threading.Event()

        def slide() -> None:
            try:
                for _ in range(10):
                    a.slide(np.ones(20_000), 200)
            finally:
                done.set()

        def replace() -> None:
            while not done.is_set():
                a._copy_from(other)

        together(slide, replace)

    def test_keyed_windows_answer_between_pushes(self) -> None:
        keyed = KeyedWindows(sf.max(), sf.time(10**9))
        n, rounds = 20_000, 12
        seen: list[tuple[int, int]] = []
        done = threading.Event()

        def push() -> None:
            try:
                for i in range(rounds):
                    keyed.push(np.arange(n), np.full(n, i), np.ones(n))
            finally:
                done.set()

        def ask() -> None:
            while not done.is_set():
                seen.append((keyed.entries, len(keyed)))
                assert keyed.nbytes >= 0
                assert keyed.query(5) in (None, 1.0)
                keyed.watermark, keyed.late  # noqa: B018
                assert len(keyed.keys()) in (0, n)

        together(push, ask)
        keyed.check()
        assert keyed.entries == n * rounds
        assert all(entries % n == 0 and keys in (0, n) for entries, keys in seen)
        assert len(seen) > 2  # whoever waits comes next, however soon the next push comes

    def test_copies_and_states_of_a_window_that_changes(self) -> None:
        w: Any = sf.Window(sf.sum(), sf.rows(100))
        done = threading.Event()

        def push() -> None:
            for _ in range(300):
                w.push(Fraction(1))
            done.set()

        def read() -> None:
            while not done.is_set():
                twin = w.copy()
                twin.check()
                assert (twin.query() or 0) == len(twin)
                sf.Window.from_bytes(w.to_bytes()).check()

        together(push, read, read)


def test_a_process_ends_in_silence_beside_a_daemon() -> None:
    """What a daemon thread holds is never given back, and is nothing to tell a user about."""
    script = """
import threading
import pyarrow as pa
import slidefold as sf

held = threading.Event()
def hold():
    live = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10))).live(lateness=1)
    live.feed(pa.table({"t": [1], "x": [2]}))
    window = sf.Window(sf.sum(), sf.rows(3))
    held.set()
    threading.Event().wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
