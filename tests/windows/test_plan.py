"""Which algorithm runs a window, and what `explain` says about it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.algorithms import KeyedWindows
from slidefold.errors import OperatorError, PairError, WindowError
from tests.support.algorithms import WINDOWS, fitting
from tests.support.cases import CASES, Case
from tests.support.for_each import for_each
from tests.support.user_operators import Compose, Longest, Reversible, made


@pytest.mark.parametrize(
    ("operator", "latency", "throughput"),
    [
        (sf.sum(dtype="int64"), "subtract_on_evict", "subtract_on_evict"),
        (sf.count(), "subtract_on_evict", "subtract_on_evict"),
        (sf.sum(), "daba_lite", "two_stacks_lite"),
        (sf.max(), "daba_lite", "slick_deque"),
        (sf.concat(), "daba_lite", "two_stacks_lite"),
        (made(Compose), "daba_lite", "two_stacks_lite"),
        (made(Longest), "daba_lite", "slick_deque"),
        (made(Reversible), "subtract_on_evict", "subtract_on_evict"),
    ],
    ids=str,
)
def test_choices(operator: sf.Operator, latency: str, throughput: str) -> None:
    for window in (sf.rows(10), sf.time(10), sf.time("1h")):
        assert sf.plan(operator, window).algorithm == latency
        assert sf.plan(operator, window, optimize="throughput").algorithm == throughput
        assert sf.Window(operator, window, optimize="throughput").plan.algorithm == throughput


@for_each("case", CASES)
def test_every_choice_runs_and_is_explained(case: Case) -> None:
    for optimize in ("latency", "throughput"):
        window = sf.Window(case.operator, sf.rows(3), optimize=optimize)
        values = case.stream(8)
        for value in values:
            window.push(value)
        assert case.right(window.query(), values[-3:])
        text = window.explain()
        assert window.plan.algorithm in text
        assert "because" in text
        assert "rows(3)" in text
        assert "see its page" not in text


@pytest.mark.parametrize("name", WINDOWS)
def test_algorithm_is_obeyed(name: str) -> None:
    for operator in (sf.sum(dtype="int64"), sf.max(), sf.concat()):
        if name in fitting(operator):
            window = sf.Window(operator, sf.time(3), algorithm=name)
            assert window.plan.algorithm == name
            assert "algorithm= requested it" in window.explain()
            assert "see its page" not in window.explain()
        else:
            with pytest.raises(PairError, match=r"needs an? (invertible|selective) operator"):
                sf.Window(operator, sf.time(3), algorithm=name)


def test_a_plan_is_pure() -> None:
    assert sf.plan(sf.max(), sf.rows(5)) == sf.plan(sf.max(), sf.rows(5))
    assert str(sf.plan(sf.max(), sf.rows(5))) == sf.Window(sf.max(), sf.rows(5)).explain()


def test_wrong_wishes() -> None:
    with pytest.raises(PairError, match="did you mean 'daba_lite'"):
        sf.Window(sf.max(), sf.rows(5), algorithm="dabalite")
    with pytest.raises(WindowError, match="'latency' or 'throughput', got 'speed'"):
        sf.Window(sf.max(), sf.rows(5), optimize="speed")
    with pytest.raises(OperatorError, match="expected an operator"):
        sf.Window("max", sf.rows(5))  # type: ignore[arg-type]
    with pytest.raises(OperatorError, match="expected an operator"):
        sf.Window(sf.max, sf.rows(5))  # type: ignore[arg-type]
    with pytest.raises(WindowError, match=r"expected a rows or time window, .* got sf.session"):
        sf.Window(sf.max(), sf.session("5m"))  # type: ignore[arg-type]
    with pytest.raises(OperatorError, match="expected an operator"):
        sf.plan("max", sf.rows(5))  # type: ignore[arg-type]
    with pytest.raises(WindowError, match=r"a window must be a duration such as '1h', .* got 5.0"):
        sf.plan(sf.max(), 5.0)  # type: ignore[arg-type]


def test_short_windows_are_those_of_over() -> None:
    assert sf.Window(sf.max(), 5).plan == sf.plan(sf.max(), sf.rows(5))
    for hour in ("1h", timedelta(hours=1), np.timedelta64(1, "h")):
        given: Any = hour
        assert sf.Window(sf.max(), given).plan.window.rule() == sf.time("1h").rule()
        assert KeyedWindows(sf.max(), given).window.rule() == sf.time("1h").rule()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        (" 1d ", 86400),
        ("2w", 14 * 86400),
        ("1H", 3600),
        ("500ms500ms", 1),
        ("1000000us", 1),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert sf.time(text).rule() == sf.time(timedelta(seconds=seconds)).rule()
    assert str(sf.time(text)) == f"sf.time({text!r})"
