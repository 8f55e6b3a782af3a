"""Wrong values, arrays, windows and pairs: a typed error of one sentence, the window unchanged."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
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
from tests.support.unchanged import refused, unchanged

THING = object()
NOT_NUMBERS = [
    None,
    "x",
    "1.5",
    b"1",
    1j,
    [1.0],
    (1.0, 2.0),
    THING,
    datetime(2024, 1, 1),
    timedelta(1),
    np.complex128(1),
    np.str_("3.5"),
    np.array([1.0]),
    np.array([1.0, 2.0]),
    np.datetime64("2024-01-01"),
    np.datetime64("2024-01-01", "ns"),
    np.timedelta64(3, "s"),
    np.timedelta64(3, "ns"),
]
WRONG: dict[str, list[Any]] = {
    "float64": [*NOT_NUMBERS, 10**400, -(10**400)],
    "int64": [
        *NOT_NUMBERS,
        1.0,
        math.nan,
        math.inf,
        np.float64(2),
        Decimal(1),
        2**63,
        -(2**63) - 1,
        np.uint64(2**63),
        np.array([1]),
    ],
    "str": [None, 1, 1.0, b"x", ["x"], THING, "\ud800", "a\udfffb"],
}
PAIRS: list[Any] = [
    None,
    1.0,
    "xy",
    (),
    (1.0,),
    (1.0, 2.0, 3.0),
    [1.0, 2.0],
    np.array([1.0, 2.0]),
]


def wrong_for(case: Case) -> list[Any]:
    """Return values that the case's operator must refuse."""
    operator = case.operator
    if operator.name in ("max_by", "min_by"):
        right = case.stream(1)[0]
        wrong_args = [(wrong, right[1]) for wrong in WRONG.get(operator.dtype, [])]
        return PAIRS + wrong_args + [(right[0], wrong) for wrong in WRONG[operator.key_dtype]]
    return WRONG.get(operator.dtype, [])


PICKY = [case for case in CASES if wrong_for(case)]


class TestValues:
    @pytest.mark.parametrize("case", PICKY, ids=str)
    def test_algorithms(self, case: Case) -> None:
        for name in fitting(case.operator):
            algorithm = make(name, case.operator, checked=True)
            for value in [None, *case.stream(3)]:
                if value is not None:
                    algorithm.insert(value)
                for wrong in wrong_for(case):
                    with unchanged(algorithm), refused(ValueTypeError, "is due, got"):
                        algorithm.insert(wrong)

    @pytest.mark.parametrize("closed", ["right", "left"])
    @pytest.mark.parametrize("case", PICKY, ids=str)
    def test_windows(self, case: Case, closed: str) -> None:
        by_row = sf.Window(case.operator, sf.rows(2, closed=closed), checked=True)
        by_time = sf.Window(case.operator, sf.time(2, closed=closed), checked=True)
        for at, value in enumerate(case.stream(4)):
            by_row.push(value)
            by_time.push(at, value)
            with unchanged(by_row, by_time):
                for wrong in wrong_for(case):
                    with refused(ValueTypeError, "is due, got"):
                        by_row.push(wrong)
                    with refused(ValueTypeError, "is due, got"):
                        by_row.insert(wrong)
                    with refused(ValueTypeError, "is due, got"):
                        by_time.push(at + 100, wrong)  # the time is not taken either

    @pytest.mark.parametrize("case", [c for c in PICKY if c.operator.dtype == "str"], ids=str)
    def test_columns_of_strings(self, case: Case) -> None:
        for name in fitting(case.operator):
            algorithm = make(name, case.operator, checked=True)
            for wrong in WRONG["str"]:
                values: Any = ["a", wrong, "b"]
                if case.operator.name in ("max_by", "min_by"):
                    values = (values, np.arange(3, dtype=case.operator.key_dtype))
                for run in (algorithm.slide, algorithm.latencies):
                    with unchanged(algorithm), refused(ValueTypeError, "is due, got"):
                        run(values, 2)

    def test_a_long_value_is_cut_short(self) -> None:
        for letter in ("x", "é", "日", "\U0001f600", "\0"):
            with refused(ValueTypeError, "…", "(str)"):
                sf.Window(sf.sum(), sf.rows(2)).push(letter * 10_000)

    def test_an_error_of_the_value_itself_comes_out(self) -> None:
        class Broken:
            def __float__(self) -> float:
                raise LookupError("no number here")

        class Strange:
            def __repr__(self) -> str:
                return "\ud800"

        with refused(ValueTypeError, "Strange"):
            sf.Window(sf.sum(), sf.rows(2)).push(Strange())

        class Unshown:
            def __repr__(self) -> str:
                raise LookupError("no name here")

        window = sf.Window(sf.sum(), sf.rows(2), checked=True)
        for value in (Broken(), Unshown()):
            with unchanged(window), pytest.raises(LookupError):
                window.push(value)


