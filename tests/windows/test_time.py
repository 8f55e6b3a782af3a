"""Time windows over numbers, against the rows themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import slidefold as sf
from tests.support.algorithms import WINDOWS, fitting
from tests.support.cases import BY_ID, Case

CLOSED = ["right", "left", "both", "neither"]


def inside(time: Any, end: Any, length: Any, closed: str) -> bool:
    """Tell whether a row lies in the window that ends at `end`, in exact arithmetic."""
    at, last = Fraction(time), Fraction(end)
    start = last - Fraction(length)
    after = at >= start if closed in ("left", "both") else at > start
    before = at <= last if closed in ("right", "both") else at < last
    return after and before


WHOLE = st.integers(0, 6) | st.sampled_from([0, 1, 10, 100])
PARTS = WHOLE | st.sampled_from([0.5, 0.25, 0.1, 0.2, 0.3, 1e-9, 1e9])
RANGES: dict[str, Any] = {
    "ints": (st.integers(1, 12), WHOLE, st.integers(-(10**15), 10**15)),
    "floats": (
        st.floats(1e-9, 20.0) | st.sampled_from([0.1, 0.3, 1e-7, 2.0]),
        PARTS.map(float),
        st.floats(-1e9, 2e9),
    ),
    "mixed": (
        st.integers(1, 12) | st.sampled_from([0.5, 2.5]),
        PARTS,
        st.integers(-(10**9), 10**9),
    ),
}


def machine_of(case: Case, closed: str, kind: str) -> type[RuleBasedStateMachine]:
    """Return a machine that pushes and advances beside a list of rows."""
    lengths, steps, starts = RANGES[kind]

    class Timed(RuleBasedStateMachine):
        @initialize(length=lengths, start=starts)
        def begin(self, length: Any, start: Any) -> None:
            self.length = length
            self.now = start
            self.rows: list[tuple[Any, Any]] = []
            self.started = False
            self.windows = {
                name: sf.Window(
                    case.operator, sf.time(length, closed=closed), algorithm=name, checked=True
                )
                for name in fitting(case.operator, WINDOWS)
            }

        def seen(self) -> list[Any]:
            if not self.started:
                return []
            return [v for t, v in self.rows if inside(t, self.now, self.length, closed)]

        @rule(step=steps, value=case.kind.strategy)
        def push(self, step: Any, value: Any) -> None:
            self.now = self.now + step if self.started else self.now
            self.started = True
            self.rows.append((self.now, value))
            for name, window in self.windows.items():
                got = window.push(self.now, value)
                assert case.right(got, self.seen()), (name, got)

        @rule(step=steps, value=case.kind.strategy)
        def insert(self, step: Any, value: Any) -> None:
            self.now = self.now + step if self.started else self.now
            self.started = True
            self.rows.append((self.now, value))
            for window in self.windows.values():
                window.insert(self.now, value)

        @rule(values=st.lists(case.kind.strategy, max_size=4))
        def peers(self, values: list[Any]) -> None:
            for value in values:
                self.push(0, value)

        @rule(step=steps)
        def advance(self, step: Any) -> None:
            self.now = self.now + step if self.started else self.now
            self.started = True
            for window in self.windows.values():
                window.advance(self.now)

        @rule(step=st.integers(0, 50))
        def advance_backwards_is_nothing(self, step: int) -> None:
            if self.started:
                for window in self.windows.values():
                    window.advance(self.now - step)

        @rule(value=case.kind.strategy)
        def push_backwards(self, value: Any) -> None:
            if not self.started:
                return
            for window in self.windows.values():
                with pytest.raises(sf.errors.TimeOrderError, match="went backwards"):
                    window.push(self.now - 1, value)

        @rule()
        def continue_with_copies(self) -> None:
            old, self.windows = self.windows, {k: w.copy() for k, w in self.windows.items()}
            for window in old.values():
                window.advance(self.now + 1000)

        @invariant()
        def agree(self) -> None:
            if not hasattr(self, "windows"):
                return
            for name, window in self.windows.items():
                window.check()
                assert len(window) == len(self.seen()), name
                assert case.right(window.query(), self.seen()), name

    return Timed


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("case", [BY_ID["concat"], BY_ID["sum-int64"]], ids=str)
def test_against_the_rows(case: Case, closed: str, kind: str) -> None:
    fewer = settings(max_examples=max(5, settings().max_examples // 2))  # nine windows a step
    run_state_machine_as_test(machine_of(case, closed, kind), settings=fewer)


@settings(max_examples=10)
@pytest.mark.parametrize("closed", CLOSED)
@given(data=st.data())
def test_operators(closed: str, data: st.DataObject) -> None:
    for case_id in (
        "max-float64",
        "mean-int64",
        "max_by-str-float64",
        "user-product",
        "bloom-str-64",
    ):
        case = BY_ID[case_id]
        steps = data.draw(st.lists(st.tuples(st.integers(0, 4), case.kind.strategy), max_size=15))
        window = sf.Window(case.operator, sf.time(5, closed=closed), checked=True)
        now, rows = 0, []
        for step, value in steps:
            now += step
            rows.append((now, value))
            seen = [v for t, v in rows if inside(t, now, 5, closed)]
            assert case.right(window.push(now, value), seen)
            window.check()


class TestPeers:
    """Rows of equal time see each other, as far as they have come."""

    PUSHES = ((0, "a"), (0, "b"), (5, "c"), (5, "d"), (10, "e"), (10, "f"), (15, "g"))

    @pytest.mark.parametrize(
        ("closed", "expected"),
        [
            ("right", ["a", "ab", "abc", "abcd", "cde", "cdef", "efg"]),
            ("left", [None, None, "ab", "ab", "abcd", "abcd", "cdef"]),
            ("both", ["a", "ab", "abc", "abcd", "abcde", "abcdef", "cdefg"]),
            ("neither", [None, None, "ab", "ab", "cd", "cd", "ef"]),
        ],
    )
    def test_each_way_to_close(self, closed: str, expected: list[str | None]) -> None:
        for name in fitting(sf.concat(), WINDOWS):
            window = sf.Window(sf.concat(), sf.time(10, closed=closed), algorithm=name)
            assert [window.push(t, v) for t, v in self.PUSHES] == expected


class TestNumbers:
    def test_a_range_below_the_spacing_of_floats(self) -> None:
        """1.7e9 - 1e-7 is 1.7e9 in floats; the row itself and its peers are inside all the same."""
        for closed in ("right", "both"):
            window = sf.Window(sf.sum(), sf.time(1e-7, closed=closed), checked=True)
            assert [window.push(1.7e9, 1.0) for _ in range(3)] == [1.0, 2.0, 3.0]
            window.check()
            assert window.push(1.7e9 + 1, 5.0) == 5.0
            window.check()

    def test_bounds_are_exact(self) -> None:
        """0.3 - 0.1 is rounded to what lies below 0.2; the difference itself is not."""
        window = sf.Window(sf.count(), sf.time(0.1))
        window.push(0.2, None)
        assert window.push(0.3, None) == (2 if Fraction(0.3) - Fraction(0.1) < Fraction(0.2) else 1)
        window = sf.Window(sf.count(), sf.time(1.0))
        window.push(-1e-20, None)
        assert window.push(1.0, None) == 1
        window = sf.Window(sf.count(), sf.time(1.0, closed="both"))
        window.push(-1e-20, None)
        assert window.push(1.0, None) == 1

    def test_integers_of_64_bits(self) -> None:
        low, high = -(2**63), 2**63 - 1
        window = sf.Window(sf.count(), sf.time(2**63 - 1), checked=True)
        assert [window.push(t, None) for t in (low, low + 1, -2, -1, 0, high)] == [1, 2, 3, 3, 3, 1]
        window.check()
        window = sf.Window(sf.count(), sf.time(1))
        assert [window.push(t, None) for t in (2**62, 2**62 + 1, 2**62 + 1)] == [1, 1, 2]

    def test_integers_beyond_floats_do_not_mix(self) -> None:
        window = sf.Window(sf.count(), sf.time(10), checked=True)
        window.push(2**53 + 1, None)
        with pytest.raises(sf.errors.ValueTypeError, match=r"2\*\*53"):
            window.push(2.0**60, None)
        assert window.push(2**53 + 2, None) == 2
        window.check()

    @pytest.mark.parametrize("spoil", ["backwards", "value", "advance"])
    def test_a_refused_float_leaves_integers(self, spoil: str) -> None:
        """Times stay integers of 64 bits if the float that would have changed that is refused."""
        window = sf.Window(sf.sum(), sf.time(10), checked=True)
        window.push(5, 1.0)
        if spoil == "backwards":
            with pytest.raises(sf.errors.TimeOrderError, match=r"from 5(\.0)? to 1\.5"):
                window.push(1.5, 1.0)
        elif spoil == "value":
            with pytest.raises(sf.errors.ValueTypeError):
                window.push(5.5, "x")
        else:
            window.advance(1.5)
        assert window.push(2**53 + 1, 2.0) == 2.0
        assert window.push(2**53 + 2, 2.0) == 4.0
        window.check()

    def test_numpy_numbers(self) -> None:
        whole: Any = np.int64(10)
        window = sf.Window(sf.count(), sf.time(whole))
        assert [window.push(t, None) for t in (np.int32(0), np.int64(10), 11)] == [1, 1, 2]
        half: Any = np.float32(0.5)
        window = sf.Window(sf.count(), sf.time(half))
        assert [window.push(t, None) for t in (np.float32(0), np.float64(0.5), 0.75)] == [1, 1, 2]


def test_advance_lets_rows_go_without_an_event() -> None:
    window = sf.Window(sf.collect(dtype="int64"), sf.time(10), checked=True)
    for t in (0, 4, 8):
        window.push(t, t)
    window.advance(10)
    assert window.query() == [4, 8]
    window.advance(14)
    assert window.query() == [8]
    window.advance(18)
    assert (window.query(), len(window)) == (None, 0)
    with pytest.raises(sf.errors.TimeOrderError, match="from 18 to 17"):
        window.push(17, 17)
    assert window.push(18, 18) == [18]


def test_advance_shows_what_waited() -> None:
    """A window closed on the left sees a row as soon as time has moved on."""
    for closed, expected in (("left", [[0], [0], None]), ("neither", [[0], None, None])):
        window = sf.Window(sf.collect(dtype="int64"), sf.time(10, closed=closed), checked=True)
        window.push(0, 0)
        assert (window.query(), len(window)) == (None, 0)
        results = []
        for t in (1, 10, 11):
            window.advance(t)
            window.check()
            results.append(window.query())
        assert results == expected


def test_an_empty_window_may_advance() -> None:
    window = sf.Window(sf.sum(), sf.time(10))
    window.advance(100)
    assert window.query() is None
    with pytest.raises(sf.errors.TimeOrderError):
        window.push(99, 1.0)
    assert window.push(100, 1.0) == 1.0
