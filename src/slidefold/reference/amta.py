"""Amta: a forest of perfect binary trees that shrinks at the old end and grows at the young end.

Layout: the node (k, p) is the aggregate of the 2^k values from position p on, where p is a multiple
of 2^k. It exists from the insert of its last value to the evict of its first. The window is split
at T. A few nodes, from small to large and back to small, cover the values before T. A stack holds,
for each of these nodes, the aggregate from its start to T, with the oldest node on top. The values
from T on have one running aggregate.

Invariants (v is the window by position, F its first and E its end position):
  I1  len is the number of values inserted and not evicted.
  I2  the nodes are exactly those (k, p) with F <= p, p a multiple of 2^k, and p + 2^k <= E.
  I3  the node (k, p) holds v[p] * ... * v[p + 2^k - 1].
  I4  the nodes of the stack, from its top, cover F..T without gaps; F <= T <= E.
  I5  the item that starts at p holds v[p] * ... * v[T-1].
  I6  back is v[T] * ... * v[E-1].

Cost: query takes 1 combine. Insert takes amortised 2, at most 1 + log2 n: as in a binary counter,
half of the inserts complete no pair. Evict takes amortised 1, at most 2 log2 n: a node is split
only once. bulk_evict takes at most 2 log2 n for any m. About 2n states in nodes, and 2 log2 n on
the stack.

Paper: described without pseudocode in Tangwongsan, Hirzel, Schneider, "In-Order Sliding-Window
Aggregation in Worst-Case Constant Time", section 8.1, and "Out-of-Order Sliding-Window Aggregation
with Efficient Bulk Evictions and Insertions", section 2. The algorithm is by Villalba, Berral,
Carrera (2019).
"""

from __future__ import annotations

from typing import Generic, NamedTuple

from slidefold.errors import EmptyWindowError, WindowError
from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Operator, Out, S, fold


class Node(NamedTuple):
    """The height of a perfect tree, and the position of its oldest value."""

    level: int
    start: int

    @property
    def end(self) -> int:
        """Return the position after the newest value."""
        return self.start + (1 << self.level)


class Covered(NamedTuple, Generic[S]):
    """A node on the stack, and the aggregate from its start to T."""

    node: Node
    agg: S


def cover(start: int, end: int) -> list[Node]:
    """Return the fewest nodes that cover start..end, oldest first.

    >>> [node.end - node.start for node in cover(3, 14)]
    [1, 4, 4, 2]
    """
    nodes: list[Node] = []
    while start < end:
        level = 0
        while start % 2 ** (level + 1) == 0 and start + 2 ** (level + 1) <= end:
            level += 1
        nodes.append(Node(level, start))
        start += 2**level
    return nodes


class Amta(Aggregator[In, S, Out]):
    """Perfect trees, with a stack over the older values and one aggregate of the newer values.

    >>> from slidefold.reference.operators import Concat
    >>> window = Amta(Concat())
    >>> for letter in "abcdefgh":
    ...     window.insert(letter)
    >>> window.bulk_evict(3)
    >>> window.query(), [item.agg for item in window.stack]
    ('defgh', ['efgh', 'defgh'])
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        super().__init__(op)
        self.nodes: dict[Node, S] = {}
        self.stack: list[Covered[S]] = []
        self.back = op.identity()
        self.front = self.split = self.end = 0

    def __len__(self) -> int:
        return self.end - self.front

    def insert(self, value: In) -> None:
        """Add a value: at most 1 + log2 n combines, amortised 2."""
        lifted = self.op.lift(value)
        node, state = Node(0, self.end), lifted
        grown = {node: state}
        while node.start % 2 ** (node.level + 1):  # a right child: its parent is complete now
            left = Node(node.level, node.start - 2**node.level)
            if left.start < self.front:
                break
            node, state = Node(node.level + 1, left.start), self.op.combine(self.nodes[left], state)
            grown[node] = state
        self.back = lifted if self.split == self.end else self.op.combine(self.back, lifted)
        self.nodes.update(grown)
        self.end += 1
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value: at most 2 log2 n combines, amortised 1."""
        self._refuse_empty()
        self.bulk_evict(1)

    def bulk_evict(self, m: int) -> None:
        """Drop the m oldest values at once."""
        if m < 0:
            raise WindowError(f"m must be at least 0, got {m}")
        if m > len(self):
            raise EmptyWindowError(f"cannot evict {m} values from a window of {len(self)}")
        if not m:
            return
        front = self.front + m
        if front >= self.split:
            self.stack = self._covered([], front, self.end)
            self.split, self.back = self.end, self.op.identity()
        else:
            self._uncover(front)
        for position in range(self.front, front):
            self._drop_nodes(position)
            self._shadow.popleft()
        self.front = front

    def states_kept(self) -> int:
        """Return the number of states kept: about 2n."""
        return len(self.nodes) + len(self.stack) + 1

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        values, slack = list(self._shadow), self._slack()
        front, split, end = self.front, self.split, self.end

        def between(start: int, stop: int) -> S:
            return fold(self.op, values[start - front : stop - front])

        places = {
            Node(level, start)
            for level in range(len(self).bit_length())
            for start in range(-(-front // 2**level) * 2**level, end - 2**level + 1, 2**level)
        }
        self._hold(2, set(self.nodes) == places, "the nodes are not those of the window")
        for node, state in self.nodes.items():
            expected = [between(node.start, node.end)]
            self._hold_states(3, [state], expected, slack, f"{node} is wrong")
        starts = [item.node.start for item in reversed(self.stack)]
        ends = [item.node.end for item in reversed(self.stack)]
        gapless = [*starts, split] == [front, *ends]
        known = all(item.node in self.nodes for item in self.stack)
        self._hold(4, front <= split <= end and gapless and known, "the stack does not cover F..T")
        for item in self.stack:
            expected = [between(item.node.start, split)]
            self._hold_states(
                5, [item.agg], expected, slack, f"the stack item of {item.node} is wrong"
            )
        self._hold_states(6, [self.back], [between(split, end)], slack, "back is wrong")

    def _aggregate(self) -> S:
        if not self.stack:
            return self.back
        oldest = self.stack[-1].agg
        return oldest if self.split == self.end else self.op.combine(oldest, self.back)

    def _covered(self, stack: list[Covered[S]], start: int, end: int) -> list[Covered[S]]:
        """Return the stack with the nodes of start..end, which directly precede it, on top."""
        stack = list(stack)
        for node in reversed(cover(start, end)):
            state = self.nodes[node]
            stack.append(Covered(node, self.op.combine(state, stack[-1].agg) if stack else state))
        return stack

    def _uncover(self, front: int) -> None:
        """Remove the values before front from the stack; split a node that spans front."""
        keep = len(self.stack)
        while keep and self.stack[keep - 1].node.end <= front:
            keep -= 1
        if keep and self.stack[keep - 1].node.start < front:
            across = self.stack[keep - 1].node
            self.stack = self._covered(self.stack[: keep - 1], front, across.end)
        else:
            del self.stack[keep:]

    def _drop_nodes(self, start: int) -> None:
        """Remove the nodes that start at an evicted position."""
        level = 0
        while Node(level, start) in self.nodes:
            del self.nodes[Node(level, start)]
            level += 1
