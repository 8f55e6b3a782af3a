"""Functions of operators with declared fields: natively checked as Python would."""

from __future__ import annotations

import enum
import gc
import math
import sys
import weakref
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold._native import CheckedFunction
from slidefold.definition.operators import plain
from slidefold.definition.operators.fields import CODES, MisfitError, fitted
from slidefold.errors import OperatorError, ValueTypeError
from tests.support.summing import STATE, summing


class Colour(enum.IntEnum):
    RED = 3


VALUES: list[Any] = [
    True, False, np.True_, Colour.RED, None, "1", b"1", 1 + 0j, Fraction(1, 2), (1,),
    *(sign * (2**bits + more) for bits in (0, 7, 8, 15, 16, 31, 32, 53, 63, 64, 2000)
      for more in (-1, 0, 1) for sign in (1, -1)),
    0.0, -0.0, 0.1, 1e-46, 3.5e38, -1e300, math.inf, -math.inf, math.nan,
    np.float64(0.1), np.float32(0.1), np.int8(5), np.uint64(2**64 - 1), np.float64("nan"),
]  # fmt: skip


WRONG = "refused"


def told(function: Any, *args: Any) -> Any:
    """Return what a function gives, with its type and sign; or that it refuses."""
    try:
        with np.errstate(all="ignore"):
            found = function(*args)
    except (MisfitError, OperatorError, ValueTypeError):
        return WRONG
    return type(found), repr(found)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_every_value_is_as_python_fits_it(code: str) -> None:
    """As an argument, as a field of a state and as a result."""
    made = sf.operator(state={"x": code}, returns=code, inputs=code, compile="never")
    for value in VALUES:

        class Same(sf.Fold):
            lift = staticmethod(lambda x: (x,))
            combine = staticmethod(lambda older, newer, value=value: (value,))
            lower = staticmethod(lambda state, value=value: value)

        functions = made(Same).definition.plain
        state = functions["lift"](fitted(code, True))
        due = told(fitted, code, value)
        assert told(lambda f=functions, v=value: f["lift"](v).x) == due, value
        assert told(lambda f=functions, s=state: f["combine"](s, s).x) == due, value
        assert told(functions["lower"], state) == due, value


def test_what_is_right_takes_no_step_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def called(*_: Any) -> None:
        raise AssertionError("a value was looked at in Python")

    monkeypatch.setattr(plain, "fitted", called)

    @sf.operator(
        state={"n": "i8", "sum": "f8", "odd": "b1", "byte": "u1", "half": "f4"},
        returns={"mean": "f8", "n": "u4"},
        inputs=("f8", "i8"),
        compile="never",
    )
    class Mixed(sf.Fold):
        lift = staticmethod(lambda x, k: (1, x, k % 2 == 1, k % 256, x))
        combine = staticmethod(
            lambda a, b: (a.n + b.n, a.sum + b.sum, a.odd or b.odd, a.byte, a.half)
        )
        lower = staticmethod(lambda s: (s.sum / s.n, s.n))

    table = pa.table({"t": range(100), "x": [0.5] * 100, "k": range(100)})
    found = sf.rolling(on="t", m=Mixed("x", "k").over(10)).run(table)["m"].to_pylist()
    assert found[-1] == {"mean": 0.5, "n": 10}
    window = sf.Window(Mixed(), sf.rows(2))
    assert [window.push((x, 1)) for x in (1.0, 2, True)][-1] == {"mean": 1.5, "n": 2}


def test_a_state_that_is_one_already_is_handed_on() -> None:
    """So that a combine which picks one of its arguments makes nothing."""
    picking = summing(combine=lambda older, newer: newer)
    functions = sf.operator(state=STATE, returns="f8", compile="never")(picking).definition.plain
    state = functions["lift"](1.0)
    assert functions["combine"](state, state) is state


def test_calls_that_are_wrong() -> None:
    functions = sf.operator(state=STATE, returns="f8", compile="never")(summing()).definition.plain
    with pytest.raises(OperatorError, match="combine of operator Summing raised TypeError"):
        functions["combine"](1)
    with pytest.raises(TypeError, match="no keywords"):
        functions["combine"](older=1, newer=2)
    with pytest.raises(TypeError):
        CheckedFunction(len)  # type: ignore[call-arg]


def test_references_are_counted_and_cycles_are_collected() -> None:
    class Lift:
        def __call__(self, x: float) -> tuple[int, float]:
            if x < 0:
                raise ValueError("negative")
            return 1, x

    lift = Lift()
    factory = sf.operator(state=STATE, returns="f8", compile="never")(summing(lift=lift))
    checked = factory.definition.plain["lift"]
    # Objects of our own: others count references to small numbers and short strings too.
    values = [float("1.5"), int("1234567"), " ".join(["a", "text"]), float("-1"), 10**400]
    before = [sys.getrefcount(value) for value in values]
    for _ in range(100):
        for value in values:
            with suppress(OperatorError, ValueTypeError):
                checked(value)
    del value
    assert [sys.getrefcount(value) for value in values] == before
    lift.__dict__["checked"] = checked  # a cycle
    gone = weakref.ref(lift)
    del lift, checked, factory
    gc.collect()
    assert gone() is None
