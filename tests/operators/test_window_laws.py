"""The laws of every operator: associative, with an identity, commuting where it says so.

States are not seen from outside, so the laws are tried on windows: a value that comes before or
after others, an order of combining that differs by algorithm, and nulls, which are the identity.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.algorithms import ANY_OPERATOR, fitting, make
from tests.support.cases import CASES, Case

LAWFUL = [case for case in CASES if not case.operator.keeps_nulls]


def fold(name: str, case: Case, values: list[Any]) -> Any:
    window = make(name, case.operator)
    for value in values:
        window.insert(value)
    return window.query()


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=10)
@given(data=st.data())
def test_associative(case: Case, data: st.DataObject) -> None:
    """Every algorithm combines in an order of its own, and comes to the truth."""
    values = data.draw(st.lists(case.kind.strategy, max_size=9))
    for name in fitting(case.operator, ANY_OPERATOR):
        window = make(name, case.operator)
        for value in values[: len(values) // 2]:
            window.insert(value)
        window.query()  # may fold what is there
        for value in values[len(values) // 2 :]:
            window.insert(value)
        assert case.right(window.query(), values), name


@pytest.mark.parametrize("case", LAWFUL, ids=str)
@settings(max_examples=10)
@given(data=st.data())
def test_the_identity_changes_nothing(case: Case, data: st.DataObject) -> None:
    values = data.draw(st.lists(case.kind.strategy | st.none(), max_size=9))
    kept = [value for value in values if value is not None]
    for name in fitting(case.operator, ["recalc", "daba_lite", "flat_fat", "slick_deque"]):
        assert case.agrees(fold(name, case, values), case.truth(kept), kept), name


@pytest.mark.parametrize("case", [c for c in CASES if c.operator.traits.commutative], ids=str)
@settings(max_examples=10)
@given(data=st.data())
def test_commutative(case: Case, data: st.DataObject) -> None:
    values = data.draw(st.lists(case.kind.strategy, min_size=1, max_size=8))
    order = data.draw(st.permutations(values))
    for name in ("recalc", "daba_lite"):
        assert case.right(fold(name, case, order), values), name
