"""Errors are typed, one sentence, and leave the window as it was."""

from __future__ import annotations

from typing import Any

import pytest

from slidefold.errors import EmptyWindowError, PairError, WindowError
from slidefold.reference import Amta, FlatFat, Recalc, Sba, SlickDeque, SubtractOnEvict
from slidefold.reference import operators as ops
from tests.reference.reference_cases import ALL, WITH_ANY, WITH_CONCAT, Make, interleavings, letters


@pytest.mark.parametrize("make", ALL)
def test_evict_from_an_empty_window(make: Make) -> None:
    window = make(ops.Max() if make is SlickDeque else ops.Concat())
    for _ in range(2):
        with pytest.raises(EmptyWindowError, match=r"^cannot evict from an empty window$"):
            window.evict()
        window.check()
        window.insert("a")
        window.evict()
    with pytest.raises(IndexError):
        window.evict()


def test_wrong_pairs() -> None:
    with pytest.raises(PairError) as error:
        SubtractOnEvict(ops.Max())
    assert str(error.value) == "SubtractOnEvict needs an invertible operator, but Max has no remove"
    with pytest.raises(PairError) as error:
        SlickDeque(ops.Sum())
    assert str(error.value) == "SlickDeque needs a selective operator, but Sum has no newer_wins"
    with pytest.raises(TypeError, match="Sum has no remove"):
        SubtractOnEvict(ops.Counting(ops.Sum()))


def test_an_operator_may_be_a_class_of_static_methods() -> None:
    class Longest:
        @staticmethod
        def identity() -> str:
            return ""

        @staticmethod
        def lift(value: str) -> str:
            return value

        @staticmethod
        def combine(older: str, newer: str) -> str:
            return newer if len(newer) > len(older) else older

        @staticmethod
        def lower(state: str) -> str:
            return state

    assert Recalc(Longest).slide(["a", "bbb", "cc"], 2) == ["a", "bbb", "bbb"]
    with pytest.raises(PairError, match="Longest has no newer_wins"):
        SlickDeque(Longest)


@pytest.mark.parametrize("make", ALL)
def test_slide_needs_a_window(make: Make) -> None:
    op = ops.Max() if make is SlickDeque else ops.Concat()
    with pytest.raises(WindowError, match="window must be at least 1, got 0"):
        make(op).slide("abc", 0)


def test_bulk_evict_of_too_many() -> None:
    window = Amta(ops.Concat())
    window.insert("a")
    with pytest.raises(EmptyWindowError, match="cannot evict 2 values from a window of 1"):
        window.bulk_evict(2)
    with pytest.raises(WindowError, match="m must be at least 0, got -1"):
        window.bulk_evict(-1)
    window.bulk_evict(0)
    assert window.query() == "a"


class Fragile(ops.Concat):
    """Raises at a chosen call of combine or remove, or at a forbidden value."""

    left = -1

    def lift(self, value: str) -> str:
        if value == "!":
            raise ZeroDivisionError("fragile")
        return value

    def combine(self, older: str, newer: str) -> str:
        self._tick()
        return older + newer

    def remove(self, whole: str, older: str) -> str:
        self._tick()
        return whole[len(older) :]

    def _tick(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise ZeroDivisionError("fragile")


def attempt(op: Fragile, window: Any, action: Any, calls: int) -> None:
    """Let the action fail at its first, second, ... combine, which changes nothing; then do it."""
    size = len(window)
    for allowed in range(1, calls):
        op.left = allowed
        twin = window.copy()
        try:
            action(twin)
        except ZeroDivisionError:
            op.left = -1
            twin.check()
            assert len(twin) == size
            assert twin.query() == window.query()
        else:
            break
    op.left = -1
    action(window)


@pytest.mark.parametrize("make", WITH_CONCAT)
def test_an_operator_that_raises_leaves_the_window_as_it_was(make: Make) -> None:
    op, source = Fragile(), letters()
    window, oracle = make(op), Recalc(ops.Concat())
    for insert in interleavings(8, 150):
        if insert or not len(oracle):
            with pytest.raises(ZeroDivisionError):
                window.insert("!")
            value = next(source)
            attempt(op, window, lambda w, v=value: w.insert(v), 30)
            oracle.insert(value)
        else:
            attempt(op, window, lambda w: w.evict(), 30)
            oracle.evict()
        if len(oracle) % 3 == 0:
            attempt(op, window, lambda w: w.query(), 30)
        window.check()
        assert window.query() == oracle.query()


def test_flat_fat_update_that_raises() -> None:
    op = Fragile()
    window = FlatFat(op)
    for value in "abcdefgh":
        window.insert(value)
    attempt(op, window, lambda w: w.update([0, 3, 5], "xyz"), 30)
    assert window.query() == "xbcyezgh"


def test_sba_push_that_raises() -> None:
    op = Fragile()
    window: Any = Sba(op, 7, 2)
    results = []
    for value in "abcdefghijklmnop":
        for allowed in range(1, 10):
            op.left = allowed
            twin = window.copy()
            try:
                twin.push(value)
            except ZeroDivisionError:
                op.left = -1
                twin.check()
                assert twin.query() == window.query()
                assert twin.seen == window.seen
        op.left = -1
        results.append(window.push(value))
    assert [r for r in results if r] == ["bcdefgh", "defghij", "fghijkl", "hijklmn", "jklmnop"]


@pytest.mark.parametrize("make", WITH_ANY)
def test_empty_says_what_an_empty_window_gives(make: Make) -> None:
    window = make(ops.Count())
    assert window.query() == 0
    window.insert("a")
    assert window.query() == 1
    window.evict()
    assert window.query() == 0
