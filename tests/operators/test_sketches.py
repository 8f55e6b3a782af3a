"""Sketches: never wrong beyond their bounds, small while there is little in them."""

from __future__ import annotations

import importlib.util
import math
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.errors import OperatorError, ValueTypeError
from tests.support.algorithms import fitting, make
from tests.support.folds import fold, slid

VALUES: dict[str, Any] = {"float64": lambda i: i + 0.5, "int64": int, "str": str}


class TestApproxDistinct:
    @pytest.mark.parametrize("dtype", VALUES)
    @pytest.mark.parametrize("precision", [4, 8, 12])
    def test_error(self, dtype: str, precision: int) -> None:
        """Within four standard errors at every size, and two percent of the few."""
        error = 1.04 / math.sqrt(2**precision)
        operator = sf.approx_distinct(dtype=dtype, precision=precision)
        algorithm = make("two_stacks_lite", operator)
        values = [VALUES[dtype](i * 7919) for i in range(30_000)]
        column: Any = values if dtype == "str" else np.array(values, dtype=dtype)
        result = algorithm.slide(column, 30_000)
        for n in (1, 2, 10, 100, 1000, 3000, 10_000, 12_000, 30_000):
            assert abs(result[n - 1] - n) <= max(1, 4 * error * n), n

    def test_no_bias_where_registers_fill(self) -> None:
        """The mean over many hashes is right where HyperLogLog changes its ways."""
        operator = sf.approx_distinct(dtype="int64", precision=6)
        for n in (40, 100, 160, 320):
            found = [
                fold_of(operator, [start * 10_000 + i for i in range(n)]) for start in range(200)
            ]
            error = 1.04 / math.sqrt(64) * n / math.sqrt(200)
            assert abs(sum(found) / 200 - n) < 5 * error, n

    def test_repetitions_count_once(self) -> None:
        assert fold(sf.approx_distinct(), [0.0, -0.0, math.nan, -math.nan, 1.0] * 20) == 3
        assert fold(sf.approx_distinct(dtype="str"), ["a", "b"] * 50) == 2

    def test_the_same_by_every_algorithm(self) -> None:
        rng = random.Random(4)
        values = [rng.randrange(400) for _ in range(900)]
        for precision in (4, 6, 10):
            operator = sf.approx_distinct(dtype="int64", precision=precision)
            expected = make("recalc", operator).slide(np.array(values), 300).tolist()
            for name in fitting(operator):
                assert slid(operator, values, 300, algorithm=name) == expected, name
                assert make(name, operator).slide(np.array(values), 300).tolist() == expected

    def test_check_passes_while_it_grows(self) -> None:
        for name in fitting(sf.approx_distinct()):
            window = make(name, sf.approx_distinct(dtype="int64", precision=4), checked=True)
            for value in range(40):
                window.insert(value)
                window.check()

    @pytest.mark.parametrize("wrong", [3, 19, 1.5, "12", None, True], ids=repr)
    def test_precision(self, wrong: Any) -> None:
        with pytest.raises(OperatorError, match="precision"):
            sf.approx_distinct(precision=wrong)


def fold_of(operator: Any, values: list[Any]) -> Any:
    window = make("recalc", operator)
    for value in values:
        window.insert(value)
    return window.query()


