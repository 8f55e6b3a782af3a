"""FlatFit: skip over stretches that an earlier query has already folded.

Layout: a queue of slots. A slot holds the aggregate of a stretch of the window that begins at the
slot's own position, and the position where that stretch ends. A query hops from the oldest slot
along these ends, remembers its hops on a stack, and on its way back lets each slot it passed reach
to the end of the window.

Invariants (v is the window by position, F its first and E its end position):
  I1  len is the number of values inserted and not evicted.
  I2  the slot at p ends at some q with p < q <= E.
  I3  the slot at p holds v[p] * ... * v[q-1].

Cost: insert and evict none. Query at most n - 1 combines, amortised 3 when every slide of one value
is queried: once in n + 1 slides the query walks all of the window, and in between it takes at most
2. n states, n ends, and the stack of a query.

Paper: described without pseudocode in Zhang, Akbarinia, Toumani, "Efficient Incremental Computation
of Aggregations over Sliding Windows", section 3.1, and Tangwongsan, Hirzel, Schneider, "In-Order
Sliding-Window Aggregation in Worst-Case Constant Time", sections 7 and 8.1. The algorithm is that
of Shein, Chrysanthis, Labrinidis (2017).
"""

from __future__ import annotations

from typing import Generic, NamedTuple

from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Operator, Out, S, fold
from slidefold.reference.storage import ChunkedQueue


class Stretch(NamedTuple, Generic[S]):
    """The aggregate from a slot's own position up to, and without, `end`."""

    agg: S
    end: int


class FlatFit(Aggregator[In, S, Out]):
    """Slots that learn from each query how far they reach.

    >>> from slidefold.reference.operators import Concat
    >>> window = FlatFit(Concat())
    >>> for letter in "abc":
    ...     window.insert(letter)
    >>> window.query()
    'abc'
    >>> [slot.agg for slot in window.queue]
    ['abc', 'bc', 'c']
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        super().__init__(op)
        self.queue: ChunkedQueue[Stretch[S]] = ChunkedQueue()

    def __len__(self) -> int:
        return len(self.queue)

    def insert(self, value: In) -> None:
        """Add a value: no combine."""
        lifted = self.op.lift(value)
        self.queue.push_back(Stretch(lifted, self.queue.back + 1))
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value: no combine."""
        self._refuse_empty()
        self.queue.pop_front()
        self._shadow.popleft()

    def states_kept(self) -> int:
        """Return the number of states kept: n."""
        return len(self.queue)

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        values, slack, front = list(self._shadow), self._slack(), self.queue.front
        for position, slot in enumerate(self.queue, front):
            inside = position < slot.end <= self.queue.back
            self._hold(2, inside, f"the slot at {position} ends at {slot.end}")
            stretch = fold(self.op, values[position - front : slot.end - front])
            self._hold_states(3, [slot.agg], [stretch], slack, f"the slot at {position} is wrong")

    def _aggregate(self) -> S:
        hops: list[int] = []
        position = self.queue.front
        while self.queue[position].end != self.queue.back:
            hops.append(position)
            position = self.queue[position].end
        total = self.queue[position].agg
        for position in reversed(hops):
            total = self.op.combine(self.queue[position].agg, total)
            self.queue[position] = Stretch(total, self.queue.back)
        return total
