"""The steps of the FiBA papers' figures by name, and the slips of docs/errata.md.

Trees are planted by hand: [1, 2] is a leaf, ([3], [[1, 2], [4]]) a node with two. The letter of a
time is its value: a at 1, b at 2.
"""

from __future__ import annotations

from typing import Any

import pytest

from slidefold.reference import Fiba
from slidefold.reference import operators as ops
from tests.reference.tree_cases import FIGURE_1, LEFT, MIDDLE, letter, plant, shape_of


def insert(tree: Any, time: int) -> int:
    """Insert a letter, check the tree, and return the number of nodes with another aggregate."""
    return changes(tree, lambda: tree.insert(time, letter(time)))


def evict(tree: Any, time: int) -> int:
    """Evict a letter, check the tree, and return the number of nodes with another aggregate."""

    def action() -> None:
        assert tree.evict(time)

    return changes(tree, action)


def changes(tree: Any, action: Any) -> int:
    before = {id(node): node.agg for node in tree.root.below()}
    action()
    tree.check()
    return sum(before.get(id(node)) != node.agg for node in tree.root.below())


def aggs(nodes: list[Any]) -> list[str]:
    return [node.agg for node in nodes]


def test_figure_1_the_four_kinds_of_aggregate() -> None:
    tree = plant(FIGURE_1)
    left, middle, right = tree.root.children
    assert tree.root.agg == "ghijklmno"  # inner
    assert aggs([left, tree.left_finger]) == ["cdef", "abcdef"]
    assert aggs([right, tree.right_finger]) == ["qrst", "qrstuv"]
    assert aggs([middle, *middle.children]) == ["hijklmn", "h", "jk", "mn"]  # up
    assert tree.query() == "abcdefghijklmnoqrstuv"


def test_figure_3_in_order_insert_changes_the_right_finger_alone() -> None:
    """Step A to B: 22."""
    tree = plant(([7, 15], [LEFT, MIDDLE, ([20], [[17, 19], [21]])]))
    assert insert(tree, 22) == 1
    assert tree.right_finger.times == [21, 22]
    assert tree.right_finger.agg == "qstuv"


def test_figure_3_out_of_order_insert_walks_to_the_right_finger() -> None:
    """Step B to C: 18."""
    tree = plant(([7, 15], [LEFT, MIDDLE, ([20], [[17, 19], [21, 22]])]))
    assert insert(tree, 18) == 3  # the leaf, its parent on the spine, the finger
    assert shape_of(tree) == FIGURE_1


def test_figure_3_in_order_evict_changes_the_left_finger_alone() -> None:
    """Step C to D: 1."""
    tree = plant(FIGURE_1)
    assert evict(tree, 1) == 1
    assert tree.left_finger.agg == "bcdef"


def test_figure_3_split() -> None:
    """Step D to E: 16 makes a leaf overflow."""
    tree = plant(FIGURE_1)
    insert(tree, 16)
    right = ([18, 20], [[16, 17], [19], [21, 22]])
    assert shape_of(tree) == ([7, 15], [LEFT, MIDDLE, right])
    assert aggs(tree.root.children[2].children) == ["pq", "s", "pqrstuv"]


def test_figure_3_merge() -> None:
    """Step E to F: evicting 2 leaves a leaf with nothing."""
    tree = plant(([7, 15], [([3, 5], [[2], [4], [6]]), MIDDLE, ([20], [[17], [21]])]))
    evict(tree, 2)
    assert shape_of(tree)[1][0] == ([5], [[3, 4], [6]])
    assert aggs([tree.root.children[0], tree.left_finger]) == ["ef", "cdef"]


def test_figure_4_height_increase_and_split() -> None:
    """Step G to H: inserting 3 splits a leaf, then the root, above which a root comes."""
    tree = plant(([5, 7, 9], [[1, 2, 4], [6], [8], [10]]))
    insert(tree, 3)
    assert tree.height == 3
    assert shape_of(tree) == ([7], [([3, 5], [[1, 2], [4], [6]]), ([9], [[8], [10]])])
    assert tree.root.agg == "g"
    assert aggs([tree.left_finger, tree.right_finger]) == ["abcdef", "hij"]


