"""Bad input to Fiba and BTree: typed errors in one sentence, and the window stays as it was."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from slidefold.errors import CapacityError, TimeOrderError, ValueTypeError, WindowError
from slidefold.reference import BTree, Fiba
from slidefold.reference import operators as ops
from tests.reference.tree_cases import FIGURE_1, plant

TREES = [Fiba, BTree]
NAN = float("nan")


def refused(error: type[Exception], sentence: str, action: Callable[..., Any], *args: Any) -> None:
    with pytest.raises(error) as caught:
        action(*args)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("make", TREES)
def test_arities(make: Any) -> None:
    for arity in (1, 0, -3):
        sentence = f"min_arity must be at least 2, got {arity}"
        refused(CapacityError, sentence, make, ops.Concat(), arity)
    sentence = "max_arity must be at least 8 (twice min_arity), got 7"
    refused(CapacityError, sentence, make, ops.Concat(), 4, 7)
    with pytest.raises(ValueError, match="min_arity"):
        make(ops.Concat(), min_arity=1)
    make(ops.Concat(), 2, 4).check()


@pytest.mark.parametrize("make", TREES)
def test_times_that_are_none(make: Any) -> None:
    tree = plant(FIGURE_1, make)
    before = list(tree)
    for action in (lambda t: tree.insert(t, "x"), tree.evict, tree.bulk_evict):
        refused(TimeOrderError, "the time must not be NaN", action, NAN)
        for none in (True, "1", None, 1j):
            sentence = f"the time must be an int or a float, got {none!r}"
            refused(ValueTypeError, sentence, action, none)
    refused(TimeOrderError, "times[2] must not be NaN", tree.bulk_insert, [1, 2, NAN], "abc")
    sentence = "times[1] must be an int or a float, got False"
    refused(ValueTypeError, sentence, tree.bulk_insert, [1, False], "ab")
    refused(TimeOrderError, "since must not be NaN", tree.query, NAN, 4)
    refused(TimeOrderError, "until must not be NaN", tree.query, 4, NAN)
    tree.check()
    assert list(tree) == before


@pytest.mark.parametrize("make", TREES)
def test_bulks_of_unequal_lengths(make: Any) -> None:
    tree = plant(FIGURE_1, make)
    before = list(tree)
    sentence = "times and values must have the same length, got 3 and 2"
    refused(ValueTypeError, sentence, tree.bulk_insert, [1, 2, 3], ["x", "y"])
    refused(ValueTypeError, sentence, tree.bulk_insert, [NAN, 2, 3], ["x", "y"])
    assert list(tree) == before


@pytest.mark.parametrize("make", TREES)
def test_a_range_that_ends_before_it_starts(make: Any) -> None:
    for tree in (make(ops.Concat()), plant(FIGURE_1, make)):
        refused(WindowError, "since must not be after until, got 5 > 3", tree.query, 5, 3)


@pytest.mark.parametrize("make", TREES)
def test_nothing_to_do(make: Any) -> None:
    empty, full = make(ops.Concat()), plant(FIGURE_1, make)
    for tree in (empty, full):
        before = list(tree)
        tree.bulk_insert([], [])
        assert tree.evict(16) is False
        assert tree.evict(1.5) is False
        tree.bulk_evict(0)
        tree.check()
        assert list(tree) == before
    assert empty.oldest is None
    assert empty.youngest is None
    assert empty.query() is None
    assert empty.query(1, 2) is None


class Fragile(ops.Concat):
    """Raises at a chosen call of combine, or at a forbidden value."""

    left = -1

    def lift(self, value: str) -> str:
        if value == "!":
            raise ZeroDivisionError("fragile")
        return value

    def combine(self, older: str, newer: str) -> str:
        self.left -= 1
        if self.left == 0:
            raise ZeroDivisionError("fragile")
        return older + newer


def snapshot(tree: Any) -> Any:
    """Return everything that a tree consists of, its nodes by identity."""
    nodes = list(tree.root.below())
    fields = {name: field for name, field in vars(tree).items() if name != "op"}
    return fields, [(id(node), node.saved()) for node in nodes]


@pytest.mark.parametrize("make", TREES)
@pytest.mark.parametrize("min_arity", [2, 3])
def test_an_operator_that_raises_leaves_the_tree_as_it_was(make: Any, min_arity: int) -> None:
    chance, op = random.Random(min_arity), Fragile()
    tree = make(op, min_arity)
    failures = 0
    for i in range(250):
        time, size = chance.randint(0, 80), chance.randint(1, 12)
        action = chance.choice([
            partial(tree.insert, time, "a"),
            partial(tree.insert, time, "a"),
            partial(tree.evict, time),
            partial(tree.bulk_insert, range(time, time + size), "b" * size),
            partial(tree.bulk_evict, time // 3),
        ])  # fmt: skip
        before = snapshot(tree)
        for allowed in range(1, 30):
            op.left = allowed
            try:
                action()
            except ZeroDivisionError:
                failures += 1
                assert snapshot(tree) == before
            else:
                break
        else:
            op.left = -1
            action()
        op.left = -1
        tree.check()
        with pytest.raises(ZeroDivisionError):
            tree.bulk_insert([i, 1, 2], "a!b")
        with pytest.raises(ZeroDivisionError):
            tree.insert(i, "!")
    tree.check()
    assert failures > 300


@pytest.mark.parametrize("make", TREES)
def test_a_query_that_raises(make: Any) -> None:
    op = Fragile()
    tree = make(op)
    tree.bulk_insert(range(40), "x" * 40)
    before = snapshot(tree)
    op.left = 1
    with pytest.raises(ZeroDivisionError):
        tree.query(3, 30)
    assert snapshot(tree) == before
    assert tree.query(3, 30) == "x" * 28
