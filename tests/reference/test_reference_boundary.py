"""Sba and Pba over rows: every shape of range, slide and chunk, and Theorems 1 and 2."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

from slidefold.errors import ValueTypeError, WindowError
from slidefold.reference import Pba, Sba, optimal_chunk_rows, optimal_chunk_time
from slidefold.reference import operators as ops


def test_theorem_1() -> None:
    assert optimal_chunk_rows(2**5, 1) == 17
    assert optimal_chunk_rows(2**20, 1) == 524_289  # the paper prints 5242884
    assert optimal_chunk_rows(10, 2) == 4  # the paper's figure 2 uses 5
    for n in range(1, 200):
        assert optimal_chunk_rows(n, 1) == ((n + 2) // 2 if n > 2 else n)


def waits(range_: int, slide: int, chunk: int) -> bool:
    """Tell whether lcs[1] is late, counting combines on both threads from a chunk boundary on.

    The first window that needs it ends N + 1 - b slices and r mod s values later, by when the main
    thread has made a combine for each value but the very first.
    """
    whole, rest = range_ // slide, range_ % slide
    return chunk - 2 > (whole + 1 - chunk) * slide - 1 + rest


@pytest.mark.parametrize("slide", [1, 2, 3, 7])
def test_theorem_1_is_the_largest_chunk_that_never_waits(slide: int) -> None:
    for range_ in range(slide, 150):
        whole, best = range_ // slide, optimal_chunk_rows(range_, slide)
        assert 1 <= best <= whole
        assert whole // best == 1
        assert not waits(range_, slide, best)
        assert best == whole or waits(range_, slide, best + 1)


def test_theorem_2() -> None:
    assert optimal_chunk_time(60, 1, 1) == 41  # (60 * 2 + 3) // 3
    assert optimal_chunk_time(60, 1, 0) == 60  # combining takes no time
    assert optimal_chunk_time(10, 3, 5) == 3  # 3 * 5 <= 3 + 10 + (1 + 5)
    assert optimal_chunk_time(100, 7, 5) == 11  # (14 * 12 + 17 + (2 + 5)) // 17
    for range_, slide, unit in itertools.product(range(1, 60), range(1, 8), (0, 1, 2, 9)):
        if range_ >= slide:
            best = optimal_chunk_time(range_, slide, unit)
            assert 1 <= best <= range_ // slide
            assert range_ // slide // best == 1


def test_theorem_2_does_not_depend_on_the_unit_of_time() -> None:
    for range_, slide, unit in itertools.product(range(1, 60), range(1, 8), (1, 2, 9)):
        if range_ >= slide:
            seconds = optimal_chunk_time(range_, slide, unit)
            assert optimal_chunk_time(1000 * range_, 1000 * slide, 1000 * unit) == seconds


@pytest.mark.parametrize("make", [Sba, Pba])
def test_bad_shapes(make: Any) -> None:
    with pytest.raises(WindowError, match="range must be at least slide, got range 2, slide 3"):
        make(ops.Max(), 2, 3)
    with pytest.raises(WindowError, match="slide must be greater than 0, got 0"):
        make(ops.Max(), 2, 0)
    with pytest.raises(WindowError, match="chunk must be from 1 to 5 slices, got 6"):
        make(ops.Max(), 10, 2, 6)
    with pytest.raises(WindowError, match="chunk must be from 1 to 5 slices, got 0"):
        make(ops.Max(), 10, 2, 0)


def test_lengths_are_integers() -> None:
    with pytest.raises(ValueTypeError, match=r"range must be an integer, got 2\.5"):
        Sba(ops.Max(), 2.5)  # type: ignore[arg-type]


def test_an_error_on_the_second_thread_comes_out_where_its_result_is_needed() -> None:
    class Homesick(ops.Concat):
        home = threading.get_ident()
        here = True

        def combine(self, older: str, newer: str) -> str:
            if threading.get_ident() != self.home or not self.here:
                raise ZeroDivisionError("far from home")
            return older + newer

    op = Homesick()
    window = Pba(op, 6, 1, 6)
    for value in "abcde":
        window.push(value)
    assert window.push("f") == "abcdef"  # its thread fails at once
    op.here = False
    with pytest.raises(ZeroDivisionError, match="far from home"):
        window.push("g")
    op.here = True
    assert [window.push(value) for value in "gh"] == ["bcdefg", "cdefgh"]
    window.check()
