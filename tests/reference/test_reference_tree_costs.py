"""The bounds of the FiBA papers, asserted by counting combines and touched nodes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from slidefold.reference import BTree, Fiba
from slidefold.reference import operators as ops


class Meter:
    """A tree whose operations report how many combines they took."""

    def __init__(self, times: Iterable[int] = (), make: Any = Fiba, min_arity: int = 2) -> None:
        self.op: Any = ops.Counting(ops.Count())
        self.tree = make(self.op, min_arity)
        for time in times:
            self.tree.insert(time, 0)

    def cost(self, action: Callable[..., object], *args: Any) -> int:
        before = self.op.combines
        action(*args)
        return int(self.op.combines - before)

    def insert(self, time: int) -> int:
        return self.cost(self.tree.insert, time, 0)

    def bulk_insert(self, times: Iterable[int]) -> int:
        chosen = list(times)
        return self.cost(self.tree.bulk_insert, chosen, [0] * len(chosen))


def test_query_combines_at_most_twice() -> None:
    meter = Meter()
    for i in range(2000):
        meter.insert(i * 7919 % 2003)
        assert meter.cost(meter.tree.query) <= 2
    assert meter.cost(meter.tree.query) == 2
    beside = Meter(range(200), BTree)
    assert beside.cost(beside.tree.query) == 0


def in_order(min_arity: int, n: int, slides: int = 1000) -> float:
    """Return the combines of an insert and an evict in order, on average."""
    meter = Meter(range(n), min_arity=min_arity)
    total = sum(meter.insert(n + i) + meter.cost(meter.tree.evict, i) for i in range(slides))
    return total / slides


@pytest.mark.parametrize("min_arity", [2, 4, 8])
def test_in_order_cost_does_not_grow_with_the_window(min_arity: int) -> None:
    small = in_order(min_arity, 2**8)
    assert small <= 6 * min_arity
    for n in (2**11, 2**14):
        assert in_order(min_arity, n) == pytest.approx(small, rel=0.05)


def at_distance(n: int, d: int, slides: int = 1000) -> float:
    """Return the combines of an insert d entries before the youngest, and of evicting one there."""
    chance = random.Random(d)
    meter = Meter(range(0, 2 * n, 2))
    total = 0
    for _ in range(slides):
        time = 2 * (n - chance.randint(max(1, d // 2), d)) + 1
        total += meter.insert(time) + meter.cost(meter.tree.evict, time)
    return total / slides


def test_out_of_order_cost_grows_with_the_logarithm_of_the_distance() -> None:
    n = 2**13
    costs = {d: at_distance(n, d) for d in (2**2, 2**4, 2**6, 2**8, 2**10)}
    assert list(costs.values()) == sorted(costs.values())
    assert all(cost <= 12 * math.log2(d) for d, cost in costs.items())
    assert at_distance(2**10, 2**6) == pytest.approx(at_distance(n, 2**6), rel=0.1)


def test_the_baseline_pays_for_the_window() -> None:
    small, large = (
        sum(meter.insert(n + i) for i in range(200))
        for n in (2**6, 2**12)
        for meter in [Meter(range(n), BTree)]
    )
    assert large > 1.5 * small


@pytest.mark.parametrize("min_arity", [2, 4])
def test_bulk_evict_costs_the_logarithm_of_m(min_arity: int) -> None:
    n = 2**12
    full = Meter(range(n), min_arity=min_arity)
    for k in range(11):
        worst = 0
        for more in (-1, 0, 1):
            meter = Meter(min_arity=min_arity)
            meter.tree = full.tree.copy()
            meter.op = full.op
            worst = max(worst, meter.cost(meter.tree.bulk_evict, 2**k + more))
        assert worst <= 4 * min_arity * (k + 2)


def test_bulk_evict_amortises_whatever_the_window() -> None:
    """Slides of m: what they cost on average is O(log m), also where some slides reach the root."""
    for n in (2**10, 2**13):
        for m in (1, 8, 64):
            meter = Meter(range(n))
            cost = slides = 0
            for until in range(m - 1, n - 1, m):
                cost += meter.cost(meter.tree.bulk_evict, until)
                slides += 1
            assert cost <= slides * (8 + 3 * math.log2(m))


def touched(action: Callable[..., object], tree: Any, *args: Any) -> int:
    """Return how many nodes an operation remembers because it changes them."""
    seen: set[int] = set()
    touch = tree._touch

    def watch(*nodes: Any) -> None:
        seen.update(map(id, nodes))
        touch(*nodes)

    tree._touch = watch
    try:
        action(*args)
    finally:
        del tree._touch
    return len(seen)


def test_bulk_evict_touches_the_boundary_only() -> None:
    full = Meter(range(2**12)).tree
    for k in range(11):
        tree = full.copy()
        assert touched(tree.bulk_evict, tree, 2**k) <= 2 * (k + 3)


def test_single_operations_touch_few_nodes() -> None:
    tree = Meter(range(2**12)).tree
    counts = [
        touched(tree.insert, tree, 2**12 + i, 0) + touched(tree.evict, tree, i) for i in range(500)
    ]
    assert sum(counts) / len(counts) <= 12


def test_bulk_insert_in_order_costs_what_it_holds() -> None:
    for n in (0, 2**8, 2**12):
        for m in (1, 16, 256, 2048):
            meter = Meter(range(n))
            assert meter.bulk_insert(range(n, n + m)) <= m + 4 * math.log2(n + m + 1)


@pytest.mark.parametrize("m", [2, 16, 128, 1024])
def test_bulk_insert_out_of_order_costs_no_more_than_a_loop(m: int) -> None:
    chance = random.Random(m)
    n, d = 2**12, 2**11
    late = [2 * (n - chance.randint(1, d)) + 1 for _ in range(m)]
    bulk, loop = Meter(range(0, 2 * n, 2)), Meter(range(0, 2 * n, 2))
    cost = bulk.bulk_insert(late)
    assert cost <= sum(loop.insert(time) for time in late)
    assert cost <= 3 * (math.log2(d) + m * (1 + math.log2(1 + d / m)))
    assert bulk.tree.query() == loop.tree.query()


def test_a_range_costs_the_logarithm_of_its_length_and_distance() -> None:
    n = 2**13
    meter = Meter(range(n))
    for k in range(2, 13):
        assert meter.cost(meter.tree.query, n - 2**k, n) <= 4 * (k + 2)
        assert meter.cost(meter.tree.query, 0, 2**k) <= 4 * (k + 2)
        assert meter.cost(meter.tree.query, n // 2, n // 2 + 2**k // 2) <= 4 * math.log2(n)


@pytest.mark.parametrize("make", [Fiba, BTree])
@pytest.mark.parametrize("min_arity", [2, 4, 16])
def test_states_kept_are_linear(make: Any, min_arity: int) -> None:
    """One an entry and one a node; a node but the root has min_arity - 1 entries at least."""
    for n in (1, 10, 500):
        kept = Meter(range(n), make, min_arity).tree.states_kept()
        assert n < kept <= n + n / (min_arity - 1) + 1
