"""The finger B-tree: single operations near either end of the window are cheap.

Layout: the fingers are the first and the last leaf. Searches climb from them; the nodes on the way,
below the root, are the left and the right spine. Aggregates depend on the location (figure 2):

  up     off the spines: the whole subtree.
  inner  the root: all but its first and its last child.
  left   on the left spine: all but the first child, then the left aggregate of the parent.
  right  on the right spine: the right aggregate of the parent, then all but the last child.

So the left finger holds the aggregate of the root's first child, the right finger that of its last
child, and the root the rest. A change is repaired up to the spine, and from there down to the
finger. Only changes in the inner part reach the root.

Invariants and cost: see fiba.py.

Paper: Tangwongsan, Hirzel, Schneider, "Optimal and General Out-of-Order Sliding-Window
Aggregation", sections 3.2 and 3.3.
"""

from __future__ import annotations

from typing import Self

from slidefold.reference.augmented_tree import AugmentedTree, Reach
from slidefold.reference.out_of_order import Time
from slidefold.reference.protocols import In, Operator, Out, S, fold
from slidefold.reference.tree_node import Node


class FingerTree(AugmentedTree[In, S, Out]):
    """A B-tree with two fingers and four kinds of aggregate; Fiba adds the bulk operations."""

    def __init__(
        self, op: Operator[In, S, Out], min_arity: int = 2, max_arity: int | None = None
    ) -> None:
        super().__init__(op, min_arity, max_arity)
        self.left_finger = self.right_finger = self.root

    @property
    def oldest(self) -> Time | None:
        """Return the first time, or None if the window is empty."""
        return self.left_finger.times[0] if self.left_finger.times else None

    @property
    def youngest(self) -> Time | None:
        """Return the last time, or None if the window is empty."""
        return self.right_finger.times[-1] if self.right_finger.times else None

    def copy(self) -> Self:
        """Return an independent copy of the tree; states never change, so both share them."""
        twin = super().copy()
        twin.left_finger, twin.right_finger = spine(twin.root, 0)[-1], spine(twin.root, -1)[-1]
        return twin

    def check(self) -> None:
        """Verify each numbered invariant of fiba.py."""
        self._hold_structure()
        self._hold_spines()
        slack = self._slack()
        for node in self.root.below():
            number, kind = _kind(node)
            sentence = f"the {kind} aggregate of the node of {node.times} is wrong"
            self._hold_states(number, [node.agg], [self._expected(node)], slack, sentence)

    def _whole(self) -> S:
        """Combine at most twice: left finger, root, right finger."""
        if self.root.is_leaf:
            return self.root.agg
        return fold(self.op, [self.left_finger.agg, self.root.agg, self.right_finger.agg])

    def _cover(self, since: Time | None, until: Time | None) -> Node[S]:
        return self._cover_and_height(since, until)[0]

    def _cover_and_height(self, since: Time | None, until: Time | None) -> tuple[Node[S], int]:
        """Return the lowest spine node whose subtree covers these times, and its height.

        Both spines are climbed at the same time, so the nearer end sets the cost: O(log d).
        """
        left, right, height = self.left_finger, self.right_finger, 0
        while left.parent is not None and right.parent is not None:
            if until is not None and until < left.parent.times[0]:
                return left, height
            if since is not None and since > right.parent.times[-1]:
                return right, height
            left, right, height = left.parent, right.parent, height + 1
        return left, height

    def _aggregate(self, node: Node[S]) -> S:
        """Compute the aggregate for the node's location (localRepairAgg)."""
        parts = node.parts(
            first=not (node.is_root or node.left_spine), last=not (node.is_root or node.right_spine)
        )
        if node.parent is not None and not node.parent.is_root:
            if node.left_spine:
                parts = [*parts, node.parent.agg]
            if node.right_spine:
                parts = [node.parent.agg, *parts]
        return fold(self.op, parts)

    def _repair(self, reach: Reach[S]) -> None:
        top = self._repair_up(reach.top)
        if top.left_spine or (top.is_root and reach.hit_left):
            self._repair_left_below(top)
        if top.right_spine or (top.is_root and reach.hit_right):
            self._repair_right_below(top)

    def _repair_left_below(self, node: Node[S]) -> None:
        """Repair the left spine below a node, and the finger at its end."""
        while not node.is_leaf:
            node = node.children[0]
            self._touch(node)
            node.left_spine = True
            self._repair_agg(node)
        self.left_finger = node

    def _repair_right_below(self, node: Node[S]) -> None:
        """Repair the right spine below a node, and the finger at its end."""
        while not node.is_leaf:
            node = node.children[-1]
            self._touch(node)
            node.right_spine = True
            self._repair_agg(node)
        self.right_finger = node

    # ---- rebalancing moves only the right finger, because splits and merges keep the left node

    def _increase_height(self) -> None:
        old = self.root
        super()._increase_height()
        old.left_spine = old.right_spine = True

    def _split(self, node: Node[S]) -> Node[S]:
        right = super()._split(node)
        if node is self.right_finger:
            self.right_finger = right
        return right

    def _merge(self, parent: Node[S], at: int) -> Node[S]:
        right = parent.children[at + 1]
        merged = super()._merge(parent, at)
        if right is self.right_finger:
            self.right_finger = merged
        return merged

    # ---- invariants

    def _hold_spines(self) -> None:
        """Check I5: the flags and the fingers."""
        first, last = spine(self.root, 0), spine(self.root, -1)
        for node in self.root.below():
            fits = node.left_spine == (node in first[1:]) and node.right_spine == (node in last[1:])
            self._hold(5, fits, f"the spine flags of the node of {node.times} are wrong")
        fingers = self.left_finger is first[-1] and self.right_finger is last[-1]
        self._hold(5, fingers, "the fingers are not the first and the last leaf")

    def _expected(self, node: Node[S]) -> S:
        """Compute the expected aggregate from the entries alone."""
        on_spine = node.left_spine or node.right_spine
        whole = self.root.children[0 if node.left_spine else -1] if on_spine else node
        states = [state for _, state in whole.entries()]
        start, end = 0, len(states)
        if node.children and (node.is_root or node.left_spine):
            start += _size(node.children[0])
        if node.children and (node.is_root or node.right_spine):
            end -= _size(node.children[-1])
        return fold(self.op, states[start:end])


def spine(node: Node[S], child: int) -> list[Node[S]]:
    """Return the path from a node to a leaf along the first (0) or last (-1) children.

    >>> root, leaf = Node("b"), Node("a")
    >>> root.children = [leaf]
    >>> spine(root, 0) == [root, leaf]
    True
    """
    return [node, *spine(node.children[child], child)] if node.children else [node]


def _size(node: Node[S]) -> int:
    return sum(1 for _ in node.entries())


def _kind(node: Node[S]) -> tuple[int, str]:
    """Return the invariant number and the kind of a node's aggregate."""
    if node.is_root:
        return 7, "inner"
    if node.left_spine:
        return 8, "left"
    return (9, "right") if node.right_spine else (6, "up")