def _arrays(dtype: str) -> dict[str, Any]:
    other = "int64" if dtype == "float64" else "float64"
    right = np.arange(8, dtype=dtype)
    return {
        "other dtype": right.astype(other),
        "narrow": right.astype(dtype.replace("64", "32")),
        "bool": right.astype("bool"),
        "complex": right.astype("complex128"),
        "object": right.astype(object),
        "string": right.astype("U"),
        "datetime": right.astype("int64").astype("M8[s]"),
        "byte order": right.astype(right.dtype.newbyteorder(">")),
        "stride": right[::2],
        "backwards": right[::-1],
        "two dimensions": right.reshape(2, 4),
        "no dimension": right[0:1].reshape(()),
        "not aligned": np.frombuffer(b"\0" + right.tobytes(), dtype="u1")[1:].view(dtype),
        "record": np.zeros(3, dtype=[("x", dtype)]),
        "none": None,
        "number": 3,
        "string itself": "abc",
        "type": np.float64,
        "dict": {},
    }


class TestArrays:
    @pytest.mark.parametrize("what", _arrays("float64"))
    @pytest.mark.parametrize("dtype", ["float64", "int64"])
    def test_layouts(self, dtype: str, what: str) -> None:
        array = _arrays(dtype)[what]
        for operator in (sf.sum(dtype=dtype), sf.max(dtype=dtype), sf.collect(dtype=dtype)):
            for name in fitting(operator):
                algorithm = make(name, operator, checked=True)
                algorithm.insert(1)
                for run in (algorithm.slide, algorithm.latencies):
                    with unchanged(algorithm), refused(ValueTypeError, dtype, "is due, got"):
                        run(array, 2)

    def test_names_what_it_got(self) -> None:
        arrays = _arrays("float64")
        algorithm = make("two_stacks_lite", sf.sum())
        for what, name in (
            ("other dtype", "int64"),
            ("two dimensions", "float64 of 2 dimensions"),
            ("stride", "not contiguous"),
            ("not aligned", "not aligned"),
            ("byte order", ">f8"),
            ("dict", "dict"),
        ):
            with refused(ValueTypeError, name):
                algorithm.slide(arrays[what], 2)

    def test_read_only_is_fine(self) -> None:
        array = np.arange(4.0)
        array.flags.writeable = False
        assert make("daba_lite", sf.sum()).slide(array, 2).tolist() == [0.0, 1.0, 3.0, 5.0]

    def test_pairs_of_columns(self) -> None:
        algorithm = make("daba_lite", sf.max_by())
        keys = np.arange(3.0)
        with refused(ValueTypeError, "3 and 2"):
            algorithm.slide((keys, keys[:2]), 2)
        for wrong in (keys, [keys, keys], (keys,), (keys, keys, keys), None):
            with refused(ValueTypeError, "pair of columns"):
                algorithm.slide(wrong, 2)
        with refused(ValueTypeError, "int64"):
            algorithm.slide((keys, np.arange(3)), 2)

    def test_no_sequence_at_all(self) -> None:
        for operator in (sf.concat(), sf.count(), sf.first(dtype="object")):
            for wrong in (None, 3, THING):
                with refused(ValueTypeError, "a sequence of values is due"):
                    make("daba_lite", operator).slide(wrong, 2)

    def test_an_error_while_iterating_comes_out(self) -> None:
        def values() -> Any:
            yield "a"
            raise LookupError("no more")

        with pytest.raises(LookupError, match="no more"):
            make("daba_lite", sf.concat()).slide(values(), 2)

    @pytest.mark.parametrize(
        "window", [0, -1, -(2**40), 1.5, 2.0, "3", None, True, 2**70], ids=repr
    )
    def test_windows(self, window: Any) -> None:
        algorithm = make("daba_lite", sf.sum())
        kind = ValueTypeError if window == 2**70 else WindowError
        for run in (algorithm.slide, algorithm.latencies):
            with refused(kind, "got"):
                run(np.arange(4.0), window)


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
            with refused(WindowError, repr(text), "differ in length"):
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
    @pytest.mark.parametrize("case", CASES, ids=str)
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
            with refused(OperatorError, "an operator is due"):
                make(name, wrong)  # type: ignore[arg-type]


class TestEmpty:
    @pytest.mark.parametrize("case", CASES, ids=str)
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
        with refused(ValueTypeError, "sum takes dtype"):
            sf.sum(dtype="str")
        with refused(ValueTypeError, "bloom takes dtype"):
            sf.bloom(dtype="object")
        with refused(ValueTypeError, "max_by takes dtype"):
            sf.max_by(key_dtype="str")
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
            with refused(ValueTypeError, "string is due"):
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
