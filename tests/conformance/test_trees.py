"""Fiba and BTree in lockstep with a dictionary, in both implementations, however times arrive."""

from __future__ import annotations

import math
import random
from itertools import cycle, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidefold as sf
from slidefold import reference
from slidefold.algorithms import TREES, BTree, Fiba
from slidefold.errors import CapacityError, OperatorError, ValueTypeError, WindowError
from slidefold.reference import operators as plain
from tests.support.cases import BY_ID
from tests.support.implementations import IMPLEMENTATIONS, build
from tests.support.user_operators import Joined

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Oracle:
    """What a tree should hold: texts by time, folded anew for every question."""

    def __init__(self) -> None:
        self.held: dict[float, str] = {}

    def insert(self, time: float, text: str) -> None:
        self.held[time] = self.held.get(time, "") + text

    def evict(self, time: float) -> bool:
        return self.held.pop(time, None) is not None

    def bulk_insert(self, times: list[float], texts: list[str]) -> None:
        for time, text in zip(times, texts, strict=True):
            self.insert(time, text)

    def bulk_evict(self, until: float) -> None:
        self.held = {t: text for t, text in self.held.items() if t > until}

    def query(self, since: float = -math.inf, until: float = math.inf) -> str | None:
        inside = [self.held[t] for t in sorted(self.held) if since <= t <= until]
        return "".join(inside) if inside else None


ARRIVALS = {
    "in_order": lambda rng, now: now + rng.randrange(3),
    "nearly": lambda rng, now: now - rng.randrange(8) + 4,
    "random": lambda rng, now: rng.randrange(400),
    "reversed": lambda rng, now: 4000 - now,
    "far": lambda rng, now: now if rng.random() < 0.8 else now - rng.randrange(300),
}


def planted(code: str, name: str, **options: Any) -> tuple[Any, Oracle]:
    """Return a tree of texts, and what it should hold."""
    if code == "reference":
        return getattr(reference, TREES[name].__name__)(plain.Concat(), **options), Oracle()
    operator = sf.concat() if options.get("min_arity", 1) % 4 else Joined()
    return TREES[name](operator, **options), Oracle()


def agree(tree: Any, truth: Oracle) -> None:
    """Assert that a tree holds its invariants, and what the oracle holds."""
    tree.check()
    times = sorted(truth.held)
    assert len(tree) == len(times)
    assert tree.query() == truth.query()
    assert (tree.oldest, tree.youngest) == ((times[0], times[-1]) if times else (None, None))
    assert list(tree) == [(t, truth.held[t]) for t in times]


