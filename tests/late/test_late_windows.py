"""`sf.Window(..., lateness=)` against the rows themselves, in exact arithmetic."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.errors import PairError, TimeOrderError, ValueTypeError, WindowError
from tests.windows.test_time import CLOSED, inside


class Truth:
    """All rows that were taken, and the rule of what is late."""

    def __init__(self, length: Any, lateness: Any, closed: str) -> None:
        self.length, self.lateness, self.closed = length, lateness, closed
        self.rows: list[tuple[Any, str]] = []
        self.newest: Any = None
        self.watermark: Any = None
        self.late = 0

    def is_late(self, time: Any) -> bool:
        if self.watermark is not None and time <= self.watermark:
            return True
        return self.newest is not None and Fraction(time) < Fraction(self.newest) - Fraction(
            self.lateness
        )

    def fold(self, keep: Any) -> str | None:
        texts = [text for time, text in sorted(self.rows, key=lambda row: row[0]) if keep(time)]
        return "".join(texts) if texts else None

    def at(self, end: Any, length: Any = None) -> str | None:
        length = self.length if length is None else length
        return self.fold(lambda time: inside(time, end, length, self.closed))

    def push(self, time: Any, text: str) -> str | None:
        if self.is_late(time):
            self.late += 1
            return None
        self.rows.append((time, text))
        if self.newest is None or time > self.newest:
            self.newest = time
        return self.at(time)

    @property
    def end(self) -> Any:
        known = [t for t in (self.newest, self.watermark) if t is not None]
        return max(known)


TIMES: dict[str, Any] = {
    "integers": (10, 4, lambda rng, now: now - rng.choice([0, 0, 0, 1, 3, 5, 9])),
    "floats": (2.5, 0.75, lambda rng, now: (now - rng.choice([0, 0, 1, 3, 7])) * 0.1),
    "tiny": (1e-20, 1.0, lambda rng, now: 1 + (now - rng.choice([0, 0, 2])) * 0.25),
    "integer_range": (4, 2, lambda rng, now: (now - rng.choice([0, 0, 1, 3])) * 0.5),
}


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 4))]
)
def test_lockstep(kind: str, closed: str, seed: int) -> None:
    rng = random.Random(f"{kind}{closed}{seed}")
    length, lateness, draw = TIMES[kind]
    window = sf.Window(sf.concat(), sf.time(length, closed=closed), lateness=lateness)
    truth = Truth(length, lateness, closed)
    now = 0
    for _ in range(250):
        now += rng.choice([0, 0, 1, 1, 2, 12])
        kind_of_step = rng.random()
        if kind_of_step < 0.75:
            time, text = draw(rng, now), rng.choice("abcdefgh")
            assert window.push(time, text) == truth.push(time, text)
        elif kind_of_step < 0.85:
            time = draw(rng, now + rng.choice([-6, -2, 0, 2]))
            window.advance(time)
            if truth.watermark is None or time > truth.watermark:
                truth.watermark = time if not truth.is_late(time) else truth.watermark
        elif truth.rows:
            time = rng.choice(truth.rows)[0]
            # What has left cannot be retracted any more.
            if window.evict(time):
                truth.rows = [row for row in truth.rows if row[0] != time]
            elif not truth.is_late(time):
                assert all(row[0] != time for row in truth.rows)
        window.check()
        assert window.late == truth.late
        if truth.newest is not None or truth.watermark is not None:
            assert window.query() == truth.at(truth.end)
            assert window.query(last=length) == truth.at(truth.end)
            half = length / 2 if isinstance(length, float) else length // 2
            assert window.query(last=half) == truth.at(truth.end, half)
            since = truth.end - half
            assert window.query(since, truth.end) == truth.fold(
                lambda time, s=since: s <= time <= truth.end
            )
        if rng.random() < 0.05:
            window = window.copy()


def test_datetimes() -> None:
    window = sf.Window(sf.sum(), sf.time("1h"), lateness="10m")
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert window.push(noon, 1.0) == 1.0
    assert window.push(noon - timedelta(minutes=10), 2.0) == 2.0
    assert window.push(noon - timedelta(minutes=11), 4.0) is None
    assert window.query() == 3.0
    assert window.query(last="5m") == 1.0
    assert window.query(last=timedelta(minutes=11)) == 3.0
    assert window.query(noon - timedelta(minutes=10), noon - timedelta(minutes=1)) == 2.0
    assert window.evict(noon) is True
    assert window.query() == 2.0


def test_plain_ranges_of_queries_are_read_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers and timedeltas always, the text of a duration once."""
    numbers = sf.Window(sf.count(), sf.time(100), lateness=0)
    for time in range(100):
        numbers.push(time, 0)
    moments = sf.Window(sf.count(), sf.time("1h"), lateness=0)
    for time in range(60):
        moments.push(datetime(2024, 5, 1) + timedelta(minutes=time), 0)
    assert (moments.query(last="7m"), moments.query(last=" 1h ")) == (7, 60)
    assert numbers.query(last=np.int64(7)) == 7

    def called(*_: Any) -> None:
        raise AssertionError("a range was read by Python")

    monkeypatch.setattr(sf.definition.windows, "time", called)
    for last, rows in ((7, 7), (100, 100), (2.5, 3), (np.float64(7), 7), (99.5, 100)):
        assert numbers.query(last=last) == rows
    assert moments.query(last="7m") == moments.query(last=timedelta(minutes=7)) == 7
    assert moments.query(last=" 1h ") == moments.query(last=timedelta(hours=1)) == 60
    assert moments.query(last=timedelta(microseconds=1)) == 1
    with pytest.raises(AssertionError):
        numbers.query(last=True)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (0, "must be > 0"), (-1.5, "finite and > 0"), (float("nan"), "finite"),
        (float("inf"), "finite"),
        (2**63, "must be < 2"), (True, "a duration or a number"), (None, "a duration or a number"),
        (timedelta(1), "counts in numbers"), ("7m", "counts in numbers"),
    ],
)  # fmt: skip
def test_wrong_ranges_of_queries(last: Any, message: str) -> None:
    window = sf.Window(sf.count(), sf.time(100), lateness=0)
    window.push(1, 0)
    for _ in range(2):
        with pytest.raises(WindowError, match=message):
            window.query(last=last)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (timedelta(0), "positive"), (timedelta(-1), "positive"), (timedelta(days=10**6), "292"),
        ("5x", "expected a duration"), ("\ud800", "expected a duration"), ("1ns", "whole micro"),
        (7, "counts in durations"), (7.5, "counts in durations"),
    ],
)  # fmt: skip
def test_wrong_durations_of_queries(last: Any, message: str) -> None:
    window = sf.Window(sf.count(), sf.time("1h"), lateness=0)
    window.push(datetime(2024, 5, 1), 0)
    for _ in range(2):
        with pytest.raises(WindowError, match=message):
            window.query(last=last)
    assert window.query(last=timedelta(microseconds=1)) == 1


