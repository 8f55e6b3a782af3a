"""The laws and the rules of the plain operators."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidefold.errors import OperatorError, ValueTypeError
from slidefold.reference import Recalc
from slidefold.reference import operators as ops
from slidefold.reference.agreement import agree
from slidefold.reference.protocols import has

NAN = float("nan")
numbers = st.integers(-20, 20)
floats = st.floats(allow_nan=True, allow_infinity=True, width=32)
texts = st.text("abc", max_size=3)
pairs = st.tuples(st.text("xyz", max_size=2), st.one_of(numbers, st.just(NAN)))

EXACT: list[tuple[Any, Any]] = [
    (ops.Count(), numbers),
    (ops.Sum(), numbers),
    (ops.IntSum(), numbers),
    (ops.Mean(), numbers),
    (ops.IntMean(), numbers),
    (ops.Max(), floats),
    (ops.Min(), floats),
    (ops.Max(), texts),
    (ops.MaxBy(), pairs),
    (ops.MinBy(), pairs),
    (ops.MaxCount(), floats),
    (ops.MinCount(), floats),
    (ops.First(), numbers),
    (ops.Last(), numbers),
    (ops.Concat(), texts),
    (ops.Collect(), numbers),
]


def result(op: Any, values: Any) -> Any:
    window: Any = Recalc(op)
    for value in values:
        window.insert(value)
    return window.query()


@pytest.mark.parametrize(("op", "values"), EXACT)
@given(data=st.data())
def test_laws(op: Any, values: Any, data: Any) -> None:
    a, b, c = (op.lift(data.draw(values)) for _ in range(3))
    left, right = op.combine(op.combine(a, b), c), op.combine(a, op.combine(b, c))
    assert agree(left, right, 0.0)
    assert agree(op.combine(op.identity(), a), a, 0.0)
    assert agree(op.combine(a, op.identity()), a, 0.0)
    if has(op, "remove"):
        assert agree(op.remove(op.combine(a, b), a), b, 0.0)
        assert agree(op.remove(op.combine(a, op.identity()), a), op.identity(), 0.0)
    if has(op, "newer_wins"):
        assert op.combine(a, b) is (b if op.newer_wins(a, b) else a)


def test_who_is_invertible_and_who_is_selective() -> None:
    kinds = [type(op) for op, _ in EXACT] + [ops.Geomean, ops.Var, ops.Std]
    assert {k for k in kinds if has(k, "remove")} == {
        ops.Count, ops.IntSum, ops.IntMean, ops.Concat, ops.Collect,
    }  # fmt: skip
    assert {k for k in kinds if has(k, "newer_wins")} == {
        ops.Max, ops.Min, ops.MaxBy, ops.MinBy, ops.First, ops.Last,
    }  # fmt: skip


@pytest.mark.parametrize("op", [op for op, _ in EXACT] + [ops.Geomean(), ops.Var(), ops.Std(0)])
def test_the_empty_window(op: Any) -> None:
    assert result(op, []) == (0 if isinstance(op, ops.Count) else None)


def test_nan_is_the_largest() -> None:
    assert math.isnan(result(ops.Max(), [1.0, NAN, math.inf]))
    assert result(ops.Min(), [NAN, 1.0, NAN]) == 1.0
    assert math.isnan(result(ops.Min(), [NAN, NAN]))
    assert result(ops.MaxBy(), [("a", 1.0), ("b", NAN), ("c", NAN)]) == "b"
    assert result(ops.MinBy(), [("a", NAN), ("b", 7.0)]) == "b"
    assert result(ops.MaxCount(), [1.0, NAN, 5.0, NAN]) == 2
    assert result(ops.MinCount(), [1.0, NAN, 5.0, 1.0]) == 2
    assert math.isnan(result(ops.Sum(), [1.0, NAN]))


def test_identity_of_max_is_not_zero() -> None:
    assert result(ops.Max(), [-3, -5]) == -3
    assert result(ops.MaxCount(), [-3, -5, -3]) == 2
    assert result(ops.Mean(), [-3, -4]) == -3.5


def test_ties_go_to_the_older() -> None:
    rows = [("a", 2), ("b", 3), ("c", 3), ("d", 2)]
    assert result(ops.MaxBy(), rows) == "b"
    assert result(ops.MinBy(), rows) == "a"
    assert str(result(ops.Max(), [-0.0, 0.0])) == "-0.0"


def test_integers_are_exact() -> None:
    assert result(ops.Sum(), [2**62, 2**62, 1]) == 2**63 + 1
    assert result(ops.IntSum(), [10**30, 1, -(10**30)]) == 1
    assert result(ops.Mean(), [2**60, 2**60 + 2]) == float(2**60 + 1)


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_variance(values: list[float]) -> None:
    scale = max(1.0, *(abs(v) for v in values)) ** 2
    sample, population = statistics.variance(values), statistics.pvariance(values)
    assert result(ops.Var(), values) == pytest.approx(sample, abs=1e-9 * scale)
    assert result(ops.Var(0), values) == pytest.approx(population, abs=1e-9 * scale)
    assert result(ops.Std(0), values) == pytest.approx(math.sqrt(population), abs=1e-4 * scale)


def test_variance_of_few_values() -> None:
    assert result(ops.Var(ddof=1), [5.0]) is None
    assert result(ops.Var(ddof=0), [5.0]) == 0.0
    assert result(ops.Std(ddof=1), [5.0]) is None
    assert result(ops.Std(ddof=1), [1.0, 3.0]) == math.sqrt(2)
    assert math.isnan(result(ops.Var(ddof=0), [math.inf]))
    with pytest.raises(OperatorError, match="ddof of Std must be 0 or 1, got 2"):
        ops.Std(ddof=2)


def test_variance_far_from_zero() -> None:
    assert result(ops.Var(0), [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]) == pytest.approx(
        22.5, rel=1e-9
    )


def test_geomean() -> None:
    assert result(ops.Geomean(), [1, 4, 16]) == pytest.approx(4)
    assert result(ops.Geomean(), [1e300, 1e300, 1e300]) == pytest.approx(1e300)
    assert result(ops.Geomean(), [3.0, 0.0]) == 0
    assert result(ops.Geomean(), [3.0, -0.0]) == 0
    assert math.isnan(result(ops.Geomean(), [3.0, -1.0]))
    assert math.isnan(result(ops.Geomean(), [0.0, -1.0]))
    assert math.isnan(result(ops.Geomean(), [NAN, 1.0]))
    assert result(ops.Geomean(), [math.inf, 2.0]) == math.inf


def test_wrong_values() -> None:
    with pytest.raises(ValueTypeError, match=r"IntSum expects integers, got 1\.5"):
        ops.IntSum().lift(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueTypeError, match="IntMean expects integers, got nan"):
        ops.IntMean().lift(NAN)
    with pytest.raises(ValueTypeError, match="Concat expects strings, got 3"):
        ops.Concat().lift(3)  # type: ignore[arg-type]
    with pytest.raises(ValueTypeError, match=r"MinBy expects pairs \(arg, key\), got 3"):
        ops.MinBy().lift(3)


def test_counting() -> None:
    counted: Any = ops.Counting(ops.Max())
    assert counted.newer_wins(1, 2) is True
    assert counted.combine(1, 2) == 2
    assert (counted.combines, counted.choices, counted.elsewhere) == (1, 1, 0)
    assert not has(counted, "remove")
    assert not has(counted, "empty")
    assert has(ops.Counting(ops.Count()), "remove")
    assert result(ops.Counting(ops.Count()), []) == 0


def test_collect_gives_a_list() -> None:
    assert result(ops.Collect(), "ab") == ["a", "b"]
    assert result(ops.First(), "abc") == "a"
    assert result(ops.Last(), "abc") == "c"
