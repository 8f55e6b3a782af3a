"""What `@sf.operator(state=...)` refuses, and how it says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.errors import OperatorError, ValueTypeError
from tests.support.algorithms import make
from tests.support.declared_operators import BUILDS, Latest, LongestRise, Narrow, built
from tests.support.summing import STATE, made, summing


def refused(sentence: str, cls: type | None = None, **options: Any) -> None:
    with pytest.raises(OperatorError) as caught:
        made(cls, **options)
    assert sentence in str(caught.value)


def test_declarations() -> None:
    refused("state is a dict", state={})
    refused("state is a dict", state=["n"])
    refused("named by an identifier, got 'a b'", state={"a b": "i8"})
    refused("named by an identifier, got 'class'", state={"class": "i8"})
    refused("named by an identifier, got 3", state={3: "i8"})
    refused("may not start with '_', got '_n'", state={"_n": "i8"})
    refused("state: n has type 'int8', not one of b1, i1", state={"n": "int8"})
    refused("state: n has type 'f9', not one of b1", state={"n": "f9", "sum": "f8"})
    refused("did you mean 'f8'?", state={"n": "i8", "sum": "float64"})
    refused("did you mean 'i8'?", state={"n": int, "sum": "f8"})
    refused("state: n has type None", state={"n": None})
    refused("state= needs returns=", returns=None)
    refused("returns: lower has type 'float'", returns="float")
    refused("returns is a dict", returns={})
    refused("inputs is a tuple of types", inputs=3)
    refused("inputs is a tuple of types", inputs=())
    refused("inputs: x has type 'f9'", inputs="f9")
    refused("takes 1 values, inputs= says 2", inputs=("f8", "f8"))
    refused("takes no value", summing(lift=lambda: (1, 1.0)))
    refused("combine of operator Summing must take 2 arguments", summing(combine=lambda a: a))
    refused("lower of operator Summing must take 1 argument", summing(lower=lambda: 1))
    refused("identity of operator Summing must take 0 arguments", summing(identity=lambda x: x))
    refused("compile is one of require, auto, never, got 'yes'", compile="yes")
    refused("commutative is True or False, got 1", commutative=1)
    refused("version is a whole number from 1 on, got 0", version=0)
    for word in ("returns", "inputs", "compile"):
        with pytest.raises(OperatorError, match=f"{word}= needs state="):
            sf.operator(**{word: "f8" if word != "compile" else "auto"})(summing())  # type: ignore[call-overload]
    with pytest.raises(OperatorError, match="not both"):
        sf.operator(summing(), state=STATE)  # type: ignore[call-overload]
    with pytest.raises(OperatorError, match="decorates a class"):
        sf.operator(state=STATE, returns="f8")(len)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stat"):
        sf.operator(stat=STATE)(summing())  # type: ignore[call-overload]


def test_options_that_do_not_exist() -> None:
    wrong: Any = sf.operator
    with pytest.raises(OperatorError, match=r"operator has no retruns=; did you mean returns="):
        wrong(state=STATE, retruns="f8")
    with pytest.raises(OperatorError, match=r"no colour=; there are state=, .*, version=$"):
        wrong(colour=1)


def test_columns_are_as_many_as_inputs() -> None:
    factory = sf.operator(state=STATE, returns="f8")(summing(lift=lambda x, w: (1, x * w)))
    assert factory("price", "weight").columns == ("price", "weight")
    with pytest.raises(OperatorError, match="Summing takes 2 columns, got 1"):
        factory("price")


def test_version_and_equality() -> None:
    factory = sf.operator(state=STATE, returns="f8", version=3, commutative=True)(summing())
    assert factory().version == 3
    assert factory() == factory()
    assert hash(factory()) == hash(factory())
    assert factory() != made()
    assert repr(factory) == "<operator Summing>"


def test_bare_keywords_keep_object_states() -> None:
    factory = sf.operator(commutative=True)(summing())
    assert factory().native_name == "object"
    assert factory().traits.commutative


# ---- functions that are wrong, in plain Python


def raised(cls: type, *values: float, **options: Any) -> OperatorError:
    def run() -> None:
        window = make("recalc", made(cls, compile="never", **options))
        for value in values or (1.0, 2.0):
            window.insert(value)
        window.query()

    with pytest.raises(OperatorError) as caught:
        run()
    return caught.value


def test_a_function_that_raises_is_named() -> None:
    def broken(state: Any) -> Any:
        raise KeyError("gone")

    error = raised(summing(lower=broken))
    assert str(error) == "lower of operator Summing raised KeyError: 'gone'"
    assert isinstance(error.__cause__, KeyError)
    assert "combine of operator Summing raised ZeroDivisionError" in str(
        raised(summing(combine=lambda a, b: (a.n // 0, a.sum)))
    )


def test_an_interrupt_is_no_error_of_the_operator() -> None:
    def interrupted(x: float) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        raised(summing(lift=interrupted))


def test_a_function_that_changes_its_argument_is_named() -> None:
    def mutating(older: Any, newer: Any) -> Any:
        older.n += newer.n
        return older

    assert "combine of operator Summing raised AttributeError" in str(
        raised(summing(combine=mutating))
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"lift": lambda x: x}, "lift {}: a tuple (n, sum) is due, got 1.0 (float)"),
        ({"lift": lambda x: [1, x]}, "lift {}: a tuple (n, sum) is due, got [1, 1.0] (list)"),
        ({"lift": lambda x: (1, x, x)}, "lift {}: a tuple (n, sum) of 2 is due, got one of 3"),
        ({"lift": lambda x: (1.5, x)}, "lift {}: for n an integer (i8) is due, got 1.5 (float)"),
        ({"lift": lambda x: (2**63, x)}, "lift {}: for n an integer (i8) is due, got 922337203"),
        ({"lift": lambda x: (1, "x")}, "lift {}: for sum a number (f8) is due, got 'x' (str)"),
        ({"lift": lambda x: (1, 10**400)}, "lift {}: for sum a number (f8) is due, got 1000000"),
        (
            {"combine": lambda a, b: None},
            "combine {}: a tuple (n, sum) is due, got None (NoneType)",
        ),
        ({"lower": lambda s: None}, "lower {}: a number (f8) is due, got None (NoneType)"),
        ({"identity": lambda: (0,)}, "identity {}: a tuple (n, sum) of 2 is due, got one of 1"),
    ],
)
def test_results_of_another_shape(changes: dict[str, Any], sentence: str) -> None:
    said = str(raised(summing(**changes)))
    assert said.startswith(sentence.format("of operator Summing returned something else"))


def test_newer_wins_says_true_or_false() -> None:
    cls = summing(combine=lambda a, b: b, newer_wins=lambda a, b: 1)
    window = make("slick_deque", made(cls, compile="never"))
    window.insert(1.0)
    with pytest.raises(OperatorError, match=r"newer_wins .*: a bool \(b1\) is due, got 1 \(int\)"):
        window.insert(2.0)


def test_the_window_stays_as_it_was() -> None:
    def choosy(older: Any, newer: Any) -> Any:
        if newer.sum == 13.0:
            raise ValueError
        return (older.n + newer.n, older.sum + newer.sum)

    window = sf.Window(made(summing(combine=choosy), compile="never"), sf.rows(3))
    window.push(1.0)
    window.push(2.0)
    with pytest.raises(OperatorError, match=r"raised ValueError$"):
        window.push(13.0)
    assert [window.push(x) for x in (3.0, 4.0)] == [6.0, 9.0]


def test_a_bare_operator_lets_its_exception_out_with_a_note() -> None:
    factory = sf.operator(summing(lower=lambda state: state.gone))
    window = make("recalc", factory())
    window.insert(1.0)
    with pytest.raises(AttributeError) as caught:
        window.query()
    assert caught.value.__notes__ == ["raised by lower of operator Summing"]


# ---- values that are wrong


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(
    ("cls", "value", "sentence"),
    [
        (LongestRise, "x", "a number (f"),
        (LongestRise, 10**400, "a number (f"),
        (Latest, 1.0, "a tuple (value, rank) is due, got 1.0"),
        (Latest, (1.0,), "a tuple (value, rank) is due, got (1.0,)"),
        (Latest, (1.0, 2.5), "an integer (i"),
        (Latest, (1.0, 2**63), "an integer"),
        (Narrow, (1, 2, 3.0), "a bool (b1) is due, got 1 (int)"),
        (Narrow, (True, 128, 3.0), "an integer (i1) is due, got 128 (int)"),
    ],
)
def test_events(build: str, cls: type, value: Any, sentence: str) -> None:
    if build == "require":
        pytest.importorskip("numba")
    window = make("daba_lite", built(cls, build))
    with pytest.raises(ValueTypeError) as caught:
        window.insert(value)
    assert sentence in str(caught.value)
    assert len(window) == 0


@pytest.mark.parametrize("build", BUILDS)
def test_columns(build: str) -> None:
    if build == "require":
        pytest.importorskip("numba")
    rise, latest = built(LongestRise, build), built(Latest, build)
    floats = np.arange(6.0)

    def said(operator: Any, values: Any) -> str:
        found = set()
        for name in ("two_stacks_lite", "recalc"):
            with pytest.raises(ValueTypeError) as caught:
                make(name, operator).slide(values, 2)
            found.add(str(caught.value))
        (sentence,) = found
        return sentence

    due = "a one-dimensional contiguous array of float64 is due, got "
    assert said(rise, floats.astype("f4")) == due + "float32"
    assert said(rise, floats.reshape(2, 3)) == due + "float64 of 2 dimensions"
    assert said(rise, floats[::2]) == due + "float64 that is not contiguous or not aligned"
    assert said(rise, 3.0) == due + "float"
    assert said(rise, None) == due + "NoneType"
    assert said(rise, floats.astype(">f8")) == due + ">f8"
    assert said(rise, [1.0, "x"]) == "a number (f8) is due, got 'x' (str)"
    assert said(latest, floats) == "a tuple of columns (value, rank) is due, got ndarray"
    assert said(latest, (floats,)) == "a tuple of columns (value, rank) is due, got 1 of them"
    assert "array of int64 is due, got float64" in said(latest, (floats, floats))
    assert said(latest, (floats, np.arange(5))) == (
        "the columns (value, rank) differ in length: 6 and 5"
    )
    locked = floats.copy()
    locked.flags.writeable = False
    assert make("two_stacks_lite", rise).slide(locked, 9).tolist() == [1, 2, 3, 4, 5, 6]


def test_mypy_sees_an_operator() -> None:
    """`sf.Fold` is for type checkers; `make lint` reads these lines."""

    @sf.operator
    class Longest(sf.Fold):
        lift = staticmethod(lambda word: word)
        combine = staticmethod(lambda older, newer: max(older, newer, key=len))
        lower = staticmethod(lambda word: word)

    window = sf.Window(Longest("word"), sf.rows(2))
    assert [window.push(word) for word in ("a", "fold", "on")] == ["a", "fold", "fold"]