def test_figure_5_move() -> None:
    """Step I to J: evicting 4 merges two leaves; their parent's neighbour is too big to merge."""
    tree = plant(([6], [([3], [[2], [4]]), ([8, 10], [[7], [9], [11]])]))
    evict(tree, 4)
    assert shape_of(tree) == ([8], [([6], [[2, 3], [7]]), ([10], [[9], [11]])])
    assert aggs([tree.root.children[0], tree.left_finger]) == ["fg", "bcfg"]
    assert aggs([tree.root.children[1], tree.right_finger]) == ["ij", "ijk"]


def test_figure_6_merge_and_height_decrease() -> None:
    """Step K to L: evicting 15 merges leaves, then their parents, and the root has one child."""
    tree = plant(([8], [([4], [[2], [6]]), ([12], [[10], [15]])]))
    evict(tree, 15)
    assert tree.height == 2
    assert shape_of(tree) == ([4, 8], [[2], [6], [10, 12]])
    assert tree.root.agg == "dfh"


def test_figure_9_evict_inner_takes_the_oldest_of_the_right_child() -> None:
    tree = plant(FIGURE_1)
    evict(tree, 7)
    assert shape_of(tree)[0] == [8, 15]
    assert shape_of(tree)[1][1] == ([10, 12], [[9], [11], [13, 14]])  # a move, for 8 was alone
    assert tree.root.agg == "hijklmno"


def test_figure_9_evict_inner_takes_the_youngest_of_the_left_child() -> None:
    """The right child has the fewest children that it may have."""
    tree = plant(FIGURE_1)
    evict(tree, 15)
    assert shape_of(tree)[0] == [7, 14]
    assert shape_of(tree)[1][1] == ([9, 12], [[8], [10, 11], [13]])


def test_figure_9_evict_inner_on_a_spine_when_rebalancing_ends_below() -> None:
    """The leaf keeps enough entries, so rebalancing ends there; the spine above changes too."""
    tree = plant(FIGURE_1)
    evict(tree, 20)  # on the right spine; 21 comes up from the right finger
    right = tree.root.children[2]
    assert shape_of(tree)[1][2] == ([21], [[17, 18, 19], [22]])
    assert aggs([right, tree.right_finger]) == ["qrsu", "qrsuv"]
    evict(tree, 3)  # on the left spine; 2 comes up from the left finger
    assert shape_of(tree)[1][0] == ([2, 5], [[1], [4], [6]])
    assert aggs([tree.root.children[0], tree.left_finger]) == ["bdef", "abdef"]


@pytest.mark.parametrize("time", range(1, 27))
def test_figure_9_evict_inner_or_not_from_anywhere(time: int) -> None:
    tree: Any = Fiba(ops.Concat())
    for each in range(1, 27):
        tree.insert(each, letter(each))
    evict(tree, time)
    assert tree.query() == "abcdefghijklmnopqrstuvwxyz".replace(letter(time), "")


# ---- the bulk paper


def test_bulk_figure_2_move_batch_from_a_neighbour_that_is_no_sibling() -> None:
    """min_arity 3: the cut leaves a leaf two entries short; they come from under another parent."""
    left = ([3, 6], [[1, 2], [4, 5], [7, 8]])
    right = ([15, 18], [[10, 11, 12, 13, 14], [16, 17], [19, 20]])
    tree = plant(([9], [left, right]), min_arity=3)
    tree.bulk_evict(8)  # the leaf of 7 and 8 is left with nothing, its parent with one child
    tree.check()
    assert shape_of(tree) == ([11, 15, 18], [[9, 10], [12, 13, 14], [16, 17], [19, 20]])
    assert aggs([tree.left_finger, tree.root, tree.right_finger]) == ["ij", "klmnopqr", "st"]


def test_bulk_figure_3_merge_with_a_neighbour_that_is_no_sibling() -> None:
    """What is left of a leaf goes to a leaf under another parent; its own parent goes with it."""
    left = ([2], [[1], [3]])
    tree = plant(([4, 8], [left, ([6], [[5], [7]]), ([10], [[9], [11]])]))
    tree.bulk_evict(3)
    tree.check()
    assert shape_of(tree) == ([8], [([6], [[4, 5], [7]]), ([10], [[9], [11]])])
    assert aggs([tree.root.children[0], tree.left_finger]) == ["fg", "defg"]


