"""The base of BTree and Fiba: single operations on a B-tree with an aggregate in each node.

Layout: see tree_node.py. BTree and Fiba differ in where a search starts and in what a node's
aggregate covers; everything else is here. An insert or evict (1) searches for the node, (2) changes
it, (3) rebalances upwards while a node has too many or too few children, and (4) repairs the
remaining aggregates. Aggregates of whole subtrees are repaired on the way up, in (2) and (3).

The names follow the paper's figure 7, so that both can be read side by side: split, merge, move,
height increase and decrease, evict inner. There are two differences. A merge or move also repairs
its parent, so there is no `toRepair` list. The climb from a leaf to the inner node whose entry it
replaces (figure 8, lines 85 to 90) is part of the rebalancing loop.

Paper: Tangwongsan, Hirzel, Schneider, "Optimal and General Out-of-Order Sliding-Window
Aggregation", figures 7, 8 and 10.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Self, cast

from slidefold.reference.agreement import tolerance
from slidefold.reference.out_of_order import OutOfOrder, Time, require_arity, require_time
from slidefold.reference.protocols import In, Operator, Out, S, fold
from slidefold.reference.tree_node import Node


class Found(NamedTuple, Generic[S]):
    """The place of a time, or the place in a leaf where it would be inserted."""

    node: Node[S]
    at: int
    there: bool


class Reach(NamedTuple, Generic[S]):
    """How far rebalancing went: the highest node, and the spines that it touched."""

    top: Node[S]
    hit_left: bool
    hit_right: bool


class AugmentedTree(OutOfOrder[In, S, Out]):
    """A B-tree with min_arity <= arity <= max_arity, and an aggregate in each node."""

    def __init__(
        self, op: Operator[In, S, Out], min_arity: int = 2, max_arity: int | None = None
    ) -> None:
        super().__init__(op)
        self.min_arity, self.max_arity = require_arity(min_arity, max_arity)
        self.root: Node[S] = Node(op.identity())
        self._before: dict[Node[S], dict[str, Any]] | None = None

    # ---- public interface

    @property
    def oldest(self) -> Time | None:
        """Return the first time, or None if the window is empty."""
        return next((time for time, _ in self._entries()), None)

    @property
    def youngest(self) -> Time | None:
        """Return the last time, or None if the window is empty."""
        node = self.root
        while not node.is_leaf:
            node = node.children[-1]
        return node.times[-1] if node.times else None

    @property
    def height(self) -> int:
        """Return the number of levels."""
        node, levels = self.root, 1
        while not node.is_leaf:
            node, levels = node.children[0], levels + 1
        return levels

    def insert(self, time: Time, value: In) -> None:
        """Add a value; combine it with the existing value if the time exists already."""
        require_time(time)
        self._insert_state(time, self.op.lift(value))

    def evict(self, time: Time) -> bool:
        """Drop the entry at a time; tell whether there was one."""
        node, at, there = self._search(require_time(time))
        if there:
            with self._all_or_nothing():
                self._repair(
                    self._evict_leaf(node, at) if node.is_leaf else self._evict_inner(node, at)
                )
        return there

    def copy(self) -> Self:
        """Return an independent copy of the tree; states never change, so both share them."""
        twin = copy.copy(self)
        twin.root = self.root.clone()
        return twin

    def states_kept(self) -> int:
        """Return the number of states kept: one per entry and one per node."""
        return sum(node.arity for node in self.root.below())

    # ---- where BTree and Fiba differ

    @abstractmethod
    def _cover(self, since: Time | None, until: Time | None) -> Node[S]:
        """Return a node whose subtree covers these times: the start of a search."""

    @abstractmethod
    def _aggregate(self, node: Node[S]) -> S:
        """Compute the node's aggregate from those it depends on."""

    def _repair(self, reach: Reach[S]) -> None:
        """Repair the aggregates that rebalancing did not repair (repairAggs)."""
        self._repair_up(reach.top)

    # ---- single operations

    def _search(self, time: Time) -> Found[S]:
        node = self._cover(time, time)
        while True:
            at = bisect_left(node.times, time)
            there = at < len(node.times) and node.times[at] == time
            if there or node.is_leaf:
                return Found(node, at, there)
            node = node.children[at]

    def _insert_state(self, time: Time, state: S) -> None:
        node, at, there = self._search(time)
        with self._all_or_nothing():
            self._touch(node)
            if there:
                node.values[at] = self.op.combine(node.values[at], state)
            else:
                node.put(at, time, state)
            self._repair_if_up(node)
            self._repair(self._rebalance_for_insert(node))

    def _rebalance_for_insert(self, node: Node[S]) -> Reach[S]:
        hit_left, hit_right = node.left_spine, node.right_spine
        while node.arity > self.max_arity:
            if node.is_root:
                self._increase_height()
                hit_left = hit_right = True
            self._split(node)
            node = _parent(node)
            hit_left, hit_right = hit_left or node.left_spine, hit_right or node.right_spine
        return Reach(node, hit_left, hit_right)

    def _evict_leaf(self, leaf: Node[S], at: int) -> Reach[S]:
        self._touch(leaf)
        leaf.take(at)
        self._repair_if_up(leaf)
        return self._rebalance_for_evict(leaf, leaf)

    def _evict_inner(self, node: Node[S], at: int) -> Reach[S]:
        """Remove the entry's neighbour from its leaf, and overwrite the entry with it."""
        leaf, from_right = node.children[at + 1], node.children[at + 1].arity > self.min_arity
        if not from_right:
            leaf = node.children[at]
        while not leaf.is_leaf:
            leaf = leaf.children[0 if from_right else -1]
        self._touch(leaf, node)
        node.times[at], node.values[at] = leaf.take(0 if from_right else len(leaf.times) - 1)
        self._repair_if_up(leaf)
        return self._rebalance_for_evict(leaf, node)

    def _rebalance_for_evict(self, node: Node[S], at_least: Node[S]) -> Reach[S]:
        """Merge or move while a node has too few children, and climb at least to `at_least`."""
        hit_left, hit_right = node.left_spine, node.right_spine
        below = node is not at_least
        while not node.is_root and (below or node.arity < self.min_arity):
            parent = _parent(node)
            if node.arity < self.min_arity:
                place = parent.place(node)
                sibling = parent.children[place - 1 if place else 1]
                # Figure 7, line 61 omits the left spine: see docs/errata.md.
                hit_left = hit_left or sibling.left_spine
                hit_right = hit_right or sibling.right_spine
                if sibling.arity <= self.min_arity:
                    self._merge(parent, place - 1 if place else 0)
                else:
                    self._move(parent, place)
            self._repair_if_up(parent)
            if parent.is_root and parent.arity == 1:
                self._decrease_height()
                node = self.root
            else:
                node = parent
            below = below and node is not at_least
            hit_left, hit_right = hit_left or node.left_spine, hit_right or node.right_spine
        return Reach(node, hit_left, hit_right)

    # ---- the steps of rebalancing

    def _increase_height(self) -> None:
        """Add a new root above the root; it has no entries until its child is split."""
        old = self.root
        self.root = Node(self.op.identity())
        self.root.extend([], [], [old])
        self._adopt(self.root, [old])

    def _decrease_height(self) -> None:
        """Make the root's only child the root."""
        self._make_root(self.root.children[0])

    def _make_root(self, node: Node[S]) -> None:
        self._touch(node)
        node.parent = None
        node.left_spine = node.right_spine = False
        self.root = node

    def _split(self, node: Node[S]) -> Node[S]:
        """Split a node in halves, move the middle entry to the parent, return the right half."""
        parent = _parent(node)
        self._touch(node, parent)
        right: Node[S] = Node(self.op.identity(), parent)
        middle = len(node.times) // 2
        right.extend(
            node.times[middle + 1 :], node.values[middle + 1 :], node.children[middle + 1 :]
        )
        self._adopt(right, right.children)
        parent.put(parent.place(node), node.times[middle], node.values[middle], right)
        node.drop_youngest(len(node.times) - middle)
        right.right_spine, node.right_spine = node.right_spine, False
        for changed in (node, right, parent):
            self._repair_if_up(changed)
        return right

    def _merge(self, parent: Node[S], at: int) -> Node[S]:
        """Merge children `at` and `at + 1` and the entry between them; return the merged node."""
        left, right = parent.children[at], parent.children[at + 1]
        self._touch(left, parent)
        time, value = parent.take(at)
        left.extend([time, *right.times], [value, *right.values], right.children)
        self._adopt(left, right.children)
        left.right_spine = right.right_spine
        self._repair_if_up(left)
        return left

    def _move(self, parent: Node[S], place: int) -> None:
        """Move one entry and one child from a sibling, through the parent, to child `place`."""
        node = parent.children[place]
        sibling = parent.children[place - 1 if place else 1]
        self._touch(node, sibling, parent)
        if place:
            between, taken, there = place - 1, len(sibling.times) - 1, 0
        else:
            between, taken, there = 0, 0, len(node.times)
        node.times.insert(there, parent.times[between])
        node.values.insert(there, parent.values[between])
        parent.times[between] = sibling.times.pop(taken)
        parent.values[between] = sibling.values.pop(taken)
        if not sibling.is_leaf:
            child = sibling.children.pop(-1 if place else 0)
            node.children.insert(0 if place else len(node.children), child)
            self._adopt(node, [child])
        self._repair_if_up(node)
        self._repair_if_up(sibling)

    def _adopt(self, node: Node[S], children: list[Node[S]]) -> None:
        self._touch(*children)
        for child in children:
            child.parent = node

    # ---- aggregates

    def _repair_agg(self, node: Node[S]) -> None:
        self._touch(node)
        node.agg = self._aggregate(node)

    def _repair_if_up(self, node: Node[S]) -> None:
        if node.has_agg_up:
            self._repair_agg(node)

    def _repair_up(self, node: Node[S]) -> Node[S]:
        """Repair upwards from a node to the first node without an up-aggregate; return that one.

        If the node itself has an up-aggregate, it is already repaired.
        """
        while node.has_agg_up:
            node = _parent(node)
            self._repair_if_up(node)
        self._repair_agg(node)
        return node

    # ---- reading

    def _entries(self) -> Iterator[tuple[Time, S]]:
        return self.root.entries()

    def _between(self, since: Time | None, until: Time | None) -> Iterator[S]:
        return self._parts(self._cover(since, until), since, until)

    def _parts(self, node: Node[S], since: Time | None, until: Time | None) -> Iterator[S]:
        """Yield states that fold to the subtree's part of a range; None is an open end.

        This is figure 10, corrected: child i + 1 is between entries i and i + 1, also for the last
        but one (docs/errata.md).
        """
        if since is None and until is None and node.has_agg_up:
            yield node.agg
            return
        times = node.times
        for i in range(node.arity):
            older = times[i - 1] if i > 0 else None  # the entry before child i
            newer = times[i] if i < len(times) else None  # and the one after it
            starts_before_end = older is None or until is None or older < until
            ends_after_start = newer is None or since is None or since < newer
            if node.children and starts_before_end and ends_after_start:
                yield from self._parts(
                    node.children[i],
                    None if older is not None and since is not None and since <= older else since,
                    None if newer is not None and until is not None and newer <= until else until,
                )
            if newer is not None and _within(newer, since, until):
                yield node.values[i]

    # ---- when an operator raises

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """If an operator raises inside, restore every node."""
        if self._before is not None:  # a step of a larger operation, which restores the nodes
            yield
            return
        fields = dict(vars(self))
        before: dict[Node[S], dict[str, Any]] = {}
        self._before = before
        try:
            yield
        except BaseException:
            vars(self).update(fields)
            for node, saved in before.items():
                node.restore(saved)
            raise
        self._before = None

    def _touch(self, *nodes: Node[S]) -> None:
        """Save nodes before their first change in this operation."""
        if self._before is not None:
            self._before.update({n: n.saved() for n in nodes if n not in self._before})

    # ---- invariants of all such trees

    def _hold_structure(self) -> None:
        """Check I1 to I4: height, order, arity and links."""
        depths = set(_depths(self.root))
        self._hold(1, len(depths) == 1, f"leaves are at depths {sorted(depths)}")
        for node in self.root.below():
            fits = node.is_leaf or len(node.children) == node.arity
            self._hold(3, fits, f"{len(node.times)} entries have {len(node.children)} children")
        times = [time for time, _ in self._entries()]
        for older, newer in pairwise(times):
            self._hold(2, older < newer, f"{newer} comes after {older}")
        self._hold(4, self.root.is_root, "the root has a parent")
        for node in self.root.below():
            least = self.min_arity
            if node.is_root:
                least = 1 if node.is_leaf else 2
            self._hold(3, least <= node.arity <= self.max_arity, f"a node has arity {node.arity}")
            for child in node.children:
                self._hold(4, child.parent is node, "a child has another parent")

    def _slack(self) -> float:
        """Return the rounding error that `check()` tolerates."""
        return tolerance(self.op, [state for _, state in self._entries()])

    def _fold_below(self, *nodes: Node[S]) -> S:
        return fold(self.op, [state for node in nodes for _, state in node.entries()])


def _parent(node: Node[S]) -> Node[S]:
    return cast("Node[S]", node.parent)


def _depths(node: Node[S], depth: int = 0) -> Iterator[int]:
    """Yield the depth of each leaf."""
    if node.is_leaf:
        yield depth
    for child in node.children:
        yield from _depths(child, depth + 1)


def _within(time: Time, since: Time | None, until: Time | None) -> bool:
    return (since is None or since <= time) and (until is None or time <= until)
