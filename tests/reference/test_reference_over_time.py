"""Sba and Pba over time: windows [end - range, end) at multiples of slide."""

from __future__ import annotations

import random
import time as clock
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slidefold.errors import TimeOrderError, ValueTypeError, WindowError
from slidefold.reference import Pba, Sba
from slidefold.reference import operators as ops


def expected(events: list[tuple[int, str]], range_: int, slide: int, now: int) -> list[Any]:
    """All windows with values whose end is at most now."""
    if not events:
        return []
    ends = range(events[0][0] // slide * slide, min(now, events[-1][0] + range_) + 1, slide)
    texts = [(e, "".join(v for t, v in events if e - range_ <= t < e)) for e in ends]
    return [(end, text) for end, text in texts if text]


@pytest.mark.parametrize("make", [Sba, Pba])
@pytest.mark.parametrize(("range_", "slide"), [(10, 5), (10, 3), (4, 4), (7, 1), (9, 4), (5, 2)])
@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 14), st.booleans()), max_size=40),
    start=st.integers(-50, 50),
)
def test_every_window_once(
    make: Any, range_: int, slide: int, steps: list[tuple[int, bool]], start: int
) -> None:
    window = make.over_time(ops.Concat(), range_, slide, combine_time=1)
    events: list[tuple[int, str]] = []
    got: list[Any] = []
    now = start
    for number, (gap, silent) in enumerate(steps):
        now += gap
        if silent:
            got += window.advance(now)
        else:
            value = chr(97 + number % 26)
            got += window.push(now, value)
            events.append((now, value))
        window.check()
        assert got == expected(events, range_, slide, now)
        assert window.query() == (got[-1][1] if got else None)


@pytest.mark.parametrize("chunk", range(1, 6))
def test_every_chunk(chunk: int) -> None:
    chance = random.Random(chunk)
    window = Sba.over_time(ops.Concat(), 11, 2, 1, chunk)
    now, events, got = 0, [], []
    for number in range(120):
        now += chance.choice([0, 0, 1, 1, 2, 3, 9, 30])
        value = chr(97 + number % 26)
        got += window.push(now, value)
        events.append((now, value))
        window.check()
    assert got == expected(events, 11, 2, now)


def test_a_long_gap_costs_nothing() -> None:
    window = Sba.over_time(ops.Concat(), 1000, 1, 0)
    window.push(0, "a")
    started = clock.perf_counter()
    assert window.push(10**15, "b") == [(end, "a") for end in range(1, 1001)]
    assert window.push(10**15 + 1, "c") == [(10**15 + 1, "b")]
    assert clock.perf_counter() - started < 5
    window.check()


def test_times_may_be_negative() -> None:
    window = Sba.over_time(ops.Concat(), 10, 5, 0)
    assert window.push(-7, "a") == []
    assert window.push(-1, "b") == [(-5, "a")]
    assert window.push(6, "c") == [(0, "ab"), (5, "b")]


def test_windows_of_an_operator_with_none_as_identity() -> None:
    window = Sba.over_time(ops.Max(), 7, 3, 0)
    assert window.push(2, 5) == []
    assert window.push(11, 1) == [(3, 5), (6, 5), (9, 5)]
    assert window.push(30, 0) == [(12, 1), (15, 1), (18, 1)]


def test_copies_go_their_own_way() -> None:
    window = Pba.over_time(ops.Concat(), 6, 2, 1)
    for time in range(9):
        window.push(time, chr(97 + time))
    twin = window.copy()
    assert twin.push(10, "X") == [(10, "efghi")]
    assert window.push(9, "j") == []
    assert window.push(10, "k") == [(10, "efghij")]
    twin.check()
    window.check()


def test_bad_input() -> None:
    window = Sba.over_time(ops.Concat(), 6, 2, 1)
    window.push(5, "a")
    with pytest.raises(TimeOrderError, match="times must not go backwards, got 4 after 5"):
        window.push(4, "b")
    window.advance(7)
    with pytest.raises(TimeOrderError, match="times must not go backwards, got 6 after 7"):
        window.advance(6)
    window.check()
    with pytest.raises(WindowError, match="range must be at least slide"):
        Sba.over_time(ops.Concat(), 2, 6, 1)
    with pytest.raises(WindowError, match="combine_time must be at least 0"):
        Sba.over_time(ops.Concat(), 6, 2, -1)
    with pytest.raises(ValueTypeError, match=r"slide must be an integer, got 0\.5"):
        Sba.over_time(ops.Concat(), 6, 0.5, 1)  # type: ignore[arg-type]


def test_an_error_leaves_the_window_as_it_was() -> None:
    class Fragile(ops.Concat):
        left = 10**9

        def combine(self, older: str, newer: str) -> str:
            self.left -= 1
            if self.left < 0:
                raise ZeroDivisionError("fragile")
            return older + newer

    for allowed in range(30):
        op = Fragile()
        window = Sba.over_time(op, 7, 2, 1)
        for time in range(9):
            window.push(time, chr(97 + time))
        op.left = allowed
        try:
            window.push(14, "z")
        except ZeroDivisionError:
            op.left = 10**9
            window.check()
            assert window.push(14, "z") == [(10, "defghi"), (12, "fghi"), (14, "hi")]
        else:
            assert allowed > 3
            break
