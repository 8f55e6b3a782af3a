"""Bulk eviction from a finger B-tree: cut along the boundary between evicted and kept entries.

Layout: see finger_tree.py. The boundary is one path, from a spine node down to the place of the
time. Only nodes on this path and their neighbours are visited. Whole subtrees are dropped, and
Python's garbage collector replaces the deferred free list. Nothing remains left of the path, so a
node with too few children can only take children from its neighbour on the right. That neighbour
may have another parent; the entry between the two is in their lowest common ancestor.

Invariants and cost: see fiba.py.

Paper: Tangwongsan, Hirzel, Schneider, "Out-of-Order Sliding-Window Aggregation with Efficient Bulk
Evictions and Insertions", section 4.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Generic, NamedTuple

from slidefold.reference.finger_tree import FingerTree
from slidefold.reference.out_of_order import Time
from slidefold.reference.protocols import In, Out, S
from slidefold.reference.tree_node import Node


class Step(NamedTuple, Generic[S]):
    """A node on the boundary, its right neighbour, and their lowest common ancestor."""

    node: Node[S]
    ancestor: Node[S] | None
    neighbor: Node[S] | None


class BulkEvict(FingerTree[In, S, Out]):
    """A finger B-tree that drops everything up to a time in one pass up and one pass down."""

    def _evict_until(self, time: Time) -> None:
        if self.oldest is None or self.youngest is None or time < self.oldest:
            return
        with self._all_or_nothing():
            if time >= self.youngest:
                self.root = self.left_finger = self.right_finger = Node(self.op.identity())
            else:
                self._cut(time)

    def _boundary(self, time: Time) -> list[Step[S]]:
        """Return the nodes to cut, lowest first (step 1: search)."""
        node = self._cover(time, time)
        steps = [Step(node, None, None) if node.right_spine else _at_left_end(node)]
        while not node.is_leaf:
            _, ancestor, neighbor = steps[-1]
            cut = bisect_right(node.times, time)
            if cut and node.times[cut - 1] == time:
                break  # each subtree below is kept or dropped as a whole
            if cut < len(node.times):
                ancestor, neighbor = node, node.children[cut + 1]
            elif neighbor is not None:
                neighbor = neighbor.children[0]
            node = node.children[cut]
            steps.append(Step(node, ancestor, neighbor))
        return steps[::-1]

    def _cut(self, time: Time) -> None:
        """Evict and rebalance upwards (step 2), then repair the spines downwards (step 3)."""
        steps = self._boundary(time)
        gone = hit_right = False  # gone: the node of the level below was merged away
        for step in steps:
            top = node = step.node  # top: the highest node that changes
            ancestor, neighbor = step.ancestor, step.neighbor
            cut = bisect_right(node.times, time)
            emptied = gone and cut == len(node.times)  # the merged node was the only child left
            if not emptied:
                self._touch(node)
                node.drop_oldest(cut + 1 if gone else cut)
                gone = False
            if ancestor is None or neighbor is None:  # everything above this node is dropped
                hit_right = self._shrink_to(node) or hit_right
                top = self.root
            elif emptied or node.arity < self.min_arity:
                gone = emptied or self._fill(node, ancestor, neighbor, time)
                self._repair_if_up(neighbor)
                hit_right = hit_right or neighbor.right_spine
                top = ancestor
                if gone and step is steps[-1]:
                    steps.append(_at_left_end(ancestor))  # beyond the boundary: one child too few
        self._repair_agg(top)
        self._repair_left_below(top)
        if hit_right:
            self._repair_right_below(self.root)

    def _fill(self, node: Node[S], ancestor: Node[S], neighbor: Node[S], time: Time) -> bool:
        """Move missing entries to a boundary node from its neighbour, or merge it into that.

        Tell whether it was merged; then the ancestor still holds the entry that was merged with it.
        """
        lacks, spare = self.min_arity - node.arity, neighbor.arity - self.min_arity
        at = bisect_right(ancestor.times, time)
        between, value = ancestor.times[at], ancestor.values[at]
        self._touch(node, ancestor, neighbor)
        if lacks <= spare:  # figure 2
            children = neighbor.children[:lacks]
            node.extend(
                [between, *neighbor.times[: lacks - 1]],
                [value, *neighbor.values[: lacks - 1]],
                children,
            )
            self._adopt(node, children)
            ancestor.times[at] = neighbor.times[lacks - 1]
            ancestor.values[at] = neighbor.values[lacks - 1]
            neighbor.drop_oldest(lacks)
            return False
        self._adopt(neighbor, node.children)  # figure 3
        neighbor.times[:0] = [*node.times, between]
        neighbor.values[:0] = [*node.values, value]
        neighbor.children[:0] = node.children
        return True

    def _shrink_to(self, node: Node[S]) -> bool:
        """Make a right-spine node or its only child the root; tell whether the root changed."""
        new = node if node.arity > 1 else node.children[0]  # figures 4 and 5
        if new is self.root:
            return False
        self._make_root(new)
        return True


def _at_left_end(node: Node[S]) -> Step[S]:
    """Return the step for the root or a left-spine node, whose neighbour is a sibling."""
    parent = node.parent
    return Step(node, parent, None if parent is None else parent.children[1])
