"""Wrong windows, pairs, calls and options: a typed error of one sentence, the window unchanged."""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

import slidefold as sf
from slidefold.algorithms import Amta, FlatFat
from slidefold.errors import (
    CapacityError,
    EmptyWindowError,
    OperatorError,
    PairError,
    TimeOrderError,
    ValueTypeError,
    WindowError,
)
from tests.support.algorithms import OFFERS, REGISTERED, STEPPING, WINDOWS, fitting, make, takes
from tests.support.cases import CASES, Case
from tests.support.for_each import for_each
from tests.support.unchanged import refused, unchanged


class TestWindows:
    @pytest.mark.parametrize("n", [0, -1, 1.5, 2.0, "3", None, True, [3], 2**62, 10**400], ids=str)
    def test_rows(self, n: Any) -> None:
        with refused(WindowError, "rows needs"):
            sf.rows(n)

    @pytest.mark.parametrize(
        "length",
        [
            0,
            -1,
            0.0,
            -0.5,
            math.nan,
            math.inf,
            2**63,
            10**400,
            True,
            None,
            [],
            Decimal(3),
            date(2024, 1, 1),
            "",
            " ",
            "0s",
            "-5s",
            "5",
            "s",
            "1.5h",
            "5 parsecs",
            "card",
            "1h!",
            "1mo",
            "1y",
            "2 months",
            "3 years",
            "1q",
            "1M",
            "16000w",
            timedelta(0),
            timedelta(seconds=-1),
            timedelta.max,
        ],
        ids=lambda length: repr(length)[:30],
    )
    def test_time(self, length: Any) -> None:
        with refused(WindowError):
            sf.time(length)

    def test_calendar_durations_say_why(self) -> None:
        for text in ("1mo", "1y", "2 months", "1q", "1M"):
            with refused(WindowError, repr(text), "vary in length"):
                sf.time(text)
        with refused(WindowError, "by='card'"):
            sf.time("card")

    @pytest.mark.parametrize("closed", ["up", "", None, 1, "both", "neither"])
    def test_closed(self, closed: Any) -> None:
        with refused(WindowError, repr(closed)):
            sf.rows(3, closed=closed)
        if closed not in ("both", "neither"):
            with refused(WindowError, repr(closed)):
                sf.time(3, closed=closed)

    def test_the_wrong_call(self) -> None:
        by_row = sf.Window(sf.sum(), sf.rows(2), checked=True)
        by_time = sf.Window(sf.sum(), sf.time(2), checked=True)
        by_row.push(1.0)
        by_time.push(0, 1.0)
        with unchanged(by_row, by_time):
            for step in (by_row.push, by_row.insert):
                with refused(ValueTypeError, "push(value)"):
                    step(1, 2.0)
            for step in (by_time.push, by_time.insert):
                with refused(ValueTypeError, "push(time, value)"):
                    step(1.0)
            with refused(ValueTypeError, "no time to advance"):
                by_row.advance(5)
            for window in (by_row, by_time):
                for step in (window.push, window.insert):
                    with refused(ValueTypeError, "got 3 arguments"):
                        step(1, 2, 3)
                    with refused(ValueTypeError, "got 0 arguments"):
                        step()

    @pytest.mark.parametrize("closed", ["right", "left", "both", "neither"])
    @pytest.mark.parametrize("name", WINDOWS)
    def test_time_backwards(self, name: str, closed: str) -> None:
        operator = sf.sum(dtype="int64") if takes(name, sf.sum(dtype="int64")) else sf.max()
        window = sf.Window(operator, sf.time(10, closed=closed), algorithm=name, checked=True)
        for time in (-7, -7, 0, 3):
            window.push(time, 1)
            with unchanged(window):
                with refused(TimeOrderError, f"from {time} to {time - 1}"):
                    window.push(time - 1, 1)
                with refused(TimeOrderError, f"from {time} to {-(2**63)}"):
                    window.insert(-(2**63), 1)
        assert window.push(3, 1) is not None or closed in ("left", "neither")