class TestCountMin:
    def test_error(self) -> None:
        rng = random.Random(5)
        values = [min(int(rng.expovariate(0.02)), 500) for _ in range(5000)]
        sketch = make(
            "subtract_on_evict", sf.count_min(epsilon=0.01, confidence=0.95, dtype="int64")
        )
        for value in values:
            sketch.insert(value)
        result = sketch.query()
        truth = Counter(values)
        over = [result.estimate(value) - n for value, n in truth.items()]
        assert min(over) >= 0
        assert sum(each > 0.01 * 5000 for each in over) <= 0.05 * len(over) + 1
        assert result.total == 5000
        assert (result.width, result.depth) == (272, 3)

    def test_what_left_leaves_no_trace(self) -> None:
        operator = sf.count_min(epsilon=0.2, confidence=0.9, dtype="int64")
        values = [*range(100), *([7] * 10)]
        for name in fitting(operator):
            last = slid(operator, values, 10, algorithm=name)[-1]
            assert last.estimate(7) == 10
            assert last == fold_of(operator, [7] * 10)

    def test_asks_with_the_type_of_its_values(self) -> None:
        result = fold_of(sf.count_min(dtype="int64"), [3, 3])
        assert (result.estimate(3), result.estimate(3.0), result.estimate(3.5)) == (2, 2, 0)
        with pytest.raises(ValueTypeError):
            result.estimate("3")

    @pytest.mark.parametrize("wrong", [0, 1, -0.5, "x", None, True, math.nan], ids=repr)
    def test_parameters(self, wrong: Any) -> None:
        with pytest.raises(OperatorError, match="epsilon between 0 and 1"):
            sf.count_min(epsilon=wrong)
        with pytest.raises(OperatorError, match="confidence between 0 and 1"):
            sf.count_min(confidence=wrong)


def rank_errors(result: Any, values: list[float]) -> list[float]:
    ordered = sorted(values)
    errors = []
    for i in range(1, 20):
        q = i / 20
        at = result.quantile(q)
        low, high = bisect_left(ordered, at), bisect_right(ordered, at)
        errors.append(max(low / len(values) - q, q - high / len(values), 0.0))
    return errors


class TestMoments:
    @pytest.mark.parametrize("far", [0.0, 1e9, -1e-12])
    @pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
    @pytest.mark.parametrize("shape", ["uniform", "normal", "exponential"])
    def test_rank_error_of_smooth_data(self, shape: str, scale: float, far: float) -> None:
        rng = random.Random(6)
        draws: dict[str, Any] = {
            "uniform": rng.random,
            "normal": lambda: rng.gauss(0, 1),
            "exponential": lambda: rng.expovariate(1),
        }
        values = [(far + draws[shape]()) * scale for _ in range(4000)]
        operator = sf.moments()
        window = sf.Window(operator, sf.rows(3000))
        for value in values:
            result = window.push(value)
        assert max(rank_errors(result, values[1000:])) < 0.01
        assert (result.min, result.max) == (min(values[1000:]), max(values[1000:]))

    @pytest.mark.parametrize("k", [4, 10, 15])
    def test_rank_error_of_hard_data(self, k: int) -> None:
        """Two humps within 1/k; heavy tails and few distinct values are the documented worst."""
        rng = random.Random(7)
        two_humps = [rng.choice([rng.gauss(0, 1), rng.gauss(12, 1)]) for _ in range(2000)]
        heavy = [math.exp(2 * rng.gauss(0, 1)) for _ in range(2000)]
        few = [float(rng.choice([1, 2, 5])) for _ in range(2000)]
        for values, bound in ((two_humps, 1 / k), (heavy, 0.4), (few, 0.4)):
            errors = rank_errors(fold_of(sf.moments(k=k), values), values)
            assert sum(errors) / len(errors) < bound

    def test_quantiles_rise(self) -> None:
        rng = random.Random(8)
        result = fold_of(sf.moments(), [rng.gauss(0, 1) for _ in range(500)])
        found = [result.quantile(i / 100) for i in range(101)]
        assert found == sorted(found)
        assert (found[0], found[-1]) == (result.min, result.max)

    def test_one_value(self) -> None:
        for values in ([3.5], [3.5] * 10):
            result = fold_of(sf.moments(), values)
            assert {result.quantile(q) for q in (0.0, 0.3, 1.0)} == {3.5}

    @pytest.mark.parametrize("q", [-0.1, 1.1, math.nan, "x", None])
    def test_a_share_is_due(self, q: Any) -> None:
        with pytest.raises(ValueTypeError, match=r"expected .*, got"):
            fold_of(sf.moments(), [1.0, 2.0]).quantile(q)

    @pytest.mark.parametrize("wrong", [1, 16, 2.5, None, True], ids=repr)
    def test_k(self, wrong: Any) -> None:
        with pytest.raises(OperatorError, match="moments"):
            sf.moments(k=wrong)