def test_bulk_figure_4_a_node_of_the_right_spine_becomes_the_root() -> None:
    tree = plant(FIGURE_1)
    tree.bulk_evict(18)
    tree.check()
    assert shape_of(tree) == ([20], [[19], [21, 22]])
    assert aggs([tree.left_finger, tree.root, tree.right_finger]) == ["s", "t", "uv"]


def test_bulk_figure_5_the_child_of_a_node_becomes_the_root() -> None:
    tree = plant(FIGURE_1)
    tree.bulk_evict(20)
    tree.check()
    assert shape_of(tree) == [21, 22]
    assert tree.left_finger is tree.right_finger is tree.root


def test_bulk_evict_rebalances_beyond_the_boundary() -> None:
    """The boundary is the left finger; the merge there leaves its parent with one child."""
    tree = plant(([8], [([4], [[2], [6]]), ([12], [[10], [14]])]))
    tree.bulk_evict(2)
    tree.check()
    assert shape_of(tree) == ([8, 12], [[4, 6], [10], [14]])
    assert aggs([tree.left_finger, tree.root, tree.right_finger]) == ["df", "hjl", "n"]


def test_bulk_figure_6_interleave_and_split() -> None:
    """Seven entries for one leaf: pieces of arity 3; what is between them goes up to the root."""
    tree = plant(([3, 12], [[1, 2], [4], [13]]))
    tree.bulk_insert(range(5, 12), [letter(time) for time in range(5, 12)])
    tree.check()
    left, right = ([3, 6], [[1, 2], [4, 5], [7, 8]]), ([12], [[10, 11], [13]])
    assert shape_of(tree) == ([9], [left, right])
    assert aggs([tree.left_finger, tree.root, tree.right_finger]) == ["abcdefgh", "i", "jklm"]


@pytest.mark.parametrize("min_arity", [2, 3, 4, 7])
def test_claim_1_every_overflow_splits_into_legitimate_nodes(min_arity: int) -> None:
    """All pieces of a leaf have arity min_arity + 1, but for the last."""
    for entries in range(2 * min_arity, 9 * min_arity):
        tree: Any = Fiba(ops.Concat(), min_arity)
        tree.bulk_insert(range(entries), ["x"] * entries)
        tree.check()
        leaves = [node.arity for node in tree.root.below() if node.is_leaf]
        assert set(leaves[:-1]) == {min_arity + 1}
        assert min_arity <= leaves[-1] <= 2 * min_arity


# ---- slips in the paper: these fail with what is printed


def test_slip_borrowing_from_the_left_spine_under_a_root_of_two() -> None:
    """Figure 7, line 61: nothing that it records is on the left spine, but the sibling is."""
    tree = plant(([3], [[1, 2], [4]]))
    evict(tree, 4)
    assert shape_of(tree) == ([2], [[1], [3]])
    assert aggs([tree.left_finger, tree.root, tree.right_finger]) == ["a", "b", "c"]


def test_slip_merging_into_the_left_spine_under_the_root() -> None:
    """Figure 7, line 61, with a merge."""
    tree = plant(([3, 5], [[2], [4], [6]]))
    evict(tree, 4)
    assert shape_of(tree) == ([5], [[2, 3], [6]])
    assert aggs([tree.left_finger, tree.root, tree.right_finger]) == ["bc", "e", "f"]


def test_slip_a_range_query_does_not_skip_the_last_inner_child() -> None:
    """Figure 10, line 20: i + 1 < arity - 2 leaves out the last child but one, here 8 to 14."""
    tree = plant(FIGURE_1)
    assert tree.query(6, 16) == "fghijklmno"
    times = [time for time, _ in tree]
    for since in range(24):
        for until in range(since, 24):
            expected = "".join(letter(time) for time in times if since <= time <= until)
            assert tree.query(since, until) == (expected or None)


def test_slip_a_range_holds_all_entries_between_its_bounds() -> None:
    """Section 2 and theorem 6: as printed, from the largest index to the smallest, 22 to 1."""
    tree = plant(FIGURE_1)
    assert tree.query(3, 7) == "cdefg"
    assert tree.query(-5, 50) == "abcdefghijklmnoqrstuv"
    assert tree.query(16, 16) is None