class TestPairs:
    @for_each("case", CASES)
    @pytest.mark.parametrize("name", [n for n in REGISTERED if OFFERS[n].needs])
    def test_a_missing_property_is_named(self, name: str, case: Case) -> None:
        if takes(name, case.operator):
            make(name, case.operator)
            return
        needs = OFFERS[name].needs
        with refused(PairError, REGISTERED[name].__name__, needs, case.operator.name):
            make(name, case.operator)
        with refused(PairError, needs):
            sf.Window(case.operator, sf.rows(3), algorithm=name)

    @pytest.mark.parametrize("name", STEPPING)
    def test_no_operator(self, name: str) -> None:
        for wrong in (None, "sum", sf.sum, sum, sf.rows(3)):
            with refused(OperatorError, "expected an operator"):
                make(name, wrong)  # type: ignore[arg-type]


class TestEmpty:
    @for_each("case", CASES)
    def test_evict(self, case: Case) -> None:
        for name in fitting(case.operator):
            algorithm = make(name, case.operator, checked=True)
            for value in [None, *case.stream(3)]:
                if value is not None:
                    algorithm.insert(value)
                    algorithm.evict()
                with unchanged(algorithm), refused(EmptyWindowError, "empty window"):
                    algorithm.evict()

    def test_wrong_calls(self) -> None:
        algorithm = make("daba_lite", sf.sum())
        for step in (algorithm.evict, algorithm.query):
            with refused(ValueTypeError, "takes nothing"):
                step(1)
        with refused(ValueTypeError, "insert takes a value"):
            algorithm.insert(1, 2)


class TestOperators:
    def test_dtypes(self) -> None:
        with refused(ValueTypeError, "'int'", "did you mean 'int64'"):
            sf.sum(dtype="int")
        with refused(ValueTypeError, "dtype of sum must be"):
            sf.sum(dtype="str")
        with refused(ValueTypeError, "dtype of bloom must be"):
            sf.bloom(dtype="object")
        with refused(ValueTypeError, "dtype of max_by must be"):
            sf.max_by(key_dtype="object")
        with refused(ValueTypeError, "None"):
            sf.first(dtype=None)  # type: ignore[arg-type]

    @pytest.mark.parametrize("wrong", [-1, 1.5, "1", None, True, 2**31], ids=repr)
    def test_ddof(self, wrong: Any) -> None:
        with refused(OperatorError, "ddof", repr(wrong)):
            sf.var(ddof=wrong)

    @pytest.mark.parametrize("wrong", [0, -1, 1.5, "1", None, True, 2**40], ids=repr)
    def test_bloom(self, wrong: Any) -> None:
        with refused(OperatorError, "bits", repr(wrong)):
            sf.bloom(bits=wrong)
        with refused(OperatorError, "hashes", repr(wrong)):
            sf.bloom(hashes=wrong)


class TestExtras:
    """FlatFat's positions and capacity, Amta's bulk evict."""

    @pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "4"], ids=repr)
    def test_capacity(self, wrong: Any) -> None:
        with refused(CapacityError, repr(wrong)):
            FlatFat(sf.sum(), capacity=wrong)

    def test_positions(self) -> None:
        window = FlatFat(sf.concat(), checked=True)
        for letter in "abc":
            window.insert(letter)
        with unchanged(window):
            for step in (window.evict, window.prefix, window.suffix):
                for gone in (-1, 3, 2**63):
                    with refused(EmptyWindowError, f"no value at position {gone}"):
                        step(gone)
                wrong: Any
                for wrong in ("1", 1.5, [1]):
                    with refused(ValueTypeError, "position"):
                        step(wrong)
            with refused(ValueTypeError, "1 and 2"):
                window.update([0], ["x", "y"])
            with refused(ValueTypeError, "expected a string"):
                window.update([0, 1], ["x", 1])
            with refused(EmptyWindowError, "position 7"):
                window.update([0, 7], ["x", "y"])
            with pytest.raises(ValueError, match="position 1 is given twice"):
                window.update([1, 1], ["x", "y"])

    @pytest.mark.parametrize("wrong", [-1, "1", 1.5, None], ids=repr)
    def test_bulk_evict(self, wrong: Any) -> None:
        window = Amta(sf.concat(), checked=True)
        window.insert("a")
        with unchanged(window), refused(ValueTypeError, "bulk_evict", repr(wrong)):
            window.bulk_evict(wrong)


class Unreadable:
    """An object that looks like a table, and fails without a message."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise TypeError


def test_an_error_without_a_message_is_named_by_its_class() -> None:
    with pytest.raises(ValueTypeError, match="the data is not a table: TypeError"):
        sf.rolling(on="t", n=sf.count().over(3)).run(Unreadable())
