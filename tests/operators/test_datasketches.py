"""Sketches of the datasketches package: saved as others are, and their laws within their bounds."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections import Counter
from functools import reduce
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import StateError

datasketches = pytest.importorskip("datasketches")

OPERATORS: dict[str, tuple[Any, Any]] = {
    "approx_quantile": (sf.approx_quantile(q=0.25), lambda rng: rng.gauss(0, 1)),
    "theta": (sf.theta(), lambda rng: rng.randrange(900)),
    "frequent_items": (sf.frequent_items(lg_max_k=6), lambda rng: f"w{int(rng.expovariate(0.1))}"),
}


def shown(result: Any) -> Any:
    return result.get_estimate() if hasattr(result, "get_estimate") else result


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("lateness", [None, 20])
def test_saved_in_the_middle(name: str, lateness: int | None) -> None:
    """Few values are saved as values, many as a sketch; both go on from there."""
    operator, draw = OPERATORS[name]
    rng = random.Random(name)
    window = sf.Window(operator, sf.time(250), lateness=lateness)
    for t in range(500):
        window.push(t, draw(rng))
        if t in (3, 60, 499):
            data = window.to_bytes()
            again = sf.Window.from_bytes(data)
            assert again.plan.operator == operator
            assert again.to_bytes() == data
            assert shown(again.query()) == shown(window.query())
            again.check()
            again.push(t + 1, draw(rng))
            again.check()


@pytest.mark.parametrize("name", OPERATORS)
def test_damage_is_found(name: str) -> None:
    operator, draw = OPERATORS[name]
    rng = random.Random(name)
    window = sf.Window(operator, sf.rows(100))
    for _ in range(150):
        window.push(draw(rng))
    data = window.to_bytes()
    for at in range(0, len(data), len(data) // 60):
        with pytest.raises(StateError):
            sf.Window.from_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    load = operator.native_params["load"]
    for wrong in (b"", b"x", operator.native_params["dump"]((1.5,) * 65)):
        with pytest.raises(StateError):
            load(wrong)


@pytest.mark.parametrize("name", ["approx_quantile", "frequent_items"])
def test_few_values_keep_the_laws_exactly(name: str) -> None:
    operator, draw = OPERATORS[name]
    rng = random.Random(1)
    report = sf.check(operator, [draw(rng) for _ in range(9)], examples=60)
    assert "combine is associative" in report.laws
    assert "identity is neutral" in report.laws


def folded(operator: Any, values: list[Any], shape: str) -> Any:
    """The result of combining in time order from the left, from the right, or in halves."""
    functions = operator.native_params
    combine = functions["combine"]
    states = [functions["lift"](value) for value in values]

    def halves(part: list[Any]) -> Any:
        middle = len(part) // 2
        return part[0] if len(part) == 1 else combine(halves(part[:middle]), halves(part[middle:]))

    whole = {
        "left": lambda: reduce(combine, states),
        "right": lambda: reduce(lambda newer, older: combine(older, newer), reversed(states)),
        "halves": lambda: halves(states),
    }[shape]()
    return functions["lower"](whole)


@pytest.mark.parametrize("shape", ["left", "right", "halves"])
def test_many_values_keep_the_laws_within_bounds(shape: str) -> None:
    """However states are combined, the results are within what is documented."""
    rng = random.Random(2)
    values = [rng.random() for _ in range(3000)]
    found = folded(sf.approx_quantile(q=0.25), values, shape)
    ordered = sorted(values)
    low, high = (side(ordered, found) / len(values) for side in (bisect_left, bisect_right))
    assert low - 0.03 < 0.25 < high + 0.03
    numbers = [rng.randrange(2000) for _ in range(3000)]
    estimate = folded(sf.theta(lg_k=9), numbers, shape).get_estimate()
    assert abs(estimate / len({*numbers}) - 1) < 2 * 2 / 2**4.5
    words = [f"w{int(rng.expovariate(0.3))}" for _ in range(3000)] + [f"r{i}" for i in range(500)]
    rng.shuffle(words)
    counts = Counter(words)
    items = dict(folded(sf.frequent_items(lg_max_k=6), words, shape))
    assert all(least <= counts[word] for word, least in items.items())
    bound = len(words) * 3.5 / 2**6
    assert {word for word, n in counts.items() if n > bound} <= {*items}


def test_over_columns_and_in_files() -> None:
    made = sf.rolling(
        on="t",
        q=sf.approx_quantile("x", 0.5).over(3),
        theta=sf.theta("i").over(3),
        often=sf.frequent_items("w").over(3),
    )
    assert sf.Rolling.from_dict(made.to_dict()) == made
    words = [None, "a", "b", "a", "a"]
    found = made.run(
        pa.table({"t": range(5), "x": [3.0, 1, 2, 2, 2], "i": [3, 1, 2, 2, 2], "w": words})
    )
    assert found["q"].to_pylist() == [3.0, 1.0, 2.0, 2.0, 2.0]
    read = datasketches.compact_theta_sketch.deserialize
    assert [read(data).get_estimate() for data in found["theta"].to_pylist()] == [1, 2, 3, 2, 1]
    assert found["often"].to_pylist()[0] is None
    assert found["often"].to_pylist()[-1] == [{"item": "a", "n": 2}, {"item": "b", "n": 1}]


def in_any_order(operator: Any, values: list[Any], rng: random.Random) -> Any:
    """Combine values in any order, neighbours first, as chunks on several machines are."""
    functions = operator.native_params
    states = [functions["lift"](value) for value in rng.sample(values, len(values))]
    while len(states) > 1:
        at = rng.randrange(len(states) - 1)
        some = states[at : at + rng.randint(2, 40)]
        states[at : at + len(some)] = [reduce(functions["combine"], some)]
    return functions["lower"](states[0])


@pytest.mark.parametrize("lg_k", [5, 6, 12])
@pytest.mark.parametrize("n", [3, 60, 61, 64, 65, 130, 3000])
def test_theta_depends_on_the_set_alone(lg_k: int, n: int) -> None:
    """Any order and any grouping gives the same bytes: it commutes, and is exact in that."""
    rng = random.Random(n)
    operator = sf.theta(lg_k=lg_k)
    assert operator.traits.commutative
    for values in (list(range(n)), [f"w{i}" for i in range(n)]):
        found = {in_any_order(operator, values, rng).serialize() for _ in range(6)}
        assert len(found) == 1


def test_quantiles_commute_within_their_bound() -> None:
    """Their sketches are random in any order; what is promised is the bound."""
    rng = random.Random(4)
    operator = sf.approx_quantile(q=0.25)
    assert operator.traits.commutative
    values = [rng.gauss(0, 1) for _ in range(4000)]
    ranks = sorted(values)
    for _ in range(20):
        share = bisect_right(ranks, in_any_order(operator, values, rng)) / len(values)
        assert abs(share - 0.25) < 3 * 0.0133
    assert len({in_any_order(operator, values[:64], rng) for _ in range(20)}) == 1


def test_frequent_items_do_not_commute() -> None:
    """With more items than fit, equal windows in another order have other estimates."""
    rng = random.Random(1)
    operator = sf.frequent_items(lg_max_k=3)
    assert not operator.traits.commutative
    values = [f"w{int(rng.expovariate(0.1))}" for _ in range(500)]
    assert len({repr(in_any_order(operator, values, rng)) for _ in range(20)}) > 1


def test_equal_values_are_equal_states() -> None:
    sf.check(sf.approx_quantile(), [3.0, 1.0, -0.0, float("nan"), 2.0])
    combine, lift = (sf.theta().native_params[name] for name in ("combine", "lift"))
    for a, b in (("a", 1), (float("nan"), 2.0), (2, 1.5), (2**63, "")):
        assert repr(combine(lift(a), lift(b))) == repr(combine(lift(b), lift(a)))
