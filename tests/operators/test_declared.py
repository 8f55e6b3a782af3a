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
    refused("state must be a dict", state={})
    refused("state must be a dict", state=["n"])
    refused("must be an identifier, got 'a b'", state={"a b": "i8"})
    refused("must be an identifier, got 'class'", state={"class": "i8"})
    refused("must be an identifier, got 3", state={3: "i8"})
    refused("must not start with '_', got '_n'", state={"_n": "i8"})
    refused("the type of n in state must be one of b1, i1", state={"n": "int8"})
    refused("the type of n in state must be one of b1", state={"n": "f9", "sum": "f8"})
    refused("did you mean 'f8'?", state={"n": "i8", "sum": "float64"})
    refused("did you mean 'i8'?", state={"n": int, "sum": "f8"})
    refused("got None", state={"n": None})
    refused("has state= but no returns=", returns=None)
    refused("the type of lower in returns must be", returns="float")
    refused("returns must be a dict", returns={})
    refused("inputs must be a tuple of types", inputs=3)
    refused("inputs must be a tuple of types", inputs=())
    refused("the type of x in inputs must be", inputs="f9")
    refused("takes 1 values, but inputs= has 2", inputs=("f8", "f8"))
    refused("must take at least one value", summing(lift=lambda: (1, 1.0)))
    refused("combine of operator Summing must take 2 arguments", summing(combine=lambda a: a))
    refused("lower of operator Summing must take 1 argument", summing(lower=lambda: 1))
    refused("identity of operator Summing must take 0 arguments", summing(identity=lambda x: x))
    refused("compile must be one of require, auto, never, got 'yes'", compile="yes")
    refused("commutative must be True or False, got 1", commutative=1)
    refused("version must be an integer >= 1, got 0", version=0)
    for word in ("returns", "inputs", "compile"):
        with pytest.raises(OperatorError, match=f"has {word}= but no state="):
            sf.operator(**{word: "f8" if word != "compile" else "auto"})(summing())  # type: ignore[call-overload]
    with pytest.raises(OperatorError, match="not both"):
        sf.operator(summing(), state=STATE)  # type: ignore[call-overload]
    with pytest.raises(OperatorError, match="must decorate a class"):
        sf.operator(state=STATE, returns="f8")(len)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stat"):
        sf.operator(stat=STATE)(summing())  # type: ignore[call-overload]


def test_options_that_do_not_exist() -> None:
    wrong: Any = sf.operator
    with pytest.raises(
        OperatorError, match=r"operator has no argument retruns=; did you mean returns="
    ):
        wrong(state=STATE, retruns="f8")
    with pytest.raises(OperatorError, match=r"no argument colour=; it takes state=, .*, version=$"):
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
        ({"lift": lambda x: x}, "lift {}: expected a tuple (n, sum), got 1.0 (float)"),
        ({"lift": lambda x: [1, x]}, "lift {}: expected a tuple (n, sum), got [1, 1.0] (list)"),
        ({"lift": lambda x: (1, x, x)}, "lift {}: expected a tuple (n, sum), got a tuple of 3"),
        ({"lift": lambda x: (1.5, x)}, "lift {}: n: expected an integer (i8), got 1.5 (float)"),
        ({"lift": lambda x: (2**63, x)}, "lift {}: n: expected an integer (i8), got 922337203"),
        ({"lift": lambda x: (1, "x")}, "lift {}: sum: expected a number (f8), got 'x' (str)"),
        ({"lift": lambda x: (1, 10**400)}, "lift {}: sum: expected a number (f8), got 1000000"),
        (
            {"combine": lambda a, b: None},
            "combine {}: expected a tuple (n, sum), got None (NoneType)",
        ),
        ({"lower": lambda s: None}, "lower {}: expected a number (f8), got None (NoneType)"),
        ({"identity": lambda: (0,)}, "identity {}: expected a tuple (n, sum), got a tuple of 1"),
    ],
)
def test_results_of_another_shape(changes: dict[str, Any], sentence: str) -> None:
    message = str(raised(summing(**changes)))
    assert message.startswith(sentence.format("of operator Summing returned a wrong value"))


def test_newer_wins_says_true_or_false() -> None:
    cls = summing(combine=lambda a, b: b, newer_wins=lambda a, b: 1)
    window = make("slick_deque", made(cls, compile="never"))
    window.insert(1.0)
    with pytest.raises(OperatorError, match=r"newer_wins .*: expected a bool \(b1\), got 1 \(int"):
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
    ("cls", "value", "expected", "got"),
    [
        (LongestRise, "x", "a number (f", "'x'"),
        (LongestRise, 10**400, "a number (f", "1000000"),
        (Latest, 1.0, "a tuple (value, rank)", "1.0"),
        (Latest, (1.0,), "a tuple (value, rank)", "(1.0,)"),
        (Latest, (1.0, 2.5), "an integer (i", "2.5"),
        (Latest, (1.0, 2**63), "an integer", "922337203"),
        (Narrow, (1, 2, 3.0), "a bool (b1)", "1 (int)"),
        (Narrow, (True, 128, 3.0), "an integer (i1)", "128 (int)"),
    ],
)
def test_events(build: str, cls: type, value: Any, expected: str, got: str) -> None:
    if build == "require":
        pytest.importorskip("numba")
    window = make("daba_lite", built(cls, build))
    with pytest.raises(ValueTypeError) as caught:
        window.insert(value)
    assert expected in str(caught.value)
    assert f", got {got}" in str(caught.value)
    assert len(window) == 0


@pytest.mark.parametrize("build", BUILDS)
def test_columns(build: str) -> None:
    if build == "require":
        pytest.importorskip("numba")
    rise, latest = built(LongestRise, build), built(Latest, build)
    floats = np.arange(6.0)

    def message(operator: Any, values: Any) -> str:
        messages = set()
        for name in ("two_stacks_lite", "recalc"):
            with pytest.raises(ValueTypeError) as caught:
                make(name, operator).slide(values, 2)
            messages.add(str(caught.value))
        (sentence,) = messages
        return sentence

    expected = "expected a one-dimensional contiguous array of float64, got "
    assert message(rise, floats.astype("f4")) == expected + "float32"
    assert message(rise, floats.reshape(2, 3)) == expected + "float64 with 2 dimensions"
    assert message(rise, floats[::2]) == expected + "float64 that is not contiguous or not aligned"
    assert message(rise, 3.0) == expected + "float"
    assert message(rise, None) == expected + "NoneType"
    assert message(rise, floats.astype(">f8")) == expected + ">f8"
    assert message(rise, [1.0, "x"]) == "expected a number (f8), got 'x' (str)"
    columns = "expected a tuple of columns (value, rank), got "
    assert message(latest, floats) == columns + "ndarray"
    assert message(latest, (floats,)) == columns + "a tuple of 1"
    assert "array of int64, got float64" in message(latest, (floats, floats))
    assert message(latest, (floats, np.arange(5))) == (
        "the columns (value, rank) must have equal lengths, got 6 and 5"
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
