"""How often `combine` is called: the worst step, and the average over whole flip cycles."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import slidefold as sf
from tests.support.algorithms import OFFERS, STEPPING, make

LARGEST = 2**14
SIZES = [1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 100, 1000, 1024, LARGEST]
SMALL = [size for size in SIZES if size <= 1024]  # for those that take O(n) a step


def log2(n: int) -> int:
    """Return the height of a perfect tree over n leaves."""
    return math.ceil(math.log2(n)) if n > 1 else 0


Bound = Callable[[int], float]  # of the largest window so far


@dataclass(frozen=True)
class Cost:
    """What DESIGN allows a window that never held more than n values."""

    query: Bound
    insert: Bound
    evict: Bound
    average: float = math.inf  # insert and evict together, over whole flip cycles of a full window
    average_with_query: float = math.inf  # evict, insert and one query
    quadratic: bool = False


def none(_: int) -> float:
    return 0


def one(_: int) -> float:
    return 1


def flat_fat_step(n: int) -> float:
    # Growing, halving or compacting rebuilds the tree over at most 4n slots (at least 4).
    return max(4 * n, 4) + 1 + log2(4 * n)


COSTS = {
    "recalc": Cost(lambda n: max(n - 1, 0), none, none, average=0, quadratic=True),
    "subtract_on_evict": Cost(none, one, one, average=2),
    "two_stacks": Cost(one, one, lambda n: n, average=2),
    "two_stacks_lite": Cost(one, one, lambda n: n, average=2),
    "daba": Cost(one, lambda n: 4, lambda n: 3, average=4),
    "daba_lite": Cost(one, lambda n: 3, lambda n: 2, average=3),
    "flat_fat": Cost(lambda n: max(2 * log2(4 * n) - 1, 0), flat_fat_step, flat_fat_step),
    "flat_fit": Cost(lambda n: max(n - 1, 0), none, none, average=0, average_with_query=3),
    "slick_deque": Cost(none, lambda n: n, none, average=2),
    "amta": Cost(lambda n: 1 + 2 * log2(n), lambda n: 1 + log2(n), none, average=2),
}


def operators_for(name: str) -> list[Any]:
    """Return operators whose combines are counted, one with plain and one with larger states."""
    needs = OFFERS[name].needs
    if needs == "invertible":
        return [sf.sum(dtype="int64"), sf.mean(dtype="int64")]
    if needs == "selective":
        return [sf.max(dtype="int64"), sf.min()]
    return [sf.sum(dtype="int64"), sf.var()]


@dataclass
class Meter:
    """A window whose steps are counted one by one."""

    window: Any
    inserts: list[int] = field(default_factory=list)
    evicts: list[int] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)

    def _run(self, counts: list[int], step: Callable[..., Any], *args: Any) -> None:
        before = self.window.combines
        step(*args)
        counts.append(self.window.combines - before)

    def insert(self, value: int) -> None:
        self._run(self.inserts, self.window.insert, value)

    def evict(self) -> None:
        self._run(self.evicts, self.window.evict)

    def query(self) -> None:
        self._run(self.queries, self.window.query)

    def all_within(self, cost: Cost, largest: int) -> None:
        assert max(self.queries, default=0) <= cost.query(largest)
        assert max(self.inserts, default=0) <= cost.insert(largest)
        assert max(self.evicts, default=0) <= cost.evict(largest)


def streams() -> dict[str, Callable[[], Iterator[int]]]:
    """Return streams of values: what is kept by a SlickDeque depends on them."""

    def falling() -> Iterator[int]:
        yield from range(10**9, 0, -1)

    def rising() -> Iterator[int]:
        yield from range(10**9)

    def chance() -> Iterator[int]:
        rng = random.Random(4)
        while True:
            yield rng.randrange(1000)

    def falling_with_peaks() -> Iterator[int]:
        for i in range(10**9):
            yield 2 * 10**9 if i % 1500 == 1499 else 10**9 - i

    return {
        "falling": falling,
        "rising": rising,
        "chance": chance,
        "peaks": falling_with_peaks,
    }


def sizes_for(name: str) -> list[int]:
    return SMALL if COSTS[name].quadratic else SIZES


def test_every_algorithm_has_its_costs() -> None:
    assert {*STEPPING} <= {*COSTS}


@pytest.mark.parametrize("stream", streams().values(), ids=streams().keys())
@pytest.mark.parametrize("name", STEPPING)
def test_worst_step(name: str, stream: Callable[[], Iterator[int]]) -> None:
    """Fill, slide, empty and refill, with a query after every step."""
    cost = COSTS[name]
    for size in sizes_for(name):
        meter = Meter(make(name, operators_for(name)[0], counted=True))
        values = stream()
        for _ in range(2):
            for _ in range(size):
                meter.insert(next(values))
                meter.query()
            for _ in range(min(size, 2000)):
                meter.evict()
                meter.query()
                meter.insert(next(values))
                meter.query()
            while len(meter.window):
                meter.evict()
                meter.query()
        meter.all_within(cost, size)


@pytest.mark.parametrize("name", STEPPING)
def test_worst_step_in_any_interleaving(name: str) -> None:
    """Walk at random between empty and a thousand, in phases that grow and shrink."""
    for seed, operator in enumerate(operators_for(name) * 2):
        rng = random.Random(seed)
        meter = Meter(make(name, operator, counted=True))
        largest = 1
        for _ in range(60):
            share = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
            for _ in range(rng.randint(1, 300)):
                if rng.random() < share or not len(meter.window):
                    meter.insert(rng.randrange(100))
                else:
                    meter.evict()
                largest = max(largest, len(meter.window))
                if rng.random() < 0.3:
                    meter.query()
        meter.all_within(COSTS[name], largest)


@pytest.mark.parametrize("name", [n for n in STEPPING if COSTS[n].average < math.inf])
def test_average_over_flip_cycles(name: str) -> None:
    """A full window that slides by many times its size: an evict and an insert a step."""
    cost = COSTS[name]
    for size in sizes_for(name):
        if size < 2:
            continue
        meter = Meter(make(name, operators_for(name)[0], counted=True))
        values = streams()["chance"]()
        for _ in range(size):
            meter.insert(next(values))
        meter.inserts.clear()
        steps = size * max(1, 3000 // size) * 2
        for _ in range(steps):
            meter.evict()
            meter.insert(next(values))
            if cost.average_with_query < math.inf:
                meter.query()
        steady = (sum(meter.inserts) + sum(meter.evicts)) / steps
        assert steady <= cost.average
        if size >= 100 and name in ("two_stacks", "two_stacks_lite", "daba", "daba_lite"):
            assert steady > cost.average - 0.1, "fewer than the paper says: are they counted?"
        if cost.average_with_query < math.inf:
            assert steady + sum(meter.queries) / steps <= cost.average_with_query


@pytest.mark.parametrize("name", STEPPING)
def test_amortised_over_a_fill_and_drain(name: str) -> None:
    """All inserts and evicts of a window that is filled and emptied, a query at each turn."""
    cost = COSTS[name]
    allowed = {"flat_fat": 14 + 2 * log2(LARGEST), "slick_deque": 2}.get(name, cost.average)
    for size in sizes_for(name):
        meter = Meter(make(name, operators_for(name)[0], counted=True))
        values = streams()["chance"]()
        for _ in range(3):
            for _ in range(size):
                meter.insert(next(values))
            meter.query()
            while len(meter.window):
                meter.evict()
        assert (sum(meter.inserts) + sum(meter.evicts)) <= allowed * 3 * size


@pytest.mark.skipif("flat_fat" not in STEPPING, reason="FlatFat is not in the registry")
def test_flat_fat_without_resizing() -> None:
    """With a fixed capacity c: at most 1 + log2 c a step, 2 log2 c - 1 a query, 0 when in order."""
    for height in range(2, 15):
        capacity = 2**height
        meter = Meter(make("flat_fat", sf.sum(dtype="int64"), counted=True, capacity=capacity))
        for value in range(capacity):
            meter.insert(value)
        meter.query()
        assert meter.queries == [0], "the ring is not inverted"
        for value in range(min(2 * capacity, 3000)):
            meter.evict()
            meter.insert(value)
            meter.query()
        assert max(meter.inserts) <= 1 + height
        assert max(meter.evicts) <= 1 + height
        assert max(meter.queries) <= 2 * height - 1


@pytest.mark.skipif("flat_fat" not in STEPPING, reason="FlatFat is not in the registry")
@pytest.mark.parametrize("batch", [1, 2, 3, 8, 100, 1000, 4096])
def test_flat_fat_updates(batch: int) -> None:
    """A batch of m updated values in c slots takes at most m (1 + ceil(log2(c / m))) combines."""
    capacity = 4096
    window = make("flat_fat", sf.sum(dtype="int64"), counted=True, capacity=capacity)
    positions = [window.insert(value) for value in range(capacity)]
    held = list(range(capacity))
    rng = random.Random(batch)
    for _ in range(5):
        chosen = rng.sample(range(capacity), batch)
        for at in chosen:
            held[at] = rng.randrange(1000)
        before = window.combines
        window.update([positions[at] for at in chosen], [held[at] for at in chosen])
        assert window.combines - before <= batch * (1 + math.ceil(math.log2(capacity / batch)))
        assert window.query() == sum(held)


@pytest.mark.skipif("amta" not in STEPPING, reason="Amta is not in the registry")
def test_amta_bulk_evict() -> None:
    """A bulk evict combines nothing; the query after it at most 1 + 2 log2 n."""
    for size in (1, 2, 3, 64, 1000, LARGEST):
        for gone in {1, size // 3, size - 1, size}:
            window = make("amta", sf.sum(dtype="int64"), counted=True)
            for value in range(size):
                window.insert(value)
            before = window.combines
            window.bulk_evict(gone)
            assert window.combines == before
            assert len(window) == size - gone
            assert window.query() == (sum(range(gone, size)) if gone < size else None)
            assert window.combines - before <= 1 + 2 * log2(size)


def test_bytes_of_daba_lite() -> None:
    """n + 2 states, and not much more: chunks are nearly full."""
    window = make("daba_lite", sf.sum())
    for _ in range(LARGEST):
        window.insert(1.0)
    assert window.nbytes <= 1.2 * 8 * (LARGEST + 2)


def test_uncounted_windows_do_not_count() -> None:
    for name in STEPPING:
        assert make(name, operators_for(name)[0]).combines is None
        assert make(name, operators_for(name)[0], counted=True).combines == 0
