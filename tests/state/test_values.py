"""Python values as bytes, and the states of users' operators."""

from __future__ import annotations

import collections
import math
import random
from decimal import Decimal
from enum import IntEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.algorithms import DabaLite, Recalc, TwoStacks
from slidefold.errors import BusyError, OperatorError, StateError
from slidefold.state import dump_value, load_value
from tests.support.envelopes import flips
from tests.support.unchanged import refused

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.text(st.characters(categories=["Cs"]), max_size=2)
    | st.binary()
)
KEYS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=12,
)


def shape(value: Any) -> str:
    """Return types and values, NaN with its sign and dicts in their order."""
    if isinstance(value, (list, tuple)):
        return f"{type(value)}{[shape(item) for item in value]}"
    if isinstance(value, dict):
        return f"dict{[(shape(key), shape(item)) for key, item in value.items()]}"
    if isinstance(value, float):
        return f"{value!r}{math.copysign(1, value)}"
    return f"{type(value)}{value!r}"


@given(VALUES)
def test_values_come_back(value: Any) -> None:
    data = dump_value(value)
    assert shape(load_value(data)) == shape(value)
    assert dump_value(load_value(data)) == data


def test_integers_of_any_size() -> None:
    for value in (0, 1, 127, 128, 129, 255, 256, 2**63, 2**64, 10**5000):
        for signed in (value, -value, ~value):
            assert load_value(dump_value(signed)) == signed


class Color(IntEnum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Color.RED,
        Point(1, 2),
        np.float64(1.5),
        np.int64(1),
        collections.OrderedDict(a=1),
        Decimal(1),
        {1, 2},
        bytearray(b"x"),
        1j,
        [1, (2, {"x": object})],
    ],
)
def test_other_types_are_refused(value: Any) -> None:
    with refused(StateError, "cannot be saved; define dump and load in the operator"):
        dump_value(value)
    if not isinstance(value, list):
        with refused(StateError, type(value).__qualname__):
            dump_value(value)


def test_depth() -> None:
    value: Any = ()
    for _ in range(499):
        value = (value,)
    assert load_value(dump_value(value)) == value
    with refused(StateError, "nested deeper"):
        dump_value((value,))
    forged = b"t\1\0\0\0" * 100_000 + b"N"
    with refused(StateError, "nested"):
        load_value(forged)
    cycle: list[Any] = [1]
    cycle.append(cycle)
    with refused(StateError, "nested deeper"):
        dump_value(cycle)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"NN",
        b"i",
        b"i\1\0\0\0",
        b"f1234567",
        b"s\1\0\0\0\xff",
        b"s\xff\xff\xff\xff",
        b"l\xff\xff\xff\xff",
        b"l\1\0\0\0",
        b"d\1\0\0\0N",
        b"d\2\0\0\0l\0\0\0\0N",
        b"d\4\0\0\0TNi\1\0\0\0\1N",
        b"t\2\0\0\0N",
    ],
)
def test_what_is_no_value(data: bytes) -> None:
    with refused(StateError):
        load_value(data)


def test_damaged_values() -> None:
    rng = random.Random(1)
    data = dump_value([1, -2.5, "text", b"bytes", (None, True), {"k": [1], 2: ()}])
    for damaged in [*flips(data), *(rng.randbytes(n) for n in range(200))]:
        try:
            load_value(damaged)
        except StateError:
            continue


# ---- users' operators


class Fraction:
    """A state that is no plain value."""

    def __init__(self, top: int, bottom: int) -> None:
        self.top, self.bottom = top, bottom

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fraction) and self.top * other.bottom == other.top * self.bottom

    __hash__ = None  # type: ignore[assignment]


class _Total:
    """The sum of fractions 1/n."""

    @staticmethod
    def lift(n: int) -> Fraction:
        return Fraction(1, n)

    @staticmethod
    def combine(a: Fraction, b: Fraction) -> Fraction:
        return Fraction(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom)

    @staticmethod
    def lower(state: Fraction) -> tuple[int, int]:
        return state.top, state.bottom


class _Saved(_Total):
    @staticmethod
    def dump(state: Fraction) -> bytes:
        return f"{state.top}/{state.bottom}".encode()

    @staticmethod
    def load(data: bytes) -> Fraction:
        top, bottom = data.split(b"/")
        return Fraction(int(top), int(bottom))


def test_dump_and_load_of_an_operator() -> None:
    operator = sf.operator(_Saved)()
    a = TwoStacks(operator, checked=True)
    for n in range(1, 9):
        a.insert(n)
    a.evict()
    b = TwoStacks.from_bytes(a.to_bytes(), operator)
    for each in (a, b):
        each.evict()
        each.insert(9)
        each.check()
    assert a.query() == b.query()
    assert a.to_bytes() == b.to_bytes()


def test_without_dump_and_load() -> None:
    a = DabaLite(sf.operator(_Total)())
    a.to_bytes()  # an empty window has no state to write
    a.insert(2)
    with refused(StateError, "a state of type Fraction", "define dump and load in the operator"):
        a.to_bytes()
    assert a.query() == (1, 2)
    collected = Recalc(sf.collect(dtype="object"))
    collected.insert(Fraction(1, 2))
    with refused(StateError, "Fraction"):
        collected.to_bytes()


def test_only_one_of_dump_and_load() -> None:
    class Half(_Total):
        dump = staticmethod(lambda state: b"")

    with refused(OperatorError, "dump and load"):
        sf.operator(Half)


def test_what_dump_returns() -> None:
    class Wrong(_Total):
        dump = staticmethod(lambda state: "text")
        load = staticmethod(lambda data: None)

    a = Recalc(sf.operator(Wrong)())
    a.insert(1)
    with refused(StateError, "must return bytes", "text"):
        a.to_bytes()


class SuddenError(Exception):
    pass


def test_what_dump_and_load_raise() -> None:
    def raised(_: Any) -> Any:
        raise SuddenError("two\nlines.")

    class Loading(_Total):
        dump = staticmethod(lambda state: b"x")
        load = staticmethod(raised)

    class Dumping(_Total):
        dump = staticmethod(raised)
        load = staticmethod(raised)

    operator = sf.operator(Loading)()
    a = Recalc(operator)
    a.insert(1)
    data = a.to_bytes()
    with refused(StateError, "SuddenError"):
        Recalc.from_bytes(data, operator)
    b = Recalc(sf.operator(Dumping)())
    b.insert(1)
    with pytest.raises(SuddenError):
        b.to_bytes()
    assert len(b) == 1


def test_an_interrupt_comes_out_as_it_is() -> None:
    def interrupted(_: bytes) -> Any:
        raise KeyboardInterrupt

    class Slow(_Total):
        dump = staticmethod(lambda state: b"")
        load = staticmethod(interrupted)

    operator = sf.operator(Slow)()
    a = Recalc(operator)
    a.insert(1)
    with pytest.raises(KeyboardInterrupt):
        Recalc.from_bytes(a.to_bytes(), operator)


def test_dump_must_not_use_its_window() -> None:
    held: list[Any] = []

    class Nosy(_Total):
        @staticmethod
        def dump(state: Fraction) -> bytes:
            held[0].query()
            return b""

        load = staticmethod(lambda data: Fraction(1, 1))

    held.append(Recalc(sf.operator(Nosy)()))
    held[0].insert(1)
    with refused(BusyError):
        held[0].to_bytes()
    held.clear()
