"""Bulk insertion into a finger B-tree: assign entries to nodes, then go up level by level.

Layout: see finger_tree.py. Each entry is assigned to the node where it belongs. A node takes all
its new entries at once. If it then has too many, it is split into as many nodes as needed. The
entries between these nodes go up to the parent as treelets, each with the new node that follows it.
Paths meet on the way up and are walked once from there on.

Invariants and cost: see fiba.py.

Paper: Tangwongsan, Hirzel, Schneider, "Out-of-Order Sliding-Window Aggregation with Efficient Bulk
Evictions and Insertions", section 5. Recomputation events wait at their own height instead of being
passed up from the leaves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import Generic, NamedTuple

from slidefold.reference.finger_tree import FingerTree
from slidefold.reference.out_of_order import Time
from slidefold.reference.protocols import In, Out, S
from slidefold.reference.tree_node import Node


class Treelet(NamedTuple, Generic[S]):
    """An entry to insert into a node, with the child that follows it (None in a leaf)."""

    time: Time
    value: S
    child: Node[S] | None


class Site(NamedTuple, Generic[S]):
    """A node on a search path, its height, and the exclusive upper bound of its times."""

    node: Node[S]
    height: int
    bound: Time | None


class Events(Generic[S]):
    """The nodes that change, by height, each with the treelets to insert.

    For a node without treelets only the aggregate is repaired: the paper's recomputation event.
    """

    def __init__(self) -> None:
        self._at: dict[int, dict[Node[S], list[Treelet[S]]]] = defaultdict(dict)

    def add(self, height: int, node: Node[S], treelets: list[Treelet[S]]) -> None:
        """Add treelets to a node, after those it already has."""
        self._at[height].setdefault(node, []).extend(treelets)

    def lowest(self) -> tuple[int, dict[Node[S], list[Treelet[S]]]]:
        """Remove and return the lowest level that has work."""
        height = min(self._at)
        return height, self._at.pop(height)

    def __bool__(self) -> bool:
        return bool(self._at)


class BulkInsert(FingerTree[In, S, Out]):
    """A finger B-tree that inserts a bulk in one pass up and one pass down."""

    def _insert_run(self, run: list[tuple[Time, S]]) -> None:
        with self._all_or_nothing():
            self._pass_up(self._sites(run))

    def _sites(self, run: list[tuple[Time, S]]) -> Events[S]:
        """Find where the entries belong (step 1); combine those at existing times right away.

        The path to the last site is kept. The next search climbs it only as far as needed.
        """
        events: Events[S] = Events()
        path: list[Site[S]] = []
        for time, state in run:
            while path and path[-1].bound is not None and path[-1].bound <= time:
                path.pop()
            if not path:
                path.append(self._start(time))
            at, there = self._descend(path, time)
            node, height, _ = path[-1]
            if there:
                self._touch(node)
                node.values[at] = self.op.combine(node.values[at], state)
            events.add(height, node, [] if there else [Treelet(time, state, None)])
        return events

    def _start(self, time: Time) -> Site[S]:
        """Return the spine node where a search from the fingers starts to descend."""
        node, height = self._cover_and_height(time, time)
        parent = node.parent
        return Site(node, height, parent.times[0] if parent and node.left_spine else None)

    def _descend(self, path: list[Site[S]], time: Time) -> tuple[int, bool]:
        """Extend the path to the place of a time; return it, and whether the time exists."""
        while True:
            node, height, bound = path[-1]
            at = bisect_left(node.times, time)
            inside = at < len(node.times)
            there = inside and node.times[at] == time
            if there or node.is_leaf:
                return at, there
            path.append(Site(node.children[at], height - 1, node.times[at] if inside else bound))

    def _pass_up(self, events: Events[S]) -> None:
        """Interleave and split from the lowest level up (step 2), then repair spines (step 3)."""
        left: Node[S] | None = None  # the highest nodes that changed on the spines
        right: Node[S] | None = None
        while events:
            height, level = events.lowest()
            for node, treelets in level.items():
                if node.is_root and node.arity + len(treelets) > self.max_arity:
                    self._increase_height()
                promoted = self._interleave(node, treelets)
                last = self._pass_on_the_right_spine(node, promoted)
                for part in (node, *(treelet.child for treelet in promoted)):
                    if part is not None:
                        self._repair_if_up(part)
                if node.left_spine:
                    left = node
                if last.right_spine:
                    right = last
                if node.is_root:
                    self._repair_agg(node)
                if node.parent is not None and (promoted or node.has_agg_up):
                    events.add(height + 1, node.parent, promoted)
        if left is not None:
            self._repair_agg(left)
            self._repair_left_below(left)
        if right is not None:
            self._repair_agg(right)
            self._repair_right_below(right)

    def _interleave(self, node: Node[S], treelets: list[Treelet[S]]) -> list[Treelet[S]]:
        """Insert treelets into a node; return those that go up because it was split.

        All nodes that a split creates have arity min_arity + 1, except the last, which takes the
        rest: more than max_arity - min_arity - 1, so at least min_arity (claim 1).
        """
        if not treelets:
            return []
        followers: Sequence[Node[S] | None] = node.children[1:] or [None] * len(node.times)
        own = map(Treelet, node.times, node.values, followers)
        entries = sorted([*own, *treelets], key=lambda entry: entry.time)
        promoted: list[Treelet[S]] = []
        target, first, start = node, node.children[:1], 0
        while len(entries) - start >= self.max_arity:
            end = start + self.min_arity
            self._refill(target, first, entries[start:end])
            time, value, child = entries[end]
            target, first = Node(self.op.identity(), node.parent), [] if child is None else [child]
            promoted.append(Treelet(time, value, target))
            start = end + 1
        self._refill(target, first, entries[start:])
        return promoted

    def _refill(self, node: Node[S], first: list[Node[S]], entries: list[Treelet[S]]) -> None:
        """Replace the entries and children of a node."""
        self._touch(node)
        node.times = [entry.time for entry in entries]
        node.values = [entry.value for entry in entries]
        node.children = [*first, *(entry.child for entry in entries if entry.child is not None)]
        self._adopt(node, node.children)

    def _pass_on_the_right_spine(self, node: Node[S], promoted: list[Treelet[S]]) -> Node[S]:
        """Move the right-spine flag to the last node that a split created; return that node."""
        last = promoted[-1].child if promoted else None
        if last is None:
            return node
        last.right_spine, node.right_spine = node.right_spine, False
        return last
