"""Sba and Pba over time: windows [end - range, end) at multiples of slide."""

from __future__ import annotations

import time as clock

import pytest

from slidefold.errors import TimeOrderError, ValueTypeError, WindowError
from slidefold.reference import Sba
from slidefold.reference import operators as ops


def test_a_long_gap_costs_nothing() -> None:
    window = Sba.over_time(ops.Concat(), 1000, 1, 0)
    window.push(0, "a")
    started = clock.perf_counter()
    assert window.push(10**15, "b") == [(end, "a") for end in range(1, 1001)]
    assert window.push(10**15 + 1, "c") == [(10**15 + 1, "b")]
    assert clock.perf_counter() - started < 5
    window.check()


def test_windows_of_an_operator_with_none_as_identity() -> None:
    window = Sba.over_time(ops.Max(), 7, 3, 0)
    assert window.push(2, 5) == []
    assert window.push(11, 1) == [(3, 5), (6, 5), (9, 5)]
    assert window.push(30, 0) == [(12, 1), (15, 1), (18, 1)]


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
