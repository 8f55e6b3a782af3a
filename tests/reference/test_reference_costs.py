"""The bounds of the papers, asserted by counting calls of combine."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from slidefold.reference import (
    Amta,
    Daba,
    DabaLite,
    FlatFat,
    FlatFit,
    Pba,
    Recalc,
    Sba,
    SlickDeque,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
)
from slidefold.reference import operators as ops
from tests.reference.reference_cases import Make, interleavings


class Meter:
    """A window whose operations report how many combines they took."""

    def __init__(self, make: Make) -> None:
        self.op: Any = ops.Counting(ops.Count())
        self.window = make(self.op)

    def cost(self, action: Callable[[], object]) -> int:
        before = self.op.combines
        action()
        return int(self.op.combines - before)

    def insert(self) -> int:
        return self.cost(lambda: self.window.insert(0))

    def evict(self) -> int:
        return self.cost(self.window.evict)

    def query(self) -> int:
        return self.cost(self.window.query)


# worst insert, evict and query, given the number of values before the operation
WORST: dict[Any, tuple[Callable[[int], float], Callable[[int], float], Callable[[int], float]]] = {
    Recalc: (lambda n: 0, lambda n: 0, lambda n: max(n - 1, 0)),
    SubtractOnEvict: (lambda n: 1, lambda n: 0, lambda n: 0),
    TwoStacks: (lambda n: 1, lambda n: n, lambda n: 1),
    TwoStacksLite: (lambda n: 1, lambda n: n, lambda n: 1),
    Daba: (lambda n: 4, lambda n: 3, lambda n: 1),
    DabaLite: (lambda n: 3, lambda n: 2, lambda n: 1),
    FlatFit: (lambda n: 0, lambda n: 0, lambda n: max(n - 1, 0)),
    Amta: (
        lambda n: 1 + math.log2(n + 1),
        lambda n: 2 * math.log2(n),
        lambda n: 1,
    ),
}


@pytest.mark.parametrize("make", WORST)
@pytest.mark.parametrize("seed", range(3))
def test_worst_case_in_any_interleaving(make: Any, seed: int) -> None:
    meter = Meter(make)
    insert, evict, query = WORST[make]
    for grow in interleavings(seed, 3000):
        n = len(meter.window)
        if grow or not n:
            assert meter.insert() <= insert(n)
        else:
            assert meter.evict() <= evict(n)
        assert meter.query() <= query(len(meter.window))


@pytest.mark.parametrize("make", WORST)
def test_worst_case_of_filling_and_draining(make: Any) -> None:
    meter = Meter(make)
    insert, evict, _ = WORST[make]
    for _ in range(2):
        for n in range(2048):
            assert meter.insert() <= insert(n)
        for n in range(2048, 0, -1):
            assert meter.evict() <= evict(n)


@pytest.mark.parametrize(("make", "states"), [
    (TwoStacks, lambda n: 2 * n),
    (TwoStacksLite, lambda n: n + 1),
    (Daba, lambda n: 2 * n),
    (DabaLite, lambda n: n + 2),
    (FlatFit, lambda n: n),
    (SubtractOnEvict, lambda n: n + 1),
    (Recalc, lambda n: n),
])  # fmt: skip
def test_states_kept(make: Any, states: Callable[[int], int]) -> None:
    meter = Meter(make)
    for grow in interleavings(2, 500):
        if grow or not len(meter.window):
            meter.insert()
        else:
            meter.evict()
        assert meter.window.states_kept() == states(len(meter.window))


@pytest.mark.parametrize("make", [TwoStacks, TwoStacksLite])
def test_two_stacks_evict_amortises_to_one(make: Any) -> None:
    meter = Meter(make)
    evicts = cost = 0
    for grow in interleavings(4, 4000):
        if grow or not len(meter.window):
            assert meter.insert() == 1
        else:
            cost += meter.evict()
            evicts += 1
        assert cost <= evicts + len(meter.window)
    while len(meter.window):
        cost += meter.evict()
        evicts += 1
    assert cost <= evicts


@pytest.mark.parametrize(("make", "insert_and_evict"), [(Daba, 4), (DabaLite, 3)])
@pytest.mark.parametrize("n", [3, 8, 100, 1000])
def test_daba_average_over_whole_flip_cycles(make: Any, insert_and_evict: int, n: int) -> None:
    """A cycle of 2m fixups takes m shrinks, so fixups cost 3/2 (Lite: 1) and inserts one more."""
    meter = Meter(make)
    for _ in range(n):
        meter.insert()
    cycles: list[tuple[int, int, int]] = []  # inserts, evicts and combines since the last flip
    inserts = evicts = combines = 0
    boundary = meter.window.at.B
    for turn in range(8 * n):
        cost = meter.insert() if turn % 2 else meter.evict()
        if boundary != meter.window.at.B:  # this operation flipped: it opens a cycle
            boundary = meter.window.at.B
            cycles.append((inserts, evicts, combines))
            inserts = evicts = combines = 0
        inserts, evicts, combines = inserts + turn % 2, evicts + (turn + 1) % 2, combines + cost
    assert len(cycles) >= 3
    fixup = (insert_and_evict - 1) / 2
    for some_inserts, some_evicts, some_combines in cycles[1:]:
        assert some_combines == some_inserts * (1 + fixup) + some_evicts * fixup


@pytest.mark.parametrize("n", [4, 64, 1000])
def test_flat_fit_takes_three_a_slide(n: int) -> None:
    meter = Meter(FlatFit)
    for _ in range(n):
        meter.insert()
    meter.query()
    slides, cost, worst = 4 * (n + 1), 0, 0
    for _ in range(slides):
        meter.evict()
        meter.insert()
        query = meter.query()
        cost, worst = cost + query, max(worst, query)
    assert cost <= 3 * slides
    assert worst == n - 1


@pytest.mark.parametrize("seed", range(3))
def test_flat_fit_amortises_in_any_interleaving(seed: int) -> None:
    meter = Meter(FlatFit)
    operations = cost = 0
    for grow in interleavings(seed, 4000):
        if grow or not len(meter.window):
            meter.insert()
        else:
            meter.evict()
        cost += meter.query()
        operations += 1
    assert cost <= 3 * operations


@pytest.mark.parametrize("seed", range(3))
def test_amta_amortises_in_any_interleaving(seed: int) -> None:
    meter = Meter(Amta)
    inserts = cost = 0
    for grow in interleavings(seed, 4000):
        if grow or not len(meter.window):
            cost += meter.insert()
            inserts += 1
        else:
            cost += meter.evict()
        n = len(meter.window)
        assert cost <= 3 * inserts + 2 * math.log2(n + 1)
        assert meter.window.states_kept() <= 2 * n + 2 * math.log2(n + 1) + 1


def test_amta_bulk_evict_does_not_depend_on_m() -> None:
    chance = random.Random(1)
    for n in (100, 1000, 3000):
        for _ in range(30):
            meter = Meter(Amta)
            for _ in range(chance.randint(0, 70)):
                meter.insert()
                meter.evict()
            for _ in range(n):
                meter.insert()
            for _ in range(3):
                m = chance.randint(1, len(meter.window))
                bound = 2 * math.log2(max(len(meter.window), 2))
                assert meter.cost(partial(meter.window.bulk_evict, m)) <= bound
                if not len(meter.window):
                    break


@pytest.mark.parametrize("shape", ["random", "rising", "falling", "saw"])
def test_slick_deque(shape: str) -> None:
    """A comparison is a call of newer_wins: combine itself is never needed."""
    chance = random.Random(2)
    number: Callable[[int], float] = {
        "random": lambda i: chance.random(),
        "rising": lambda i: i,
        "falling": lambda i: -i,
        "saw": lambda i: i % 50,
    }[shape]
    op: Any = ops.Counting(ops.Max())
    window: Any = SlickDeque(op)
    n = 300
    for i in range(3000):
        before = op.choices
        window.insert(number(i))
        assert op.choices - before <= min(len(window) - 1, n)
        if len(window) > n:
            window.evict()
        window.query()
        assert window.states_kept() <= len(window)
    assert op.combines == 0
    assert op.choices < 2 * 3000


@pytest.mark.parametrize("n", [2, 3, 4, 7, 64, 100, 1000, 1024])
@pytest.mark.parametrize("make", [Sba, Pba])
def test_boundary_of_one_row_slides(make: Any, n: int) -> None:
    op: Any = ops.Counting(ops.Count())
    window = make(op, n)
    b = window.chunk
    costs = []
    for seen in range(1, 6 * n):
        before = op.combines
        window.push(0)
        cost = op.combines - before
        closes = seen % b == 0
        assert cost <= 3 + (b - 2 if make is Sba and closes and b > 2 else 0)
        costs.append(cost)
        assert window.states_kept() <= (3 * n + 13) / 2
    if make is Pba:
        assert sum(costs) < 3 * len(costs)
        for chunk in window.core.chunks:
            chunk.wait()
        assert op.elsewhere == max(b - 2, 0) * ((6 * n - 1) // b)
    else:
        assert op.elsewhere == 0


@pytest.mark.parametrize(
    ("range_", "slide"), [(10, 3), (100, 7), (64, 5), (1000, 3), (15, 2), (9, 5)]
)
def test_boundary_with_a_rest_takes_one_more(range_: int, slide: int) -> None:
    op: Any = ops.Counting(ops.Count())
    window = Pba(op, range_, slide)
    rest = range_ % slide
    for seen in range(1, 5 * range_):
        before = op.combines
        window.push(0)
        cost = op.combines - before
        slicing = int((seen - 1) % slide > 0) + int((seen - 1) % slide > slide - rest)
        merging = 4 if seen % slide == 0 else 0
        assert cost <= slicing + merging


@pytest.mark.parametrize("c", [4, 16, 256, 2048])
def test_flat_fat_in_a_ring_of_fixed_capacity(c: int) -> None:
    meter = Meter(lambda op: FlatFat(op, capacity=c))
    levels = int(math.log2(c))
    for _ in range(c):
        assert meter.insert() <= levels
        assert meter.query() == 0
    worst = 0
    for _ in range(3 * c):
        assert meter.evict() <= levels
        assert meter.insert() <= levels
        query = meter.query()
        worst = max(worst, query)
        assert query == 0 or meter.window.inverted
    assert worst == 2 * levels - 1
    assert meter.window.states_kept() == 2 * c - 1


@pytest.mark.parametrize("m", [1, 2, 3, 5, 16, 100, 512])
def test_flat_fat_update_of_m(m: int) -> None:
    c = 512
    meter = Meter(lambda op: FlatFat(op, capacity=c))
    for _ in range(c):
        meter.insert()
    chance = random.Random(m)
    for _ in range(20):
        positions = chance.sample(range(c), m)
        cost = meter.cost(partial(meter.window.update, positions, [0] * m))
        assert cost <= m * (1 + math.ceil(math.log2(c / m)))


@pytest.mark.parametrize("m", [1, 4, 64, 256])
def test_flat_fat_batched_slides(m: int) -> None:
    """m evicts and m inserts write 2m slots at most, and are one update."""
    c = 512
    meter = Meter(lambda op: FlatFat(op, capacity=c, batch=True))
    for _ in range(c):
        assert meter.insert() == 0
    meter.cost(meter.window.trigger)
    for _ in range(20):
        for _ in range(m):
            assert meter.evict() == 0
            assert meter.insert() == 0
        updates = m * (1 + math.ceil(math.log2(c / m)))
        assert meter.cost(meter.window.trigger) <= updates + 2 * math.log2(c) - 1


def test_flat_fat_resizing_amortises() -> None:
    meter = Meter(FlatFat)
    operations = cost = 0
    for grow in interleavings(6, 6000):
        c = meter.window.capacity
        before = cost
        if grow or not len(meter.window):
            cost += meter.insert()
        else:
            cost += meter.evict()
        operations += 1
        assert cost - before <= (math.log2(c) if meter.window.capacity == c else 2 * c - 1)
    assert cost <= operations * (math.log2(512) + 2)