def step(rng: random.Random, tree: Any, truth: Oracle, arrival: Any, now: int) -> None:
    """Take one random step on both."""
    kind = rng.random()
    times = sorted(truth.held)
    if kind < 0.45:
        time, text = arrival(rng, now), rng.choice(LETTERS)
        tree.insert(time, text)
        truth.insert(time, text)
    elif kind < 0.6:
        bulk = [arrival(rng, now + i) for i in range(rng.choice([0, 1, 2, 5, 30, 60]))]
        texts = [rng.choice(LETTERS) for _ in bulk]
        tree.bulk_insert(bulk, texts)
        truth.bulk_insert(bulk, texts)
    elif kind < 0.85 and times:
        ends = [times[0], times[-1], rng.choice(times), times[0] - 1, times[-1] + 1]
        time = rng.choice(ends)
        assert tree.evict(time) == truth.evict(time)
    elif times:
        until = rng.choice([times[0], times[len(times) // 4], times[-1], times[0] - 1])
        if rng.random() < 0.7:
            until = times[min(len(times) - 1, rng.randrange(6))]
        tree.bulk_evict(until)
        truth.bulk_evict(until)


both = pytest.mark.parametrize(
    ("code", "name"), [(code, name) for code in IMPLEMENTATIONS for name in TREES]
)


def lockstep(code: str, name: str, arrival: str, steps: int, **options: Any) -> None:
    rng = random.Random(f"{name}{options}{arrival}")
    tree, truth = planted(code, name, **options)
    for now in range(steps):
        step(rng, tree, truth, ARRIVALS[arrival], now)
        agree(tree, truth)
        since = rng.randrange(-5, 405)
        until = since + rng.randrange(60)
        assert tree.query(since, until) == truth.query(since, until)
        if now % 50 == 0:
            tree = tree.copy()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.parametrize("arity", range(2, 17))
@both
def test_lockstep(code: str, name: str, arity: int, arrival: str) -> None:
    steps = 250 if code == "native" else 120
    lockstep(code, name, arrival, steps, min_arity=arity)


@pytest.mark.parametrize("arities", [(2, 5), (2, 8), (3, 7), (4, 16), (5, 11)], ids=str)
@pytest.mark.parametrize(
    ("code", "name"), [("native", "fiba"), ("reference", "fiba"), ("reference", "btree")]
)
def test_a_larger_max_arity(code: str, name: str, arities: tuple[int, int]) -> None:
    lockstep(code, name, "nearly", 250, min_arity=arities[0], max_arity=arities[1])


SMALL = st.integers(0, 60)
OPERATIONS = st.one_of(
    st.tuples(st.just("insert"), SMALL),
    st.tuples(st.just("evict"), SMALL),
    st.tuples(st.just("bulk_insert"), st.lists(SMALL, max_size=40)),
    st.tuples(st.just("bulk_evict"), SMALL),
)


@both
@given(min_arity=st.integers(2, 16), operations=st.lists(OPERATIONS, max_size=40))
def test_histories_of_hypothesis(
    code: str, name: str, min_arity: int, operations: list[Any]
) -> None:
    tree, truth = planted(code, name, min_arity=min_arity)
    source = cycle(LETTERS)
    for operation, what in operations:
        given_: tuple[Any, ...] = (what,)
        if operation == "insert":
            given_ = (what, next(source))
        elif operation == "bulk_insert":
            given_ = (what, [next(source) for _ in what])
        assert getattr(tree, operation)(*given_) == getattr(truth, operation)(*given_)
        agree(tree, truth)


@pytest.mark.parametrize("evicts", ["oldest", "youngest", "middle"])
@both
def test_emptied_and_refilled(code: str, name: str, evicts: str) -> None:
    """The middle entry is most often one of the root's."""
    for min_arity in (2, 3, 8):
        for times in (range(60), range(60, 0, -1)):
            tree, truth = planted(code, name, min_arity=min_arity)
            for _ in range(2):
                for time in times:
                    tree.insert(time, chr(40 + time))
                    truth.insert(time, chr(40 + time))
                while truth.held:
                    agree(tree, truth)
                    held = sorted(truth.held)
                    at = {"oldest": 0, "youngest": -1, "middle": len(held) // 2}[evicts]
                    assert tree.evict(held[at])
                    truth.evict(held[at])
                agree(tree, truth)


@pytest.mark.parametrize("n", [1, 2, 7, 40, 130])
@both
def test_bulk_evict_of_every_prefix(code: str, name: str, n: int) -> None:
    """Times are even, so that the boundary is an entry, or lies between two."""
    order = list(range(0, 2 * n, 2))
    random.Random(n).shuffle(order)
    for min_arity in (2, 3, 4) if name == "fiba" else (2,):
        full, truth = planted(code, name, min_arity=min_arity)
        for time in order:
            full.insert(time, chr(40 + time))
            truth.insert(time, chr(40 + time))
        for until in range(-1, 2 * n + 1):
            tree, rest = full.copy(), Oracle()
            rest.held = dict(truth.held)
            tree.bulk_evict(until)
            rest.bulk_evict(until)
            agree(tree, rest)
        agree(full, truth)


@pytest.mark.parametrize("m", [1, 2, 9, 200])
@both
def test_bulk_insert_of_any_size(code: str, name: str, m: int) -> None:
    for min_arity in (2, 3, 4, 16):
        for n in (0, 1, 5, 60):
            rng = random.Random(n * m)
            for spread in (1, 3, 50):
                tree, truth = planted(code, name, min_arity=min_arity)
                for time in range(n):
                    tree.insert(time, "x")
                    truth.insert(time, "x")
                times = [rng.randint(0, spread * m) - m // 2 for _ in range(m)]
                texts = [LETTERS[i % 26] for i in range(m)]
                tree.bulk_insert(times, texts)
                truth.bulk_insert(list(times), texts)
                agree(tree, truth)


@both
def test_equal_times_combine_in_order_of_arrival(code: str, name: str) -> None:
    tree, _ = planted(code, name)
    for time in range(1, 11):
        tree.insert(time, chr(96 + time))
    tree.insert(4, "x")
    tree.insert(10, "y")
    tree.bulk_insert([1, 4, 1], ["p", "q", "r"])
    tree.check()
    assert tree.query() == "aprbcdxqefghijy"
    assert len(tree) == 10


@both
def test_a_copy_is_a_tree_of_its_own(code: str, name: str) -> None:
    tree, _ = planted(code, name)
    tree.bulk_insert(range(1, 17), list("abcdefghijklmnop"))
    twin = tree.copy()
    tree.evict(1)
    tree.bulk_evict(3)
    twin.insert(0, "_")
    twin.bulk_insert([50, 51], ["y", "z"])
    tree.check()
    twin.check()
    assert tree.query() == "defghijklmnop"
    assert twin.query() == "_abcdefghijklmnopyz"


@pytest.mark.parametrize("case_id", ["count", "sum-float64", "mean-float64", "var-float64-0"])
@both
def test_other_operators(code: str, name: str, case_id: str) -> None:
    """Floats round; a count has a result of nothing; iteration gives results."""
    case, rng = BY_ID[case_id], random.Random(9)
    tree = build(code, name, case, min_arity=3)
    assert case.right(tree.query(), [])
    assert case.right(tree.query(1, 2), [])
    held: dict[int, float] = {}
    for _ in range(300):
        time, value = rng.randint(0, 10**6), rng.uniform(0.1, 100) * 10 ** rng.randint(0, 4)
        if time in held:
            continue
        tree.insert(time, value)
        held[time] = value
        if len(held) > 50:
            gone = rng.choice(list(held))
            del held[gone]
            tree.evict(gone)
        tree.check()
        assert case.right(tree.query(), [held[t] for t in sorted(held)])
    listed = dict(tree)
    assert {*listed} == {*held}
    assert all(case.right(listed[time], [value]) for time, value in held.items())


@pytest.mark.parametrize("name", TREES)
@given(times=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40))
@settings(max_examples=60, deadline=None)
def test_float_times_sort_as_floats(name: str, times: list[float]) -> None:
    tree, truth = TREES[name](sf.concat(), min_arity=2), Oracle()
    for i, time in enumerate(times):
        tree.insert(time, LETTERS[i % 26])
        truth.insert(time, LETTERS[i % 26])
        tree.check()
    assert [t for t, _ in tree] == sorted(truth.held)
    assert tree.query() == truth.query()
    for time in times:
        assert tree.query(time, time) == truth.query(time, time)


def test_integers_turn_into_floats_with_the_first_float() -> None:
    tree = Fiba(sf.concat())
    tree.bulk_insert([3, 1], ["c", "a"])
    assert [type(t) for t, _ in tree] == [int, int]
    tree.insert(1.5, "b")
    assert list(tree) == [(1.0, "a"), (1.5, "b"), (3.0, "c")]
    tree.insert(2, "x")
    assert tree.query() == "abxc"
    tree.bulk_insert(np.array([0.5]), ["z"])
    assert tree.query() == "zabxc"


def test_bounds_between_integers_are_rounded_inwards() -> None:
    tree = Fiba(sf.concat())
    tree.bulk_insert([1, 2, 3], ["a", "b", "c"])
    assert tree.query(1.5, 2.5) == "b"
    assert tree.query(-math.inf, math.inf) == "abc"
    assert tree.evict(1.5) is False
    tree.bulk_evict(1.9)
    assert tree.query() == "bc"


def test_large_integers_do_not_become_floats() -> None:
    tree = Fiba(sf.concat())
    tree.insert(2**60 + 1, "a")
    with pytest.raises(ValueTypeError, match=r"integer times beyond 2\*\*53"):
        tree.insert(0.5, "b")
    assert list(tree) == [(2**60 + 1, "a")]


@pytest.mark.parametrize("name", TREES)
class TestBadInput:
    def test_an_unequal_bulk(self, name: str) -> None:
        tree = TREES[name](sf.sum())
        with pytest.raises(ValueTypeError, match="times and values differ in length: 3 and 2"):
            tree.bulk_insert([1, 2, 3], [1.0, 2.0])
        assert len(tree) == 0

    def test_a_bulk_that_is_refused_half_way(self, name: str) -> None:
        tree = TREES[name](sf.sum())
        tree.insert(1, 1.0)
        with pytest.raises(ValueTypeError, match="a number"):
            tree.bulk_insert([2, 3], [1.0, "x"])
        assert list(tree) == [(1, 1.0)]
        tree.check()

    @pytest.mark.parametrize("time", [math.nan, math.inf, "1", None, True, 2**63, 1j])
    def test_a_time_that_is_none(self, name: str, time: Any) -> None:
        tree = TREES[name](sf.sum())
        with pytest.raises(ValueTypeError, match="expected"):
            tree.insert(time, 1.0)
        with pytest.raises(ValueTypeError):
            tree.bulk_insert([time], [1.0])
        assert len(tree) == 0

    def test_an_empty_bulk(self, name: str) -> None:
        tree = TREES[name](sf.sum())
        tree.bulk_insert([], [])
        tree.bulk_evict(10)
        assert (len(tree), tree.query(), tree.evict(3)) == (0, None, False)

    def test_since_after_until(self, name: str) -> None:
        tree = TREES[name](sf.sum())
        tree.insert(1, 1.0)
        with pytest.raises(WindowError, match=r"since is after until: 5 \(int\) > 3"):
            tree.query(5, 3)

    @pytest.mark.parametrize("arity", [1, 0, -3, "4", None, 2.5, True])
    def test_an_arity_that_is_none(self, name: str, arity: Any) -> None:
        with pytest.raises(CapacityError, match="min_arity must be an integer of at least 2"):
            TREES[name](sf.sum(), min_arity=arity)

    def test_no_operator(self, name: str) -> None:
        with pytest.raises(OperatorError, match="expected an operator"):
            TREES[name](max)  # type: ignore[arg-type]


def test_max_arity() -> None:
    assert Fiba(sf.sum(), min_arity=2, max_arity=4).max_arity == 4
    with pytest.raises(CapacityError, match="max_arity must be an integer from 8"):
        Fiba(sf.sum(), min_arity=4, max_arity=7)


@pytest.mark.parametrize("name", TREES)
def test_a_step_that_fails_leaves_the_tree_as_it_was(name: str) -> None:
    fuse = [0]

    @sf.operator
    class Fused(sf.Fold):
        identity = staticmethod(lambda: "")
        lift = staticmethod(lambda text: text)
        lower = staticmethod(lambda text: text)

        @staticmethod
        def combine(older: str, newer: str) -> str:
            fuse[0] -= 1
            if fuse[0] == 0:
                raise RuntimeError("fuse")
            return older + newer

    rng = random.Random(3)
    tree, truth = TREES[name](Fused(), min_arity=2), Oracle()
    failures = 0
    for now in range(1500):
        before = dict(truth.held)
        fuse[0] = rng.randrange(1, 40)
        try:
            step(rng, tree, truth, ARRIVALS["far"], now % 300)
            fuse[0] = 0
        except RuntimeError:
            fuse[0] = 0
            failures += 1
            truth.held = before
            tree.check()
        assert tree.query() == truth.query()
        if now % 20 == 0:
            assert list(tree) == [(t, truth.held[t]) for t in sorted(truth.held)]
            tree.check()
    assert failures > 50


@pytest.mark.parametrize("size", [2**10, 2**14, 2**17])
def test_combines_in_order_do_not_grow_with_the_window(size: int) -> None:
    tree = Fiba(sf.sum(), counted=True)
    tree.bulk_insert(np.arange(size), np.ones(size))
    before = tree.combines
    for i in range(2000):
        tree.insert(size + i, 1.0)
        tree.evict(i)
    assert tree.combines is not None
    assert before is not None
    assert (tree.combines - before) / 2000 < 8
    before = tree.combines
    tree.query()
    assert tree.combines - before <= 2


def test_combines_grow_as_the_logarithm_of_the_distance() -> None:
    size, costs = 2**16, []
    for distance in (4, 64, 1024, 16384):
        tree = Fiba(sf.sum(), counted=True)
        tree.bulk_insert(np.arange(0, 2 * size, 2), np.ones(size))
        before = tree.combines or 0
        for i in range(400):
            tree.insert(2 * size - 2 * distance - 2 * i - 1, 1.0)
        costs.append(((tree.combines or 0) - before) / 400)
    # A factor of 16 in distance is at most two levels more, each of at most an arity of combines.
    assert max(b - a for a, b in pairwise(costs)) < 48
    assert costs[-1] < 48 * 3


def test_bulk_evict_costs_the_logarithm_of_what_leaves() -> None:
    size, costs = 2**17, []
    for leaving in (2**4, 2**8, 2**12, 2**16):
        tree = Fiba(sf.sum(), counted=True)
        tree.bulk_insert(np.arange(size), np.ones(size))
        before = tree.combines or 0
        tree.bulk_evict(leaving - 1)
        costs.append((tree.combines or 0) - before)
        assert len(tree) == size - leaving
    assert max(costs) < 150
    assert costs[-1] < 6 * max(costs[0], 16)


@pytest.mark.footprint
def test_memory_of_a_tree_that_is_filled_in_order() -> None:
    tree = Fiba(sf.sum())
    tree.bulk_insert(np.arange(2**17), np.ones(2**17))
    assert tree.nbytes / 2**17 <= 28
    tree.bulk_evict(2**17 - 1000)
    for i in range(20_000):  # what left is given back little by little
        tree.insert(2**17 + i, 1.0)
        tree.evict(tree.oldest or 0)
    assert tree.nbytes < 2**17 * 5


def test_trees_are_named_in_the_registry() -> None:
    assert {"fiba": Fiba, "btree": BTree} == TREES
