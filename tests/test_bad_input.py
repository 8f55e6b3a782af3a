"""Wrong values and arrays: a typed error of one sentence, the window unchanged."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.errors import (
    ValueTypeError,
    WindowError,
)
from tests.support.algorithms import fitting, make
from tests.support.cases import CASES, Case
from tests.support.for_each import for_each
from tests.support.unchanged import refused, unchanged

THING = object()
NOT_NUMBERS = [
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
    "bool": [0, 1.0, "x", b"1", np.int64(1), np.array([True]), np.array([True, False])],
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
    "str": [1, 1.0, b"x", ["x"], THING, "\ud800", "a\udfffb"],
}
PAIRS: list[Any] = [
    1.0,
    "xy",
    (),
    (1.0,),
    (1.0, 2.0, 3.0),
    [1.0, 2.0],
    np.array([1.0, 2.0]),
]


PAIRED = (
    *("max_by", "min_by", "covariance", "correlation", "trend"),
    *("weighted_mean", "decayed_mean", "decayed_sum"),
)


def wrong_for(case: Case) -> list[Any]:
    """Return values that the case's operator must refuse."""
    operator = case.operator
    if operator.name in PAIRED:
        right = case.stream(1)[0]
        wrong_args = [(wrong, right[1]) for wrong in WRONG.get(operator.dtype, [])]
        return PAIRS + wrong_args + [(right[0], wrong) for wrong in WRONG[operator.key_dtype]]
    return WRONG.get(operator.dtype, [])


PICKY = [case for case in CASES if wrong_for(case)]


class TestValues:
    @for_each("case", PICKY)
    def test_algorithms(self, case: Case) -> None:
        for name in fitting(case.operator):
            algorithm = make(name, case.operator, checked=True)
            for value in [None, *case.stream(3)]:
                if value is not None:
                    algorithm.insert(value)
                for wrong in wrong_for(case):
                    with unchanged(algorithm), refused(ValueTypeError, "expected ", ", got"):
                        algorithm.insert(wrong)

    @pytest.mark.parametrize("closed", ["right", "left"])
    @for_each("case", PICKY)
    def test_windows(self, case: Case, closed: str) -> None:
        by_row = sf.Window(case.operator, sf.rows(2, closed=closed), checked=True)
        by_time = sf.Window(case.operator, sf.time(2, closed=closed), checked=True)
        for at, value in enumerate(case.stream(4)):
            by_row.push(value)
            by_time.push(at, value)
            with unchanged(by_row, by_time):
                for wrong in wrong_for(case):
                    with refused(ValueTypeError, "expected ", ", got"):
                        by_row.push(wrong)
                    with refused(ValueTypeError, "expected ", ", got"):
                        by_row.insert(wrong)
                    with refused(ValueTypeError, "expected ", ", got"):
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
                    with unchanged(algorithm), refused(ValueTypeError, "expected ", ", got"):
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


class Alike:
    """What has a dtype and is no array."""

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.ndim = 1


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
        "alike": Alike(dtype),
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
                    with unchanged(algorithm), refused(ValueTypeError, dtype, "expected ", ", got"):
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
            ("alike", "Alike"),
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
                with refused(ValueTypeError, "expected a sequence of values"):
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
