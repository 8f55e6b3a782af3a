"""What only the trees of the reference show: their roots, infinite times, half-open ranges."""

from __future__ import annotations

from typing import Any

import pytest

from slidefold.reference import BTree, Fiba
from slidefold.reference import operators as ops

TREES = [Fiba, BTree]


@pytest.mark.parametrize("make", TREES)
@pytest.mark.parametrize("min_arity", [2, 3, 5])
def test_entries_of_the_root_are_evicted(make: Any, min_arity: int) -> None:
    tree, held = make(ops.Concat(), min_arity), {time: chr(40 + time) for time in range(80)}
    for time, letter in held.items():
        tree.insert(time, letter)
    while held:
        time = tree.root.times[len(held) % len(tree.root.times)]
        assert tree.evict(time)
        del held[time]
        tree.check()
        assert list(tree) == list(held.items())
        assert tree.query() == ("".join(held.values()) or None)


@pytest.mark.parametrize("make", TREES)
def test_times_may_be_floats_and_ints(make: Any) -> None:
    tree = make(ops.Concat())
    times = [0.5, 1, float("-inf"), 2**60, 2.5, float("inf"), -1, 2**60 + 1, 2.0**60, 0.0, -0.0]
    for time, value in zip(times, "abcdefghijk", strict=True):
        tree.insert(time, value)
    tree.check()
    assert tree.query() == "cgjkabedihf"
    assert [time for time, _ in tree] == sorted({*times})
    assert tree.query(float("-inf"), -1) == "cg"
    assert tree.query(1, None) == "bedihf"
    tree.bulk_evict(2**60)
    assert list(tree) == [(2**60 + 1, "h"), (float("inf"), "f")]


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
