"""`sf.check`: it passes what keeps the laws, and says in words what does not."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import strategies as st

import slidefold as sf
from slidefold.definition.operators import BUILT_IN
from slidefold.errors import LawError, OperatorError, SlidefoldError
from slidefold.laws.shrinking import shrunk, simplest_first
from tests.support.cases import CASES, Case
from tests.support.declared_operators import BUILDS, DECLARED, Declared
from tests.support.for_each import for_each
from tests.support.more_cases import REQUIRED
from tests.support.user_operators import Compose, Longest, Product, Reversible

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")


def bare(**functions: Any) -> Any:
    """An operator over plain values: the sum, unless told otherwise."""
    parts = {
        "lift": lambda x: x,
        "combine": lambda older, newer: older + newer,
        "lower": lambda state: state,
        **functions,
    }
    options = parts.pop("options", {})
    cls = type("Mine", (), {name: staticmethod(f) for name, f in parts.items()})
    return sf.operator(**options)(cls)


def broken(operator: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(LawError) as caught:
        sf.check(operator, *arguments, **options)
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, SlidefoldError)
    return str(caught.value)


# Sums of powers round as they like, and a sketch of them has no tolerance.
ROUNDS = "moments"
SAMPLES = {"naive_bayes": [("a", "x"), ("b", "x"), ("a", "y")]}


NO_MONOIDS = ("median", "quantile", "distinct", "mode", "entropy", "most_frequent")


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in (ROUNDS, *NO_MONOIDS)])
def test_built_in_operators_keep_their_laws(name: str) -> None:
    operator = BUILT_IN[name](**REQUIRED.get(name, {}))
    report = sf.check(operator, SAMPLES.get(name), examples=50)
    assert "combine is associative" in report.laws
    assert "identity is neutral" in report.laws
    traits = operator.traits
    assert ("combine commutes" in report.laws) == traits.commutative
    assert ("remove undoes combine" in report.laws) == traits.invertible
    assert ("combine returns what newer_wins says" in report.laws) == traits.selective


LAWFUL = [case for case in CASES if case.operator.name != ROUNDS]


@for_each("case", LAWFUL)
def test_cases_of_every_type_keep_their_laws(case: Case) -> None:
    samples = [value for value in case.stream(30) if value is not None]
    assert sf.check(case.operator, samples, examples=30).examples == 30


@pytest.mark.parametrize("declared", DECLARED, ids=str)
@pytest.mark.parametrize("build", BUILDS)
def test_declared_operators_keep_their_laws(declared: Declared, build: str) -> None:
    if build == "require":
        pytest.importorskip("numba")
    report = sf.check(declared.built(build), [declared.value(7 * n) for n in range(60)])
    assert ("compiled code agrees with plain Python" in report.laws) == (build == "require")
    assert sf.check(declared.built(build), examples=20).operator == str(declared)


def test_the_report_is_readable() -> None:
    assert str(sf.check(Longest, ["a", "bb", "cc", "ddd"], examples=10)) == (
        "Longest keeps 3 laws on 10 examples each: functions are pure; combine is associative; "
        "combine returns what newer_wins says"
    )
    assert "remove undoes combine" in sf.check(Reversible, range(10)).laws
    assert "identity is neutral" in sf.check(Product, range(10)).laws
    assert "identity is neutral" not in sf.check(Compose, [(1, 2), (3, 4), (0, 5)]).laws


# ---- the smallest counterexample, in words


def test_associativity() -> None:
    mine = bare(combine=lambda older, newer: (older + newer) / 2)
    assert broken(mine, [7, 3, 1, 0]) == (
        "Mine is not associative: combine(combine(a, b), c) != combine(a, combine(b, c)) "
        "for lift(0), lift(0), lift(1): 0.5 != 0.25"
    )


def test_associativity_that_only_longer_folds_break() -> None:
    """Sums wrap at 10: three lifted values do not get there."""
    mine = bare(combine=lambda older, newer: older + newer if older + newer < 10 else older)
    assert broken(mine, [1, 2, 3]).startswith("Mine is not associative")


def test_identity() -> None:
    said = "Mine has an identity that is not neutral: combine"
    assert broken(bare(identity=lambda: 1), [5, 2]) == (
        f"{said}(identity(), a) != a for lift(2): 3 != 2"
    )
    first = bare(identity=lambda: "", combine=lambda older, newer: newer)
    assert broken(first, ["b", "a"]) == f"{said}(a, identity()) != a for lift('a'): '' != 'a'"


def test_commutativity() -> None:
    mine = bare(options={"commutative": True})
    assert broken(mine, ["ab", "b", "a"]) == (
        "Mine does not commute: combine(a, b) != combine(b, a) for lift('a'), lift('b'): "
        "'ab' != 'ba'"
    )
    sf.check(bare(), ["ab", "b", "a"])


def test_inverse() -> None:
    mine = bare(remove=lambda whole, older: whole - older - 1)
    assert broken(mine, [0, 1]) == (
        "Mine is not invertible: remove(combine(a, b), a) != b for lift(0), lift(0): -1 != 0"
    )


def test_selectivity() -> None:
    mine = bare(combine=max, newer_wins=lambda older, newer: newer < older)
    assert broken(mine, [0, 1]) == (
        "Mine is not selective: combine(a, b) != a, and newer_wins(a, b) is False, "
        "for lift(0), lift(1): 1 != 0"
    )


def test_functions_that_remember() -> None:
    calls: list[int] = []

    def lift(x: int) -> int:
        calls.append(x)
        return x + len(calls)

    assert "Mine is not pure: lift(x) returns" in broken(bare(lift=lift), [1, 2])


def test_arguments_that_are_changed() -> None:
    def combine(older: list[int], newer: list[int]) -> list[int]:
        older += newer
        return older

    said = broken(bare(lift=lambda x: [x], combine=combine), [0, 1])
    assert said == (
        "Mine is not pure: combine(a, b) changes its argument from [0] to [0, 0, 0] "
        "for lift(0), lift(0)"
    )
    sf.check(bare(lift=lambda x: [x]), [0, 1])


def test_functions_that_raise() -> None:
    mine = bare(lower=lambda state: 1 / state)
    assert broken(mine, [3, 0, 1]) == (
        "Mine raises: ZeroDivisionError: division by zero, for lift(0), lift(0)"
    )


def test_shrinking_does_not_end_in_another_failure() -> None:
    """Zero raises; what is wrong with 1 and 2 is that they do not associate."""

    def combine(older: float, newer: float) -> float:
        return older / newer

    assert "for lift(1), lift(1), lift(2)" in broken(bare(combine=combine), [3, 2, 1])


@needs_numba
def test_overflow_that_compiled_code_does_not_notice() -> None:
    """The laws are checked in plain Python, where a result beyond its field is an error."""

    @sf.operator(state={"x": "f8"}, returns="i8", compile="require")
    class Wrapped:
        lift = staticmethod(lambda x: (x,))
        combine = staticmethod(lambda older, newer: newer)
        lower = staticmethod(lambda state: int(state.x) * 2**62)

    said = broken(Wrapped, [4.0, 1.0])
    assert "lower of operator Wrapped returned a wrong value: expected an integer (i8)" in said


@needs_numba
def test_disagreement_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    factory: Any = sf.operator(state={"x": "f8"}, returns="f8", compile="require")(
        type(
            "Twice",
            (),
            {
                "lift": staticmethod(lambda x: (x,)),
                "combine": staticmethod(lambda older, newer: (older.x + newer.x,)),
                "lower": staticmethod(lambda state: state.x),
            },
        )
    )
    assert factory().compiled
    # The plain functions are looked up when check runs; the compiled ones are fixed.
    plain = {**factory.definition.plain, "lower": lambda state: 2 * state.x}
    monkeypatch.setattr(factory.definition, "plain", plain)
    assert broken(factory, [0.0, 1.0]) == (
        "Twice is not the same when compiled: plain Python and compiled code differ "
        "for lift(1.0): 2.0 != 1.0"
    )


# ---- strategies, tolerance and wrong calls


def test_strategies() -> None:
    mine = bare(combine=lambda older, newer: older - newer)
    said = broken(mine, strategy=st.integers())
    assert said.endswith("for lift(0), lift(0), lift(1): -1 != 1")
    assert sf.check(bare(), strategy=st.text(), examples=20).examples == 20
    pairs = st.tuples(st.integers(0, 9), st.floats())
    report = sf.check(sf.max_by(dtype="int64"), strategy=pairs, examples=40)
    assert report.operator == "sf.max_by(dtype='int64')"


def test_floats_have_a_tolerance() -> None:
    sums = bare()
    sf.check(sums, [0.1, 0.2, 0.3])
    assert "is not associative" in broken(sums, [0.1, 0.2, 0.3], tolerance=0.0)
    # What cancels is judged by the size of what went in.
    sf.check(sums, [1e9, -1e9, 0.1])


def test_wrong_calls() -> None:
    for arguments, options, sentence in (
        ((3,), {}, "expected an operator, such as slidefold.max\\(\\), got 3"),
        ((bare(),), {}, "Mine does not declare its input types; pass samples= or strategy="),
        ((bare(), []), {}, "samples must have at least one value"),
        ((bare(), [1]), {"examples": 0}, "examples must be an integer of at least 1, got 0"),
        ((bare(), [1]), {"tolerance": -1.0}, "tolerance must be at least 0"),
        ((bare(), [1]), {"strategy": st.integers()}, "samples or a strategy, got both"),
        ((bare(),), {"strategy": [1]}, "strategy must be a hypothesis strategy"),
    ):
        with pytest.raises(OperatorError, match=sentence):
            sf.check(*arguments, **options)


def test_shrinking() -> None:
    assert simplest_first([3, -1, 0.5]) == [0.5, -1, 3]
    assert simplest_first([(2, 1), (0, 1)]) == [(2, 1), (0, 1)]

    def fails(example: tuple[tuple[float, ...], ...]) -> bool:
        return sum(map(sum, example)) >= 10.0

    # 50.7 is cut to 50 and then halved; the 4 cannot go to 0 after that.
    assert shrunk(((50.7, 3.0), (4.0,)), fails, [0.0, 4.0], free=True) == ((6.0,), (4.0,))
