"""Operators as values: frozen, comparable, with the traits that algorithms rely on."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from functools import partial
from typing import Any

import pytest

import slidefold as sf
from slidefold.definition.operators import BUILT_IN, NAMED, RECORDS
from tests.support.cases import BUILT_IN as CASES
from tests.support.cases import Case
from tests.support.for_each import for_each
from tests.support.more_cases import REQUIRED

INVERTIBLE = {"count", "any", "all", "bit_xor", "histogram", "count_min", "naive_bayes"}
INVERTIBLE_INTEGERS = {"sum", "mean"}
SELECTIVE = {"max", "min", "max_by", "min_by", "first", "last"}
ORDERED = {
    "first",
    "last",
    "nth",
    "concat",
    "collect",
    "collect_distinct",
    "m4",
    "max_by",
    "min_by",
    "longest_gap",
}
TWO_COLUMNS = {
    "max_by",
    "min_by",
    "covariance",
    "correlation",
    "trend",
    "weighted_mean",
    "decayed_mean",
    "decayed_sum",
    "naive_bayes",
}


@for_each("case", CASES)
def test_traits(case: Case) -> None:
    """Float sums are never invertible: a 1e16 passing through must leave no trace."""
    traits = case.operator.traits
    name = case.operator.name
    integers = case.operator.dtype == "int64"
    exact = name in INVERTIBLE or (integers and name in INVERTIBLE_INTEGERS)
    assert traits.invertible == exact
    assert traits.selective == (name in SELECTIVE)
    assert traits.commutative == (name not in ORDERED)
    assert traits.fallible == (integers and name in ("sum", "range"))
    assert traits.state_bytes > 0


@for_each("case", CASES)
def test_are_frozen_values(case: Case) -> None:
    operator = case.operator
    with pytest.raises(FrozenInstanceError):
        operator.dtype = "object"  # type: ignore[misc]
    assert hash(operator) == hash(copy.copy(operator))
    assert copy.copy(operator) == operator
    assert copy.deepcopy(operator) == operator
    assert pickle.loads(pickle.dumps(operator)) == operator
    assert str(operator) == repr(operator)
    assert eval(repr(operator), {"sf": sf}) == operator


@pytest.mark.parametrize("name", BUILT_IN)
def test_differ_by_what_they_fold(name: str) -> None:
    make: Any = partial(BUILT_IN[name], **REQUIRED.get(name, {}))
    assert make() == make()
    columns = ("x", "y") if name in TWO_COLUMNS else ("x",)
    assert make(*columns).columns == columns
    assert make(*columns) != make()
    assert make() != sf.sum(dtype="int64")


@for_each("name", [name for name, record in RECORDS.items() if not record.events])
def test_some_are_for_definitions_only(name: str) -> None:
    operator = NAMED[name]("x", **dict(RECORDS[name].example))
    makers: list[Any] = [
        lambda: sf.Window(operator, sf.rows(2)),
        lambda: sf.Window(operator, sf.time(2), lateness=1),
        lambda: sf.algorithms.DabaLite(operator),
        lambda: sf.algorithms.Fiba(operator),
        lambda: sf.algorithms.Sba(operator, 3),
        lambda: sf.algorithms.KeyedWindows(operator, sf.time(2)),
        lambda: sf.check(operator),
    ]
    said = "expected an operator" if RECORDS[name].own_window else "does not fold single events"
    for maker in makers:
        with pytest.raises(sf.errors.OperatorError, match=said):
            maker()


@pytest.mark.parametrize(
    "operator",
    [
        sf.sum("x").where("y"),
        sf.sum(sf.col("x") * 2),
        sf.struct(a=sf.count(), b=sf.sum("x").where(sf.col("y") > 1)),
    ],
    ids=str,
)
def test_events_have_no_columns(operator: sf.Operator) -> None:
    for maker in (lambda: sf.Window(operator, sf.rows(2)), lambda: sf.algorithms.Daba(operator)):
        with pytest.raises(sf.errors.OperatorError, match="need rows with columns, got sf"):
            maker()


def test_an_expression_of_operators_is_not_part_of_a_struct() -> None:
    for part in (sf.since_last(), sf.longest_gap("x"), sf.decayed_sum("x", "t", half_life=1)):
        with pytest.raises(sf.errors.OperatorError, match="of its own"):
            sf.struct(n=sf.count(), part=part)


def test_two_columns_or_none() -> None:
    with pytest.raises(sf.errors.OperatorError, match="expected 2 columns, got 1"):
        sf.max_by("x")
    for operator in (sf.covariance, sf.correlation, sf.trend):
        with pytest.raises(sf.errors.OperatorError, match="expected 2 columns, got 1"):
            operator("x")
    with pytest.raises(sf.errors.OperatorError, match="at least one feature"):
        sf.naive_bayes("label")
    with pytest.raises(sf.errors.ValueTypeError, match="a column must be a name or an expression"):
        sf.max(3)  # type: ignore[arg-type]
