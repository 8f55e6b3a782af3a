"""Fiba: the finger B-tree aggregator, for values in any time order, one by one or in bulk.

Layout: see tree_node.py for a node, finger_tree.py for the fingers, the spines and the four kinds
of aggregate, augmented_tree.py for single operations, fiba_evict.py and fiba_insert.py for bulks.

Invariants:
  I1  all leaves have the same depth.
  I2  times ascend, in each node and across nodes.
  I3  a node has min_arity to max_arity children, the root at least 2; a node has one more child
      than entries, or is a leaf.
  I4  each child knows its parent.
  I5  the spine flags are set on the first and the last node of each level below the root; the
      fingers are the first and the last leaf.
  I6  up: off the spines, the aggregate is the fold of the subtree.
  I7  inner: at the root, it is the fold of all but the first and the last child.
  I8  left: on the left spine, it is the fold of the subtree of the root's first child without the
      node's own first child.
  I9  right: on the right spine, it is the fold of the subtree of the root's last child without the
      node's own last child.

Cost in combines, where d is the distance to the nearer end: query takes at most 2. insert and evict
take amortised O(log d), worst O(log n). A range query takes O(log d_since + log d_until + log of
its length). bulk_evict of m takes amortised O(log m), worst O(log n). bulk_insert of m takes
amortised O(log d + m (1 + log(1 + d / m))). n states, and one more per node. len counts the entries
one by one, because the papers keep no counts.

Paper: Tangwongsan, Hirzel, Schneider, "Optimal and General Out-of-Order Sliding-Window
Aggregation", and "Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and
Insertions", sections 4 and 5. Moves and merges of single evictions prefer the left sibling.
"""

from __future__ import annotations

from slidefold.reference.fiba_evict import BulkEvict
from slidefold.reference.fiba_insert import BulkInsert
from slidefold.reference.protocols import In, Out, S


class Fiba(BulkEvict[In, S, Out], BulkInsert[In, S, Out]):
    """A window for late values, retractions and bursts; min_arity is 2 as in the papers' figures.

    >>> from slidefold.reference.operators import Concat
    >>> window = Fiba(Concat())
    >>> for time in (1, 2, 4, 5, 3):
    ...     window.insert(time, "-abcde"[time])
    >>> window.query(), window.query(2, 4), len(window), window.oldest, window.youngest
    ('abcde', 'bcd', 5, 1, 5)
    >>> window.evict(4), window.evict(4)
    (True, False)
    >>> window.bulk_insert([9, 7, 7], "igh")
    >>> window.bulk_evict(2)
    >>> list(window)
    [(3, 'c'), (5, 'e'), (7, 'gh'), (9, 'i')]
    """
