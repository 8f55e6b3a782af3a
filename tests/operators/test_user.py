"""Users' own operators: with and without identity, remove, newer_wins."""

from __future__ import annotations

from typing import Any

import pytest

import slidefold as sf
from slidefold.errors import OperatorError, PairError
from tests.support.algorithms import OFFERS, STEPPING, fitting, make
from tests.support.folds import fold, folds, slid
from tests.support.user_operators import (
    Compose,
    Longest,
    Product,
    Reversible,
    made,
    product_of,
)


def test_properties_are_seen() -> None:
    def seen(operator: Any) -> tuple[bool, bool, bool]:
        traits = operator.traits
        return traits.invertible, traits.selective, traits.commutative

    assert seen(made(Product)) == (False, False, False)
    assert seen(made(Reversible)) == (True, False, False)
    assert seen(made(Compose)) == (False, False, False)
    assert seen(made(Longest)) == (False, True, False)
    assert made(Product).traits.fallible


def test_remove_and_newer_wins_open_their_algorithms() -> None:
    needs = {name: OFFERS[name].needs for name in STEPPING}
    for operator, missing in (
        (made(Product), {"invertible", "selective"}),
        (made(Reversible), {"selective"}),
        (made(Longest), {"invertible"}),
    ):
        assert fitting(operator) == [name for name in STEPPING if needs[name] not in missing]
        for name in STEPPING:
            if needs[name] in missing:
                with pytest.raises(PairError, match=needs[name]):
                    make(name, operator)


def test_results() -> None:
    assert fold(made(Product), [1, 2, 3]) == product_of([1, 2, 3]) != product_of([3, 2, 1])
    assert fold(made(Reversible), [1, 2, 3]) == product_of([1, 2, 3])
    assert fold(made(Compose), [(2, 0), (1, 3)]) == "2x+3"
    assert fold(made(Compose), [(1, 3), (2, 0)]) == "2x+6"
    assert fold(made(Longest), ["aa", "b", "cc"]) == "aa"


def test_an_empty_window_gives_none_whatever_the_identity() -> None:
    for operator in (made(Product), made(Compose), made(Longest), made(Reversible)):
        assert set(folds(operator, []).values()) == {None}
        for name in fitting(operator):
            window = make(name, operator)
            window.insert({"Compose": (1, 1), "Longest": "x"}.get(operator.name, 1))
            window.evict()
            assert window.query() is None


def test_without_identity_combine_sees_lifted_values_only() -> None:
    """The neutral marker that stands for a missing identity never reaches the user's functions."""
    seen: set[type] = set()

    @sf.operator
    class Watched:
        @staticmethod
        def lift(word: str) -> list[str]:
            return [word]

        @staticmethod
        def combine(older: list[str], newer: list[str]) -> list[str]:
            seen.update((type(older), type(newer)))
            return older + newer

        @staticmethod
        def lower(state: list[str]) -> str:
            seen.add(type(state))
            return "".join(state)

    for name in fitting(made(Watched)):
        window = make(name, made(Watched), checked=True)
        for _ in range(3):
            for letter in "abcdefg":
                window.insert(letter)
                window.query()
                window.check()
            while len(window):
                window.evict()
                window.query()
                window.check()
        assert slid(made(Watched), "abcd", 2, algorithm=name) == ["a", "ab", "bc", "cd"]
    assert seen == {list}


def test_none_is_a_state_like_any_other() -> None:
    @sf.operator
    class Nothing:
        lift = staticmethod(lambda value: None)
        combine = staticmethod(lambda older, newer: None)
        lower = staticmethod(lambda state: "lowered")

    assert fold(made(Nothing), [1, 2, 3]) == "lowered"
    assert set(folds(made(Nothing), []).values()) == {None}


def test_the_definition_is_checked() -> None:
    with pytest.raises(OperatorError, match="has no lift"):
        sf.operator(type("NoLift", (), {"combine": staticmethod(max)}))
    with pytest.raises(OperatorError, match="lower of operator NotStatic must be a @staticmethod"):

        @sf.operator
        class NotStatic:
            lift = staticmethod(lambda value: value)
            combine = staticmethod(max)

            def lower(self) -> Any: ...

    with pytest.raises(OperatorError, match="must decorate a class"):
        sf.operator(lambda: None)  # type: ignore[call-overload]


def test_a_factory_takes_columns() -> None:
    assert made(Longest, "word").columns == ("word",)
    assert made(Longest) == made(Longest)
    assert made(Longest) != made(Product)
    assert repr(Longest) == "<operator Longest>"
    assert str(made(Longest)) == "Longest()"
    assert Longest.__doc__ is not None


def test_methods_may_be_inherited() -> None:
    class Base:
        lift = staticmethod(lambda value: value)
        lower = staticmethod(lambda value: value)

    @sf.operator
    class Smallest(Base):
        combine = staticmethod(min)

    assert fold(made(Smallest), [3, 1, 2]) == 1


def test_check_finds_a_combine_that_is_not_associative() -> None:
    @sf.operator
    class Difference:
        lift = staticmethod(lambda value: value)
        combine = staticmethod(lambda older, newer: older - newer)
        lower = staticmethod(lambda state: state)

    window = make("daba_lite", made(Difference), checked=True)
    for value in range(10):
        window.insert(value)
    with pytest.raises(sf.errors.InvariantError):
        window.check()
