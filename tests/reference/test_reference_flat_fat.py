"""FlatFat beyond FIFO: evict anywhere, overwrite, prefix and suffix, holes, and its growth."""

from __future__ import annotations

import random
from itertools import cycle

import pytest

from slidefold.errors import CapacityError, EmptyWindowError, WindowError
from slidefold.reference import NOTHING, Fat, FlatFat
from slidefold.reference import operators as ops


def test_the_constants_of_the_paper() -> None:
    window = FlatFat(ops.Concat())
    source = cycle("abcdefghijklmnopqrstuvwxyz")
    for _ in range(16):
        window.insert(next(source))
    assert window.capacity == 16
    for position in (1, 5, 9, 13):  # 12 of 16 left: 3/4 exactly
        window.evict(position)
    assert window.slots.count(NOTHING) == 4
    window.insert(next(source))  # full, n <= 3c/4: compact
    assert (window.capacity, window.span, window.front) == (16, 13, 0)
    assert window.slots[13:] == [NOTHING] * 3
    for _ in range(3):
        window.insert(next(source))
    window.evict(3)
    window.insert(next(source))  # full, n = 15 > 3c/4: double
    assert (window.capacity, len(window), window.span) == (32, 16, 16)
    while len(window) > 8:
        window.evict()
        assert window.capacity == 32
    window.evict()  # n = 7 < c/4: halve
    assert (window.capacity, len(window)) == (16, 7)
    window.check()


def test_holes_at_both_ends_are_given_back() -> None:
    window = FlatFat(ops.Concat(), capacity=4)
    for letter in "abcd":
        window.insert(letter)
    window.evict(1)
    window.evict(0)
    assert (window.front, window.span) == (2, 2)
    window.evict(3)
    assert (window.front, window.span) == (2, 1)
    assert [window.insert(letter) for letter in "efg"] == [4, 5, 6]
    assert window.query() == "cefg"
    window.check()


def test_a_fixed_ring_compacts_as_long_as_it_has_holes() -> None:
    window = FlatFat(ops.Concat(), capacity=5)
    for letter in "abcde":
        window.insert(letter)
    window.evict(2)
    window.insert("f")
    assert window.query() == "abdef"
    with pytest.raises(CapacityError, match="FlatFat of capacity 5 is full"):
        window.insert("g")
    assert window.query() == "abdef"
    window.check()


def test_an_inverted_ring_is_compacted_in_window_order() -> None:
    window = FlatFat(ops.Concat(), capacity=4)
    for letter in "abcd":
        window.insert(letter)
    window.evict()
    window.insert("e")
    window.evict(2)
    assert window.slots == ["e", "b", NOTHING, "d"]
    window.insert("f")
    assert window.slots == ["b", "d", "e", "f"]
    assert window.query() == "bdef"
    window.check()


def test_batched_writes_wait_for_the_trigger() -> None:
    window = FlatFat(ops.Concat(), batch=True)
    for letter in "abc":
        window.insert(letter)
    assert window.tree.aggregate() is NOTHING
    assert window.trigger() == "abc"
    window.evict()
    assert window.tree.aggregate() == "abc"
    assert window.query() == "bc"


@pytest.mark.parametrize("size", [1, 2, 8, 16])
def test_fat_answers_every_stretch(size: int) -> None:
    chance = random.Random(size)
    letters_ = [chr(97 + i) for i in range(size)]
    tree = Fat(ops.Concat(), [NOTHING if chance.random() < 0.3 else x for x in letters_])

    def text(first: int, last: int) -> object:
        joined = "".join(s for s in tree.slots[first : last + 1] if s is not NOTHING)
        return joined or NOTHING

    for i in range(size):
        assert tree.prefix(i) == text(0, i)
        assert tree.suffix(i) == text(i, size - 1)
        for j in range(i, size):
            assert tree.between(i, j) == text(i, j)
    tree.check()


def test_bad_input_leaves_the_window_as_it_was() -> None:
    window = FlatFat(ops.Concat())
    for letter in "abc":
        window.insert(letter)
    window.evict(1)
    with pytest.raises(EmptyWindowError, match="position 1 is not in the window"):
        window.evict(1)
    with pytest.raises(EmptyWindowError, match="position 9 is not in the window"):
        window.prefix(9)
    with pytest.raises(EmptyWindowError, match="position 1 is not in the window"):
        window.update([0, 1], ["x", "y"])
    with pytest.raises(WindowError, match="must have the same length, got 1 and 2"):
        window.update([0], ["x", "y"])
    with pytest.raises(WindowError, match="the same position twice"):
        window.update([0, 0], ["x", "y"])
    with pytest.raises(WindowError, match="capacity must be at least 1, got 0"):
        FlatFat(ops.Concat(), capacity=0)
    window.check()
    assert window.query() == "ac"
