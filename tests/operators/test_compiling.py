"""What compiles and what does not, and how that is said."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.definition.operators import definition
from slidefold.errors import OperatorError
from tests.support.algorithms import make
from tests.support.summing import STATE, made, summing

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")


def line_of(function: Any) -> int:
    return inspect.getsourcelines(function)[1]


def untypable(older: Any, newer: Any) -> Any:
    total = older.sum + newer.sum
    return (older.n + newer.missing, total)


@needs_numba
def test_a_compile_failure_names_function_and_line() -> None:
    operator = made(summing(combine=untypable))
    with pytest.raises(OperatorError) as caught:
        make("recalc", operator)
    said = str(caught.value)
    assert said.startswith("combine of operator Summing does not compile, ")
    assert f'test_compiling.py", line {line_of(untypable) + 2}: ' in said
    assert "missing" in said
    assert "\n" not in said
    assert caught.value.__cause__ is not None


@needs_numba
def test_a_compile_failure_has_no_colours() -> None:
    operator = made(summing(lift=lambda x: (len([object()]), x)))
    with pytest.raises(OperatorError, match="Untyped global name 'object'") as caught:
        make("recalc", operator)
    assert str(caught.value).isprintable()


@needs_numba
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"lift": lambda x: x}, "lift {}: expected a tuple (n, sum), got float64"),
        ({"lift": lambda x: (1, x, x)}, "lift {}: expected a tuple (n, sum), got a tuple of 3"),
        ({"lift": lambda x: (x, x)}, "lift {}: n: expected an integer (i8), got float64"),
        ({"lower": lambda s: "x"}, "lower {}: expected a number (f8), got unicode_type"),
        (
            {"combine": lambda a, b: b, "newer_wins": lambda a, b: b.n},
            "newer_wins {}: expected a bool (b1), got int64",
        ),
    ],
)
def test_compiled_results_of_another_type(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OperatorError) as caught:
        make("recalc", made(summing(**changes), compile="require"))
    assert str(caught.value) == sentence.format("of operator Summing returned a wrong value")


@needs_numba
def test_auto_falls_back_to_plain_python() -> None:
    names = {"a": 1.0}
    cls = summing(lift=lambda x: (1, names.get("a", x)))
    assert not made(cls, compile="auto").compiled
    assert make("recalc", made(cls, compile="auto")).slide([5.0, 6.0], 2).tolist() == [1.0, 2.0]
    with pytest.raises(OperatorError, match="lift of operator Summing does not compile"):
        assert made(cls).compiled
    assert made(compile="auto").compiled
    assert made().compiled
    assert not made(compile="never").compiled


@needs_numba
def test_a_state_that_is_too_large_to_compile() -> None:
    names = [f"x{i}" for i in range(600)]
    wide = summing(
        lift=lambda x: (x,) * 600,
        combine=lambda a, b: tuple(x + y for x, y in zip(a, b, strict=True)),
        lower=lambda s: s[599],
    )
    options = {"state": dict.fromkeys(names, "f8"), "returns": "f8"}
    with pytest.raises(OperatorError, match="has 4808 bytes, but at most 4096 can be compiled"):
        make("recalc", made(wide, **options))
    plain = make("recalc", made(wide, **options, compile="auto"))
    assert plain.slide([1.0, 2.0], 2).tolist() == [1.0, 3.0]


def test_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definition, "find_spec", lambda name: None)
    for mode in (None, "auto", "never"):
        operator = made(compile=mode)
        assert not operator.compiled
        assert make("two_stacks_lite", operator).slide(np.ones(3), 2).tolist() == [1.0, 2.0, 2.0]
    with pytest.raises(
        OperatorError, match=r"numba is not installed: pip install slidefold\[numba"
    ):
        make("recalc", made(compile="require"))


@needs_numba
def test_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from slidefold.definition.operators import compiled

    runs: list[str] = []
    compile_operator = compiled.compile_operator

    def counting(definition: Any) -> Any:
        runs.append(definition.name)
        return compile_operator(definition)

    monkeypatch.setattr(compiled, "compile_operator", counting)
    factory = sf.operator(state=STATE, returns="f8")(summing())
    assert runs == []
    for name in ("recalc", "daba", "two_stacks_lite"):
        make(name, factory()).slide(np.ones(3), 2)
        sf.Window(factory("x"), sf.rows(2)).push(1.0)
    assert runs == ["Summing"]


FACTOR = 2.0


def scaled(x: float) -> float:
    return x * FACTOR


def halved_until_small(x: float) -> float:
    return x if x < 1.0 else halved_until_small(x / 2.0)


@needs_numba
def test_helpers_compile_with_their_callers() -> None:
    """In module globals, in closures, one calling another, and recursive."""
    shift = 1.0

    def shifted(x: float) -> float:
        return scaled(x) + shift

    for build in ("require", "never"):
        operator = made(
            summing(lift=lambda x: (1, shifted(x) + halved_until_small(x))), compile=build
        )
        assert make("recalc", operator).slide([3.0], 1).tolist() == [7.75]


@needs_numba
def test_the_user_may_return_arguments_or_tuples_or_both() -> None:
    def picky(older: Any, newer: Any) -> Any:
        if older.sum > newer.sum:
            return older
        return (newer.n, newer.sum) if newer.n > 1 else (1, newer.sum)

    for build in ("require", "never"):
        operator = made(summing(combine=picky), compile=build)
        assert make("daba", operator).slide([1.0, 3.0, 2.0], 2).tolist() == [1.0, 3.0, 3.0]
    for state in ({"n": "f8", "sum": "f8"}, {"n": "f4", "sum": "f8"}):
        operator = made(summing(combine=picky), state=state, compile="require")
        assert make("daba", operator).slide([1.0, 3.0, 2.0], 2).tolist() == [1.0, 3.0, 3.0]