class TestNaiveBayes:
    def test_learns_and_forgets(self) -> None:
        window = sf.Window(sf.naive_bayes(), sf.rows(4))
        for row in [("no", "rain", "cold"), ("yes", "sun", "warm")] * 2:
            model = window.push(row)
        assert model.predict(("rain", "cold")) == "no"
        assert model.predict(("sun", "never seen")) == "yes"
        for row in [("stay", "rain", "cold")] * 4:
            model = window.push(row)
        assert model.labels == {"stay": 4}
        assert model.predict(("sun", "warm")) == "stay"

    def test_columns(self) -> None:
        labels, features = np.array([1, 2, 1, 2]), np.array([7, 8, 7, 8])
        operator = sf.naive_bayes("label", "f", dtype="int64", key_dtype="int64")
        model = make("two_stacks_lite", operator).slide((labels, features), 4)[-1]
        assert (model.predict((7,)), model.predict([8])) == (1, 2)
        with pytest.raises(ValueTypeError, match="4 and 3"):
            make("recalc", operator).slide((labels, features[:3]), 4)
        with pytest.raises(ValueTypeError, match=r"expected .*, got"):
            model.predict("x")


HAS_DATASKETCHES = importlib.util.find_spec("datasketches") is not None


@pytest.mark.skipif(not HAS_DATASKETCHES, reason="needs datasketches")
class TestDatasketches:
    def test_quantile(self) -> None:
        rng = random.Random(9)
        values = [rng.random() for _ in range(6000)]
        for q in (0.1, 0.5, 0.9):
            window = sf.Window(sf.approx_quantile(q=q), sf.rows(5000))
            for value in values:
                found = window.push(value)
            assert abs(sum(x < found for x in values[1000:]) / 5000 - q) < 0.03

    def test_few_values_are_exact(self) -> None:
        values = [5.0, math.nan, 1.0, 3.0]
        for name in fitting(sf.approx_quantile()):
            found = slid(sf.approx_quantile(q=0.5), values, 3, algorithm=name)
            assert found == [5.0, 5.0, 1.0, 1.0]
        assert fold_of(sf.approx_quantile(), [math.nan]) is None

    def test_theta(self) -> None:
        window = sf.Window(sf.theta(), sf.rows(3000))
        for value in range(5000):
            found = window.push(value % 3500)
        assert abs(found.get_estimate() - 3000) < 0.1 * 3000

    def test_frequent_items(self) -> None:
        rng = random.Random(10)
        words = [rng.choice(["often", "often", "often", f"rare{i}"]) for i in range(3000)]
        window = sf.Window(sf.frequent_items(at_least=100), sf.rows(2000))
        for word in words:
            found = window.push(word)
        assert [item for item, _ in found] == ["often"]

    def test_values(self) -> None:
        import pickle

        for operator, wrong in (
            (sf.approx_quantile("x", 0.25), "a"),
            (sf.theta("x"), (1, 2)),
            (sf.frequent_items("x"), 3),
        ):
            assert pickle.loads(pickle.dumps(operator)) == operator
            assert operator.columns == ("x",)
            with pytest.raises(ValueTypeError, match=r"expected .*, got"):
                sf.Window(operator, sf.rows(2)).push(wrong)


def test_without_datasketches(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "datasketches", None)
    for make_operator in (sf.approx_quantile, sf.theta, sf.frequent_items):
        with pytest.raises(OperatorError, match=r"pip install slidefold\[sketches\]"):
            make_operator()
