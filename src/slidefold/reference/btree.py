"""BTree: the classic augmented B-tree, the baseline of FiBA.

Layout: see tree_node.py. Each node has the aggregate of its whole subtree. Searches start at the
root. Every change updates the aggregates from the changed node up to the root.

Invariants:
  I1  all leaves have the same depth.
  I2  times ascend, in each node and across nodes.
  I3  a node has min_arity to max_arity children, the root at least 2; a node has one more child
      than entries, or is a leaf.
  I4  each child knows its parent.
  I5  up: a node's aggregate is the fold of its subtree.

Cost: query takes no combine; insert, evict and range queries take O(log n). n states, and one more
per node.

Paper: Tangwongsan, Hirzel, Schneider, "Optimal and General Out-of-Order Sliding-Window
Aggregation", section 3.1.
"""

from __future__ import annotations

from slidefold.reference.augmented_tree import AugmentedTree
from slidefold.reference.out_of_order import Time
from slidefold.reference.protocols import In, Out, S, fold
from slidefold.reference.tree_node import Node


class BTree(AugmentedTree[In, S, Out]):
    """A B-tree with the aggregate of each subtree; bulk operations go entry by entry.

    >>> from slidefold.reference.operators import Concat
    >>> window = BTree(Concat())
    >>> window.bulk_insert([5, 1, 4, 2, 3], "eadbc")
    >>> window.query(), window.query(2, 4), window.root.times
    ('abcde', 'bcd', [3])
    """

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_structure()
        slack = self._slack()
        for node in self.root.below():
            expected = [self._fold_below(node)]
            self._hold_states(5, [node.agg], expected, slack, f"the node of {node.times} is wrong")

    def _cover(self, since: Time | None, until: Time | None) -> Node[S]:
        return self.root

    def _aggregate(self, node: Node[S]) -> S:
        return fold(self.op, node.parts())

    def _whole(self) -> S:
        return self.root.agg

    def _insert_run(self, run: list[tuple[Time, S]]) -> None:
        with self._all_or_nothing():
            for time, state in run:
                self._insert_state(time, state)

    def _evict_until(self, time: Time) -> None:
        with self._all_or_nothing():
            while (oldest := self.oldest) is not None and oldest <= time:
                self.evict(oldest)
