"""Fiba and BTree agree with a dict that is folded anew, after every step, in every arity."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidefold.reference import BTree, Fiba
from slidefold.reference import operators as ops
from tests.reference.reference_cases import letters
from tests.reference.tree_cases import ARRIVALS, Oracle, agree, arrivals

TREES = [Fiba, BTree]


def ask_ranges(tree: Any, oracle: Oracle, chance: random.Random) -> None:
    """Compare a range, whose ends are times of the window or beside them."""
    ends = [*oracle.held, 0]
    since, until = sorted(chance.choice(ends) + chance.randint(-1, 1) for _ in range(2))
    assert tree.query(since, until) == oracle.query(since, until)


def step(tree: Any, oracle: Oracle, times: Any, chance: random.Random, grows: bool) -> None:
    """Do one random operation on both, in phases that grow and that shrink."""
    held = sorted(oracle.held)
    kind = chance.random()
    if kind < (0.6 if grows else 0.25):
        time, value = next(times), chance.choice("abcdefgh")
        tree.insert(time, value)
        oracle.insert(time, value)
    elif kind < 0.85:
        ends = [held[0], held[-1]] if held else []
        time = chance.choice([*ends, *held, 7])
        assert tree.evict(time) == oracle.evict(time)
    elif kind < (0.97 if grows else 0.9):
        some = [next(times) for _ in range(chance.choice([0, 1, 2, 5, 40]))]
        chance.shuffle(some)
        values = [chance.choice("abcdefgh") for _ in some]
        tree.bulk_insert(some, values)
        oracle.bulk_insert(some, values)
    else:
        share = chance.choice([0.02, 0.1, 0.3, 0.9, 1.0])
        until = held[int(share * (len(held) - 1))] if held else 0
        tree.bulk_evict(until)
        oracle.bulk_evict(until)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", TREES)
@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.parametrize("min_arity", range(2, 17))
def test_every_arity_and_arrival(make: Any, arrival: str, min_arity: int) -> None:
    chance = random.Random(f"{arrival} {min_arity}")
    tree, oracle = make(ops.Concat(), min_arity), Oracle()
    times = arrivals(arrival, chance)
    for i in range(120):
        step(tree, oracle, times, chance, grows=i % 60 < 40)
        agree(tree, oracle)
        ask_ranges(tree, oracle, chance)


@pytest.mark.parametrize("make", TREES)
@pytest.mark.parametrize(("min_arity", "max_arity"), [(2, 5), (2, 8), (3, 7), (4, 16), (5, 11)])
def test_a_larger_max_arity(make: Any, min_arity: int, max_arity: int) -> None:
    chance = random.Random(max_arity)
    tree, oracle = make(ops.Concat(), min_arity, max_arity), Oracle()
    times = arrivals("nearly in order", chance)
    for i in range(400):
        step(tree, oracle, times, chance, grows=i % 120 < 80)
        agree(tree, oracle)


SMALL = st.integers(0, 60)
OPERATIONS = st.one_of(
    st.tuples(st.just("insert"), SMALL),
    st.tuples(st.just("evict"), SMALL),
    st.tuples(st.just("bulk_insert"), st.lists(SMALL, max_size=40)),
    st.tuples(st.just("bulk_evict"), SMALL),
)


@pytest.mark.parametrize("make", TREES)
@given(min_arity=st.integers(2, 16), operations=st.lists(OPERATIONS, max_size=40))
def test_histories_of_hypothesis(make: Any, min_arity: int, operations: list[Any]) -> None:
    tree, oracle, source = make(ops.Concat(), min_arity), Oracle(), letters()
    for name, what in operations:
        if name == "insert":
            given_: tuple[Any, ...] = (what, next(source))
        elif name == "bulk_insert":
            given_ = (what, [next(source) for _ in what])
        else:
            given_ = (what,)
        assert getattr(tree, name)(*given_) == getattr(oracle, name)(*given_)
        agree(tree, oracle)


@pytest.mark.parametrize("make", TREES)
@pytest.mark.parametrize("min_arity", [2, 3, 8])
@pytest.mark.parametrize("inserts", ["ascending", "descending"])
@pytest.mark.parametrize("evicts", ["oldest", "youngest", "middle"])
def test_emptied_and_refilled(make: Any, min_arity: int, inserts: str, evicts: str) -> None:
    """The middle entry is most often one of the root's."""
    tree, oracle = make(ops.Concat(), min_arity), Oracle()
    for _ in range(2):
        for time in range(60) if inserts == "ascending" else range(60, 0, -1):
            tree.insert(time, chr(40 + time))
            oracle.insert(time, chr(40 + time))
        agree(tree, oracle)
        while oracle.held:
            held = sorted(oracle.held)
            at = {"oldest": 0, "youngest": -1, "middle": len(held) // 2}[evicts]
            assert tree.evict(held[at])
            oracle.evict(held[at])
            agree(tree, oracle)


@pytest.mark.parametrize("make", TREES)
@pytest.mark.parametrize("min_arity", [2, 3, 5])
def test_entries_of_the_root_are_evicted(make: Any, min_arity: int) -> None:
    tree, oracle = make(ops.Concat(), min_arity), Oracle()
    for time in range(80):
        tree.insert(time, chr(40 + time))
        oracle.insert(time, chr(40 + time))
    while oracle.held:
        time = tree.root.times[len(oracle.held) % len(tree.root.times)]
        assert tree.evict(time)
        oracle.evict(time)
        agree(tree, oracle)


@pytest.mark.parametrize("min_arity", [2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 7, 40, 130])
def test_bulk_evict_of_every_prefix(min_arity: int, n: int) -> None:
    """Times are even, so that the boundary is an entry, or lies between two."""
    full: Any = Fiba(ops.Concat(), min_arity)
    oracle = Oracle()
    order = list(range(0, 2 * n, 2))
    random.Random(n).shuffle(order)
    for time in order:
        full.insert(time, chr(40 + time))
        oracle.insert(time, chr(40 + time))
    for until in range(-1, 2 * n + 1):
        tree, rest = full.copy(), Oracle()
        rest.held = dict(oracle.held)
        tree.bulk_evict(until)
        rest.bulk_evict(until)
        agree(tree, rest)
    agree(full, oracle)


@pytest.mark.parametrize("min_arity", [2, 3, 4, 16])
@pytest.mark.parametrize("n", [0, 1, 5, 60])
@pytest.mark.parametrize("m", [1, 2, 9, 200])
def test_bulk_insert_of_any_size(min_arity: int, n: int, m: int) -> None:
    chance = random.Random(n * m)
    for spread in (1, 3, 50):
        tree, oracle = Fiba(ops.Concat(), min_arity), Oracle()
        for time in range(n):
            tree.insert(time, "x")
            oracle.insert(time, "x")
        times = [chance.randint(0, spread * m) - m // 2 for _ in range(m)]
        values = [chr(97 + i % 26) for i in range(m)]
        tree.bulk_insert(times, values)
        oracle.bulk_insert(list(times), values)
        agree(tree, oracle)


@pytest.mark.parametrize("make", TREES)
def test_times_may_be_floats_and_ints(make: Any) -> None:
    tree, oracle = make(ops.Concat()), Oracle()
    times = [0.5, 1, float("-inf"), 2**60, 2.5, float("inf"), -1, 2**60 + 1, 2.0**60, 0.0, -0.0]
    for time, value in zip(times, "abcdefghijk", strict=True):
        tree.insert(time, value)
        oracle.insert(time, value)
    tree.check()
    assert list(tree) == sorted(oracle.held.items())
    assert tree.query(float("-inf"), -1) == "cg"
    assert tree.query(1, None) == "bedihf"
    tree.bulk_evict(2**60)
    assert list(tree) == [(2**60 + 1, "h"), (float("inf"), "f")]


@pytest.mark.parametrize("make", TREES)
def test_equal_times_combine_in_order_of_arrival(make: Any) -> None:
    tree = make(ops.Concat())
    for time in range(1, 11):
        tree.insert(time, chr(96 + time))
    tree.insert(4, "x")
    tree.insert(10, "y")
    tree.bulk_insert([1, 4, 1], "pqr")
    tree.check()
    assert tree.query() == "aprbcdxqefghijy"
    assert len(tree) == 10


@pytest.mark.parametrize("make", TREES)
def test_an_operator_with_a_result_of_nothing(make: Any) -> None:
    tree = make(ops.Count())
    assert tree.query() == 0
    assert tree.query(1, 2) == 0
    tree.bulk_insert([5, 6], "ab")
    assert tree.query() == 2
    assert tree.query(7, 9) == 0
    assert make(ops.Concat()).query() is None


@pytest.mark.parametrize("make", TREES)
def test_ranges_with_one_end(make: Any) -> None:
    tree = make(ops.Concat())
    tree.bulk_insert(range(26), "abcdefghijklmnopqrstuvwxyz")
    assert tree.query(20) == "uvwxyz"
    assert tree.query(until=3) == "abcd"
    assert tree.query(since=30) is None


@pytest.mark.parametrize("make", TREES)
def test_iteration_gives_results_and_bears_changes(make: Any) -> None:
    tree = make(ops.Mean())
    tree.bulk_insert(range(20), range(0, 40, 2))
    seen = []
    for time, mean in tree:
        seen.append((time, mean))
        tree.evict(time)
    assert seen == [(time, 2.0 * time) for time in range(20)]
    assert list(tree) == []


@pytest.mark.parametrize("make", TREES)
def test_a_copy_is_a_tree_of_its_own(make: Any) -> None:
    tree = make(ops.Concat())
    tree.bulk_insert(range(1, 17), "abcdefghijklmnop")
    twin = tree.copy()
    tree.evict(1)
    tree.bulk_evict(3)
    twin.insert(0, "_")
    twin.bulk_insert([50, 51], "yz")
    tree.check()
    twin.check()
    assert tree.query() == "defghijklmnop"
    assert twin.query() == "_abcdefghijklmnopyz"


@pytest.mark.parametrize("make", TREES)
@pytest.mark.parametrize("op", [ops.Sum(), ops.Mean(), ops.Var()])
def test_floats_within_rounding(make: Any, op: Any) -> None:
    chance = random.Random(9)
    tree = make(op, 3)
    held: dict[int, float] = {}
    for _ in range(300):
        time, value = (
            chance.randint(0, 10**6),
            chance.uniform(0.1, 100) * 10 ** chance.randint(0, 4),
        )
        tree.insert(time, value)
        held[time] = value
        if len(held) > 50:
            gone = chance.choice(list(held))
            del held[gone]
            tree.evict(gone)
        tree.check()
        expected = op.identity()
        for value in held.values():
            expected = op.combine(expected, op.lift(value))
        lowered = op.lower(expected)
        assert tree.query() == (lowered if lowered is None else pytest.approx(lowered, rel=1e-9))
