"""How often `combine` is called: the worst step, and the average over whole flip cycles."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.algorithms import OFFERS, STEPPING
from tests.support.cases import BY_ID, Case
from tests.support.implementations import IMPLEMENTATIONS, build

LARGEST = 2**14
SIZES = [1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 100, 1000, 1024, LARGEST]


def log2(n: int) -> int:
    """Return the height of a perfect tree over n leaves."""
    return math.ceil(math.log2(n)) if n > 1 else 0


Bound = Callable[[int], float]  # of the window before the step; after it, for a query


@dataclass(frozen=True)
class Cost:
    """What DESIGN allows a step of a window of n values."""

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
    # At most 4n slots, or 4.
    "flat_fat": Cost(lambda n: max(2 * log2(max(4 * n, 4)) - 1, 0), flat_fat_step, flat_fat_step),
    "b_int": Cost(lambda n: max(2 * log2(n), 0), lambda n: log2(n + 1), none, average=1),
    "flat_fit": Cost(lambda n: max(n - 1, 0), none, none, average=0, average_with_query=3),
    "slick_deque": Cost(none, lambda n: n, none, average=2),
    "amta": Cost(lambda n: 1 + 2 * log2(n), lambda n: 1 + log2(n + 1), none, average=2),
}


# The reference of Amta folds again when it evicts, native code when it is asked.
AMTA = Cost(one, lambda n: 1 + log2(n + 1), lambda n: 2 * math.log2(n), average=3)


def cost_of(code: str, name: str) -> Cost:
    return AMTA if (code, name) == ("reference", "amta") else COSTS[name]


def cases_for(name: str) -> list[Case]:
    """Return operators whose combines are counted, one with plain and one with larger states."""
    names = {
        "invertible": ("sum-int64", "mean-int64"),
        "selective": ("max-int64", "min-float64"),
        "": ("sum-int64", "var-float64-0"),
    }[OFFERS[name].needs]
    return [BY_ID[name] for name in names]


# States that the reference stores, of a window of n values.
STATES: dict[str, Bound] = {
    "recalc": lambda n: n,
    "subtract_on_evict": lambda n: n + 1,
    "two_stacks": lambda n: 2 * n,
    "two_stacks_lite": lambda n: n + 1,
    "daba": lambda n: 2 * n,
    "daba_lite": lambda n: n + 2,
    "flat_fit": lambda n: n,
}
# The most combines of so many inserts and evicts in any order, which leave n values; for FlatFit
# with all queries between them.
TOTALS: dict[str, Callable[[int, int, int], float]] = {
    "two_stacks": lambda inserts, evicts, n: inserts + evicts + n,
    "two_stacks_lite": lambda inserts, evicts, n: inserts + evicts + n,
    "daba": lambda inserts, evicts, n: 4 * inserts + 3 * evicts,
    "daba_lite": lambda inserts, evicts, n: 3 * inserts + 2 * evicts,
    "flat_fit": lambda inserts, evicts, n: 3 * (inserts + evicts),
    "slick_deque": lambda inserts, evicts, n: 2 * inserts,
    "b_int": lambda inserts, evicts, n: inserts,
    "amta": lambda inserts, evicts, n: 3 * inserts + 2 * math.log2(n + 1),
}


def unbounded(_inserts: int, _evicts: int, _n: int) -> float:
    return math.inf


class Meter:
    """A window whose steps are counted one by one, each held against its bound."""

    def __init__(self, code: str, name: str, case: Case | None = None, **options: Any) -> None:
        self.window = build(code, name, case or cases_for(name)[0], counted=True, **options)
        self.cost = cost_of(code, name)
        self.inserts: list[int] = []
        self.evicts: list[int] = []
        self.queries: list[int] = []

    def _run(self, counts: list[int], bound: float, step: Callable[..., Any], *args: Any) -> int:
        before = self.window.combines
        step(*args)
        counts.append(self.window.combines - before)
        assert counts[-1] <= bound
        return counts[-1]

    def insert(self, value: int = 0) -> int:
        return self._run(
            self.inserts, self.cost.insert(len(self.window)), self.window.insert, value
        )

    def evict(self) -> int:
        return self._run(self.evicts, self.cost.evict(len(self.window)), self.window.evict)

    def query(self) -> int:
        return self._run(self.queries, self.cost.query(len(self.window)), self.window.query)


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


def sizes_for(code: str, name: str) -> list[int]:
    largest = {"native": LARGEST, "reference": 1000}[code]
    if COSTS[name].quadratic:  # O(n) a step
        largest = {"native": 1024, "reference": 100}[code]
    return [size for size in SIZES if size <= largest]


def test_every_algorithm_has_its_costs() -> None:
    assert {*STEPPING} <= {*COSTS}


both = pytest.mark.parametrize("code", IMPLEMENTATIONS)
every_algorithm = pytest.mark.parametrize("name", STEPPING)


# Only a SlickDeque looks at the values.
@pytest.mark.parametrize(
    ("name", "stream"),
    [*((name, "chance") for name in STEPPING), *(("slick_deque", each) for each in streams())],
)
@both
def test_worst_step(code: str, name: str, stream: str) -> None:
    """Fill, slide, empty and refill, with a query after every step."""
    for size in sizes_for(code, name):
        meter = Meter(code, name)
        values = streams()[stream]()
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


@every_algorithm
@both
def test_worst_step_in_any_interleaving(code: str, name: str) -> None:
    """Walk at random between empty and a thousand, in phases that grow and shrink."""
    total = TOTALS.get(name, unbounded)
    for seed, case in enumerate(cases_for(name) * {"native": 2, "reference": 1}[code]):
        rng = random.Random(seed)
        meter = Meter(code, name, case)
        spent = inserts = evicts = 0
        for _ in range(60 if code == "native" else 15):
            share = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
            for _ in range(rng.randint(1, 300)):
                if rng.random() < share or not len(meter.window):
                    spent += meter.insert(rng.randrange(100))
                    inserts += 1
                else:
                    spent += meter.evict()
                    evicts += 1
                if rng.random() < 0.3:
                    query = meter.query()
                    spent += query if name == "flat_fit" else 0
                n = len(meter.window)
                assert spent <= total(inserts, evicts, n)
                if code == "reference" and name in STATES:
                    assert meter.window.states_kept() == STATES[name](n)
                elif (code, name) == ("reference", "amta"):
                    assert meter.window.states_kept() <= 2 * n + 2 * math.log2(n + 1) + 1
                elif (code, name) == ("reference", "b_int"):
                    assert meter.window.states_kept() <= 2 * n
                elif (code, name) == ("reference", "slick_deque"):
                    assert meter.window.states_kept() <= n
                    assert meter.window.op.combines == 0, "it compares, and combines nothing"
        while len(meter.window):
            spent += meter.evict()
            evicts += 1
        assert spent <= total(inserts, evicts, 0)


@every_algorithm
@both
def test_average_over_flip_cycles(code: str, name: str) -> None:
    """A full window that slides by many times its size: an evict and an insert a step."""
    cost = cost_of(code, name)
    for size in sizes_for(code, name):
        if size < 2 or cost.average == math.inf:
            continue
        meter = Meter(code, name)
        values = streams()["chance"]()
        for _ in range(size):
            meter.insert(next(values))
        meter.inserts.clear()
        steps = size * max(1, {"native": 3000, "reference": 600}[code] // size) * 2
        for _ in range(steps):
            meter.evict()
            meter.insert(next(values))
            if cost.average_with_query < math.inf:
                meter.query()
        steady = (sum(meter.inserts) + sum(meter.evicts)) / steps
        # tests/reference counts whole cycles; here one may be cut, by the place of the first flip.
        cut = size / steps if code == "reference" else 0
        assert steady <= cost.average + cut, size
        if size >= 100 and name in ("two_stacks", "two_stacks_lite", "daba", "daba_lite"):
            assert steady > cost.average - 0.1, "fewer than the paper says: are they counted?"
        if cost.average_with_query < math.inf:
            assert steady + sum(meter.queries) / steps <= cost.average_with_query
            assert max(meter.queries) == size - 1, "a whole window now and then"


@every_algorithm
@both
def test_amortised_over_a_fill_and_drain(code: str, name: str) -> None:
    """All inserts and evicts of a window that is filled and emptied, a query at each turn."""
    cost = cost_of(code, name)
    allowed = {"flat_fat": 14 + 2 * log2(LARGEST), "slick_deque": 2}.get(name, cost.average)
    for size in sizes_for(code, name):
        meter = Meter(code, name)
        values = streams()["chance"]()
        for _ in range(3):
            for _ in range(size):
                meter.insert(next(values))
            meter.query()
            while len(meter.window):
                meter.evict()
        assert (sum(meter.inserts) + sum(meter.evicts)) <= allowed * 3 * size


@both
def test_flat_fat_without_resizing(code: str) -> None:
    """With a fixed capacity c: at most log2 c a step, 2 log2 c - 1 a query, 0 when in order."""
    for height in range(2, 15 if code == "native" else 12):
        capacity = 2**height
        meter = Meter(code, "flat_fat", capacity=capacity)
        for value in range(capacity):
            meter.insert(value)
            assert meter.query() == 0, "the ring is not inverted"
        for value in range(min(2 * capacity, 3000)):
            meter.evict()
            meter.insert(value)
            assert meter.query() == 0 or code == "native" or meter.window.inverted
        assert max(meter.inserts) <= height
        assert max(meter.evicts) <= height
        assert max(meter.queries) <= 2 * height - 1
        if code == "reference":
            assert meter.window.states_kept() == 2 * capacity - 1
            assert max(meter.queries) == 2 * height - 1


@both
def test_flat_fat_resizing(code: str) -> None:
    """A step that resizes combines 2c - 1 times at most, any other log2 c times."""
    meter, rng = Meter(code, "flat_fat"), random.Random(6)
    spent = operations = 0
    for _ in range(300):
        share = rng.choice([0.1, 0.3, 0.5, 0.5, 0.7, 0.9, 1.0])
        for _ in range(rng.randint(1, 40)):
            capacity = meter.window.capacity
            grows = rng.random() < share or not len(meter.window)
            cost = meter.insert() if grows else meter.evict()
            same = meter.window.capacity == capacity
            assert cost <= (math.log2(capacity) if same else 2 * capacity - 1)
            spent += cost
            operations += 1
    assert spent <= operations * (math.log2(512) + 2)


@both
@pytest.mark.parametrize("batch", [1, 2, 3, 5, 8, 16, 100, 512, 1000, 4096])
def test_flat_fat_updates(code: str, batch: int) -> None:
    """A batch of m updated values in c slots takes at most m (1 + ceil(log2(c / m))) combines."""
    capacity = 4096 if code == "native" or batch > 512 else 512
    window = build(code, "flat_fat", BY_ID["sum-int64"], counted=True, capacity=capacity)
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


@both
@pytest.mark.parametrize("m", [1, 4, 64, 256])
def test_flat_fat_batched_slides(code: str, m: int) -> None:
    """m evicts and m inserts write 2m slots at most, and are one update."""
    c = 512
    meter = Meter(code, "flat_fat", capacity=c, batch=True)
    for _ in range(c):
        assert meter.insert() == 0
    meter.window.trigger()
    for _ in range(20):
        for _ in range(m):
            assert meter.evict() == meter.insert() == 0
        before = meter.window.combines
        meter.window.trigger()
        updates = m * (1 + math.ceil(math.log2(c / m)))
        assert meter.window.combines - before <= updates + 2 * math.log2(c) - 1


@both
def test_amta_bulk_evict(code: str) -> None:
    """A bulk evict and the query after it: at most 1 + 2 log2 n, however many leave."""
    rng = random.Random(1)
    for size in (1, 2, 3, 64, 100, 1000, LARGEST if code == "native" else 3000):
        for gone in {1, size // 3, size - 1, size, *rng.sample(range(1, size + 1), min(size, 8))}:
            window = build(code, "amta", BY_ID["sum-int64"], counted=True)
            for _ in range(rng.randint(0, 70)):
                window.insert(1)
                window.evict()
            for value in range(size):
                window.insert(value)
            for left in (size - gone, (size - gone) // 2):
                n, before = len(window), window.combines
                window.bulk_evict(n - left)
                assert code == "reference" or window.combines == before
                assert len(window) == left
                assert window.query() == (sum(range(size - left, size)) if left else None)
                assert window.combines - before <= 1 + 2 * log2(size)


def test_bytes_of_daba_lite() -> None:
    """n + 2 states, and not much more: chunks are nearly full."""
    window = build("native", "daba_lite", BY_ID["sum-float64"])
    for _ in range(LARGEST):
        window.insert(1.0)
    assert window.nbytes <= 1.2 * 8 * (LARGEST + 2)


def test_uncounted_windows_do_not_count() -> None:
    for name in STEPPING:
        case = cases_for(name)[0]
        assert build("native", name, case).combines is None
        assert build("native", name, case, counted=True).combines == 0
