"""Operators as values: frozen, comparable, with the traits that algorithms rely on."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError

import pytest

import slidefold as sf
from slidefold.operators import BUILT_IN
from tests.support.cases import BUILT_IN as CASES
from tests.support.cases import Case

INVERTIBLE = {"count", "sum-int64", "mean-int64"}
SELECTIVE = {"max", "min", "max_by", "min_by", "first", "last"}
ORDERED = {"first", "last", "concat", "collect", "max_by", "min_by"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_traits(case: Case) -> None:
    """Float sums are never invertible: a 1e16 passing through must leave no trace."""
    traits = case.operator.traits
    name = case.operator.name
    assert traits.invertible == (case.id in INVERTIBLE)
    assert traits.selective == (name in SELECTIVE)
    assert traits.commutative == (name not in ORDERED)
    assert traits.fallible == (case.id == "sum-int64")
    assert traits.state_bytes > 0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_are_frozen_values(case: Case) -> None:
    operator = case.operator
    with pytest.raises(FrozenInstanceError):
        operator.dtype = "object"  # type: ignore[misc]
    assert hash(operator) == hash(copy.copy(operator))
    assert copy.copy(operator) == operator
    assert copy.deepcopy(operator) == operator
    assert pickle.loads(pickle.dumps(operator)) == operator
    assert str(operator).startswith(operator.name)


@pytest.mark.parametrize("name", BUILT_IN)
def test_differ_by_what_they_fold(name: str) -> None:
    make = BUILT_IN[name]
    assert make() == make()
    columns = ("x", "y") if name in ("max_by", "min_by") else ("x",)
    assert make(*columns).columns == columns
    assert make(*columns) != make()
    assert make() != sf.sum(dtype="int64")


def test_two_columns_or_none() -> None:
    with pytest.raises(sf.errors.OperatorError, match="2 columns are due, got 1"):
        sf.max_by("x")
    with pytest.raises(sf.errors.ValueTypeError, match="named by a string"):
        sf.max(3)  # type: ignore[arg-type]
