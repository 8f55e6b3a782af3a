"""Median and quantile, event by event: against numpy, and against the windows that collect."""

from __future__ import annotations

import bisect
import math
import random
import statistics
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.algorithms import DabaLite, Fiba
from slidefold.errors import OperatorError, PairError, StateError, ValueTypeError
from tests.support.unchanged import refused, unchanged

INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")
INT_MAX, INT_MIN = 2**63 - 1, -(2**63)


def truth(values: list[float] | None, q: float, how: Any) -> float | None:
    return float(np.quantile(values, q, method=how)) if values else None


@pytest.mark.parametrize("how", INTERPOLATIONS)
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_against_numpy(dtype: str, how: str) -> None:
    """Few different values, so that equal ones leave and come; nulls take their place."""
    rng = random.Random(1)
    for n, q in ((1, 0.5), (2, 0.5), (7, 0.1), (150, 0.5), (150, 1 / 3), (400, 0.9), (400, 0)):
        operator = sf.quantile(q=q, interpolation=how, dtype=dtype)
        window, beside = (sf.Window(o, sf.rows(n)) for o in (operator, sf.collect(dtype=dtype)))
        for step in range(900 if n > 150 else 450):
            value = (
                None if rng.random() < 0.05 else rng.choice([rng.randrange(9), rng.randrange(900)])
            )
            found, due = window.push(value), truth(beside.push(value), q, how)
            assert (
                found == due if due is None else found == pytest.approx(due, rel=1e-14, abs=1e-13)
            )
            if step % 150 == 0:
                window.check()


@pytest.mark.parametrize("closed", ["right", "left", "both", "neither"])
def test_late_events(closed: str) -> None:
    """In lockstep with a late window that collects: pushes, queries, retractions, watermarks."""
    rng = random.Random(closed)
    for q, how in ((0.5, "linear"), (0.25, "nearest"), (1.0, "linear")):
        of = sf.quantile(q=q, interpolation=how)
        window, beside = (
            sf.Window(o, sf.time(12, closed=closed), lateness=9) for o in (of, sf.collect())
        )
        now = 0
        for step in range(400):
            now += rng.randrange(3)
            time = now - rng.randrange(14) if rng.random() < 0.4 else now
            value = None if rng.random() < 0.1 else float(rng.randrange(10))
            assert window.push(time, value) == truth(beside.push(time, value), q, how)
            assert window.query(last=5) == truth(beside.query(last=5), q, how)
            assert window.query(now - 4, now - 2) == truth(beside.query(now - 4, now - 2), q, how)
            if step % 19 == 7:
                assert window.evict(time) == beside.evict(time)
            if step % 41 == 11:
                window.advance(now - 3)
                beside.advance(now - 3)
            assert (len(window), window.late) == (len(beside), beside.late)
            if step % 50 == 0:
                window.check()
                window = sf.Window.from_bytes(window.to_bytes())
        assert window.late > 0


@pytest.mark.parametrize("late", [100, 5_000])
def test_events_far_behind_others(late: int) -> None:
    """Windows that hold thousands of rows, and end thousands of rows before the newest one."""
    rng = random.Random(late)
    window = sf.Window(sf.median(), sf.time(4_000), lateness=late + 1_000)
    texts = sf.Window(
        sf.quantile(q=0.3, interpolation="lower", dtype="str"),
        sf.time(4_000),
        lateness=late + 1_000,
    )
    rows: list[tuple[int, int, float | None]] = []
    for step in range(9_000):
        time = step if step % 4 or step < 6_000 else step - rng.randrange(late)
        value = None if rng.random() < 0.05 else round(rng.gauss(0, 3), 2)
        bisect.insort(rows, (time, step, value), key=lambda row: row[:2])
        found = window.push(time, value)
        word = texts.push(time, None if value is None else f"{value:+07.2f}")
        if step % 97 == 0 or (time < step and rng.random() < 0.05):
            first = bisect.bisect_right(rows, time - 4_000, key=lambda row: row[0])
            behind = bisect.bisect_right(rows, time, key=lambda row: row[0])
            held = [v for _, _, v in rows[first:behind] if v is not None]
            assert found == (statistics.median(held) if held else None)
            words = sorted(f"{v:+07.2f}" for v in held)
            assert word == (words[int(0.3 * (len(words) - 1))] if words else None)
        if step % 1_500 == 1_499:
            window.check()
            texts.check()
            window = sf.Window.from_bytes(window.to_bytes())
            texts = sf.Window.from_bytes(texts.to_bytes())