def test_late_events_can_raise() -> None:
    window = sf.Window(sf.sum(), sf.time(10), lateness=2, late="raise")
    window.push(10, 1.0)
    with pytest.raises(TimeOrderError, match="the event at 7 is late: this window takes 8 and"):
        window.push(7, 1.0)
    assert (window.late, window.query()) == (0, 1.0)


def test_a_window_refuses_to_answer_without_what_has_left() -> None:
    window = sf.Window(sf.sum(), sf.time(10), lateness=0)
    for time in range(100):
        window.push(time, 1.0)
    assert window.query(90, 99) == 10.0
    with pytest.raises(WindowError, match="events at or before 89 have left this window"):
        window.query(80, 99)
    with pytest.raises(WindowError, match="have left"):
        window.query(last=11)


def test_eviction_is_bounded_by_range_and_lateness() -> None:
    window = sf.Window(sf.count(), sf.time(100), lateness=20)
    for time in range(10_000):
        window.push(time, 0)
    assert len(window) == 120
    window.advance(9_999)
    assert len(window) == 100


def test_integer_sums_beyond_64_bits_leave_the_window_as_it_was() -> None:
    window = sf.Window(sf.sum(dtype="int64"), sf.time(10), lateness=5)
    window.push(1, 2**62)
    with pytest.raises(OverflowError):
        window.push(3, 2**62)
    assert (window.query(), len(window)) == (2**62, 1)
    assert window.push(2, 5) == 2**62 + 5
    window.check()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"lateness": -1}, WindowError, "lateness must be a duration or a number >= 0, got -1"),
        ({"lateness": "5m"}, WindowError, "must be a number, got '5m'"),
        ({"lateness": True}, WindowError, "lateness"),
        (
            {"lateness": 1, "late": "keep"},
            WindowError,
            "late must be 'drop' or 'raise', got 'keep'",
        ),
        ({"lateness": 1, "algorithm": "daba_lite"}, PairError, "daba_lite needs events in order"),
        ({"algorithm": "fiba"}, PairError, "algorithm='fiba' needs lateness="),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        sf.Window(sf.sum(), sf.time(10), **arguments)


def test_bad_calls() -> None:
    window: Any = sf.Window(sf.sum(), sf.time(10), lateness=1)
    window.push(1, 1.0)
    calls: list[tuple[Any, type[Exception], str]] = [
        (lambda: window.push(1.0), ValueTypeError, "takes push"),
        (lambda: window.push("1", 1.0), ValueTypeError, "expected"),
        (lambda: window.push(datetime(2024, 1, 1), 1.0), ValueTypeError, "expected a number"),
        (lambda: window.query(3, 1), WindowError, "since is after until"),
        (lambda: window.query(3), ValueTypeError, "since and until"),
        (lambda: window.query(last="5m"), WindowError, "counts in numbers"),
        (lambda: window.query(last=-1), WindowError, "must be > 0"),
        (lambda: window.query(1, 2, last=1), ValueTypeError, "either since and until, or last="),
        (lambda: window.query(lst=1), ValueTypeError, "since, until and last"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()
    assert window.query() == 1.0
    with pytest.raises(WindowError, match="lateness needs a time window"):
        sf.Window(sf.sum(), sf.rows(10), lateness=1)
    with pytest.raises(WindowError, match="made with lateness="):
        sf.Window(sf.sum(), sf.time(10)).query(last=5)


def test_the_plan_says_why() -> None:
    text = sf.Window(sf.mean(), sf.time("5m"), lateness="1m").explain()
    assert "fiba" in text
    assert "late" in text
    assert "1m more for late events" in text
