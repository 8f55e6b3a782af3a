"""The papers' own examples, figure by figure."""

from __future__ import annotations

from typing import Any

import pytest

from slidefold.reference import NOTHING, Daba, DabaLite, Fat, FlatFat, Pba, Sba, TwoStacks
from slidefold.reference import operators as ops


def test_two_stacks_flip_of_seven() -> None:
    """DABA, figures 1 and 2: the first evict after seven inserts turns seven aggregates round."""
    op: Any = ops.Counting(ops.Concat())
    window = TwoStacks(op)
    for letter in "abcdefg":
        window.insert(letter)
    assert [item.agg for item in window.back] == [
        "a",
        "ab",
        "abc",
        "abcd",
        "abcde",
        "abcdef",
        "abcdefg",
    ]
    before = op.combines
    window.evict()
    assert op.combines - before == 7
    assert [item.agg for item in window.front] == ["g", "fg", "efg", "defg", "cdefg", "bcdefg"]


def fixups(make: Any, moves: str) -> list[str]:
    """Run inserts (i) and evicts (e), and name the case of fixup that each one took."""
    window = make(ops.Concat())
    names = []
    for move in moves:
        before = window.at
        window.insert("x") if move == "i" else window.evict()
        window.check()
        if window.at.F == before.B:
            names.append("singleton")
        elif window.at.B != before.B:
            names.append("flip shrink")
        else:
            names.append("shift" if window.at.R != before.R else "shrink")
    return names


@pytest.mark.parametrize("make", [Daba, DabaLite])
def test_daba_cycles(make: Any) -> None:
    """DABA, section 5: [flip shrink, shift], [flip shrink, shrink, shift, shift], and so on."""
    assert fixups(make, "iii" + "iiii") == [
        "singleton",
        "flip shrink",
        "shift",
        "flip shrink",
        "shrink",
        "shift",
        "shift",
    ]
    names = fixups(make, "i" * 60)
    lengths = [len(cycle.split()) for cycle in " ".join(n.split()[0] for n in names).split("flip")]
    assert lengths[1:5] == [1, 3, 7, 15]


def test_fat_update_of_figure_4() -> None:
    """Reactive Aggregator, figure 4: a[1], a[2], a[4], a[7] of 8 change; a, b, d, e, f, g follow.

    The figure's a, b, c, d are nodes 4, 5, 6, 7; e and f are 2 and 3; g is the root, 1.
    """
    op: Any = ops.Counting(ops.Concat())
    tree = Fat(op, list("abcdefgh"))
    assert op.combines == 7
    assert tree.update({0: "A", 1: "B", 3: "D", 6: "G"}) == [[4, 5, 7], [2, 3], [1]]
    assert op.combines == 7 + 6
    assert tree.aggregate() == "ABcDefGh"
    before = op.combines
    assert tree.prefix(6) == "ABcDefG"  # prefix(7) in the paper: e, c, a[7]
    assert op.combines - before == 2
    tree.check()


def test_flat_fat_ring_of_figure_5() -> None:
    """Reactive Aggregator, figure 5: the latest 4 numbers in a ring of 4, inverted by event 6."""
    window = FlatFat(ops.Collect(), capacity=4)

    def slots() -> list[Any]:
        return [slot if slot is NOTHING else slot[0] for slot in window.slots]

    window.insert(4)
    assert (slots(), window.front, window.back) == ([4, NOTHING, NOTHING, NOTHING], 0, 0)
    window.insert(7)
    assert (slots(), window.front, window.back) == ([4, 7, NOTHING, NOTHING], 0, 1)
    window.insert(3)
    assert (slots(), window.front, window.back) == ([4, 7, 3, NOTHING], 0, 2)
    window.insert(2)
    assert (slots(), window.front, window.back) == ([4, 7, 3, 2], 0, 3)
    window.evict()
    assert (slots(), window.front, window.back) == ([NOTHING, 7, 3, 2], 1, 3)
    assert (window.query(), window.inverted) == ([7, 3, 2], False)
    window.insert(9)
    assert (slots(), window.front, window.back) == ([9, 7, 3, 2], 1, 0)
    assert window.inverted
    assert window.tree.aggregate() == (9, 7, 3, 2)  # what a naive reading would give
    assert window.query() == [7, 3, 2, 9]
    window.check()


@pytest.mark.parametrize("make", [Sba, Pba])
def test_pba_of_figure_2(make: Any) -> None:
    """PBA, figure 2: max over W[10, 2] with chunks of 5 slices."""
    window = make(ops.Max(), range=10, slide=2, chunk=5)
    stream = [5, 4, 6, 3, 0, 0, 1, 0, 2, 3, 1, 2, 7, 5, 3, 4, 9, 5, 4, 8]
    csa, lcs, results = [], [], []
    for number in stream:
        result = window.push(number)
        window.check()
        if window.seen % 2 == 0:
            csa.append(window.core.csa)
            results.append(result)
        if window.seen % 10 == 0:
            lcs.append(window.core.chunks[-1].lcs)
    assert csa == [5, 6, 6, 6, 6, 2, 7, 7, 9, 9]
    assert lcs == [[6, 6, 3, 3, 3], [9, 9, 9, 9, 8]]
    assert results == [None] * 4 + [6, 6, 7, 7, 9, 9]
    assert window.query() == 9


@pytest.mark.parametrize("make", [Sba, Pba])
def test_pba_of_figure_3(make: Any) -> None:
    """PBA, figure 3: W[16, 1] with chunks of 4, so k = 4; w1 is divided into 5 parts."""
    op: Any = ops.Counting(ops.Concat())
    window = make(op, range=16, slide=1, chunk=4)
    for letter in "abcdefghijklmnop":
        window.push(letter)
    assert window.query() == "abcdefghijklmnop"
    assert window.core.slices // window.chunk == 4
    before = op.combines
    assert window.push("q") == "bcdefghijklmnopq"
    assert op.combines - before == 4
    assert window.sub_aggregates() == [
        "bcd",
        "efgh",
        "ijkl",
        "mnop",
        "q",
    ]  # lcs0[1], ca1-3, csa4[0]