def test_nan_is_the_largest_and_zeros_are_one() -> None:
    window = sf.Window(sf.median(), sf.rows(3))
    found = [window.push(x) for x in (math.nan, 1.0, math.inf, -0.0, 0.0, 0.0)]
    assert math.isnan(found[0])
    assert math.isnan(found[1])
    assert found[2:] == [math.inf, 1.0, 0.0, 0.0]
    least, most = (sf.Window(sf.quantile(q=q), sf.rows(9)) for q in (0, 1))
    for x in (2.0, math.nan, -math.inf):
        low, high = least.push(x), most.push(x)
    assert low == -math.inf
    assert math.isnan(high)


def test_extremes_do_not_overflow() -> None:
    wide = sf.Window(sf.median(), sf.rows(2))
    assert [wide.push(x) for x in (1.7e308, -1.7e308, -math.inf)] == [1.7e308, 0.0, -math.inf]
    whole = sf.Window(sf.median(dtype="int64"), sf.rows(2))
    assert [whole.push(x) for x in (INT_MIN, INT_MAX, INT_MAX - 1)] == [-(2.0**63), 0.0, 2.0**63]
    picked = sf.Window(sf.median(dtype="int64", interpolation="lower"), sf.rows(2))
    assert [picked.push(x) for x in (INT_MAX, INT_MAX - 1)] == [INT_MAX, INT_MAX - 1]


def test_left_closed_windows_and_times() -> None:
    rows = sf.Window(sf.median(), sf.rows(2, closed="left"))
    assert [rows.push(x) for x in (1.0, 3.0, 9.0, 0.0)] == [None, 1.0, 2.0, 6.0]
    timed = sf.Window(sf.median(), sf.time(10, closed="left"))
    found = [timed.push(t, x) for t, x in ((0, 1.0), (0, 5.0), (4, 9.0), (11, 0.0), (30, 2.0))]
    assert found == [None, None, 3.0, 9.0, None]
    timed.advance(31)
    assert timed.query() == 2.0


@pytest.mark.parametrize("window", [sf.rows(5), sf.rows(5, closed="left"), sf.time(6)], ids=str)
def test_saved_and_copied(window: Any) -> None:
    rng = random.Random(3)
    original = sf.Window(sf.quantile(q=0.3, dtype="int64"), window)
    event = (
        (lambda i: (i, rng.randrange(50)))
        if isinstance(window, sf.definition.windows.Time)
        else (lambda i: (None if i % 5 == 2 else rng.randrange(50),))
    )
    for i in range(23):
        original.push(*event(i))
    saved, twin = sf.Window.from_bytes(original.to_bytes()), original.copy()
    assert saved.to_bytes() == original.to_bytes() == twin.to_bytes()
    for i in range(23, 40):
        given = event(i)
        assert original.push(*given) == saved.push(*given) == twin.push(*given)
    assert saved.to_bytes() == original.to_bytes()


def test_damage_is_found() -> None:
    window = sf.Window(sf.median(), sf.time(9), lateness=3)
    for t in range(6):
        window.push(t, float(t))
    data = window.to_bytes()
    for at in range(0, len(data), 7):
        with pytest.raises(StateError):
            sf.Window.from_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_no_algorithm_folds_it() -> None:
    for make in (
        lambda: DabaLite(sf.median()),
        lambda: Fiba(sf.quantile(q=0.1)),
        lambda: sf.Window(sf.struct(m=sf.median("x")), sf.rows(3)),
        lambda: sf.check(sf.median()),
    ):
        with refused(PairError, "median"):
            make()
    with refused(PairError, "median", "daba_lite"):
        sf.Window(sf.median(), sf.rows(3), algorithm="daba_lite")
    assert "order_statistics" in sf.Window(sf.median(), sf.rows(3)).explain()


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan, "x", None, True])
def test_a_share_is_due(q: Any) -> None:
    with refused(OperatorError, "q of quantile must be a number from 0 to 1"):
        sf.quantile("x", q)


def test_bad_input() -> None:
    with refused(OperatorError, "linear", "did you mean 'lower'"):
        sf.median(interpolation="lowr")
    for window in (
        sf.Window(sf.median(), sf.rows(2)),
        sf.Window(sf.median(), sf.rows(2, closed="left")),
    ):
        window.push(1.0)
        with unchanged(window), refused(ValueTypeError, "'x'"):
            window.push("x")
    late = sf.Window(sf.median(), sf.time(5), lateness=2)
    late.push(1, 1.0)
    with unchanged(late), refused(ValueTypeError, "'x'"):
        late.push(2, "x")
