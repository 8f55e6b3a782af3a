"""Errors are typed, one sentence, and leave the window as it was."""

from __future__ import annotations

import pytest

from slidefold.errors import PairError
from slidefold.reference import Recalc, SlickDeque, SubtractOnEvict
from slidefold.reference import operators as ops


def test_wrong_pairs() -> None:
    with pytest.raises(PairError) as error:
        SubtractOnEvict(ops.Max())
    assert str(error.value) == "SubtractOnEvict needs an invertible operator, but Max has no remove"
    with pytest.raises(PairError) as error:
        SlickDeque(ops.Sum())
    assert str(error.value) == "SlickDeque needs a selective operator, but Sum has no newer_wins"
    with pytest.raises(TypeError, match="Sum has no remove"):
        SubtractOnEvict(ops.Counting(ops.Sum()))


def test_an_operator_may_be_a_class_of_static_methods() -> None:
    class Longest:
        @staticmethod
        def identity() -> str:
            return ""

        @staticmethod
        def lift(value: str) -> str:
            return value

        @staticmethod
        def combine(older: str, newer: str) -> str:
            return newer if len(newer) > len(older) else older

        @staticmethod
        def lower(state: str) -> str:
            return state

    assert Recalc(Longest).slide(["a", "bbb", "cc"], 2) == ["a", "bbb", "bbb"]
    with pytest.raises(PairError, match="Longest has no newer_wins"):
        SlickDeque(Longest)
