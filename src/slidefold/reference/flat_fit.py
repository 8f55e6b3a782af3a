"""FlatFit: skip over stretches that an earlier query has already folded.

Layout: a queue of slots. A slot holds the aggregate of a stretch that starts at the slot's own
position, and the position where that stretch ends. A query hops from the oldest slot from end to
end and pushes its hops on a stack. On the way back it extends the stretch of each visited slot to
the end of the window.

Invariants (v is the window by position, F its first and E its end position):
  I1  len is the number of values inserted and not evicted.
  I2  the slot at p ends at some q with p < q <= E.
  I3  the slot at p holds v[p] * ... * v[q-1].

Cost: insert and evict take no combine. Query takes at most n - 1 combines, and amortised 3 if the
window slides by one value and is queried each time: one query in n + 1 walks the whole window, and
the others take at most 2. n states, n ends, and the stack of a query.

Paper: described without pseudocode in Zhang, Akbarinia, Toumani, "Efficient Incremental Computation
of Aggregations over Sliding Windows", section 3.1, and Tangwongsan, Hirzel, Schneider, "In-Order
Sliding-Window Aggregation in Worst-Case Constant Time", sections 7 and 8.1. The algorithm is by
Shein, Chrysanthis, Labrinidis (2017).
"""

from __future__ import annotations

from typing import Generic, NamedTuple

from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Operator, Out, S, fold
from slidefold.reference.storage import ChunkedQueue


class Stretch(NamedTuple, Generic[S]):
    """The aggregate from a slot's own position up to `end`, excluded."""

    agg: S
    end: int


class FlatFit(Aggregator[In, S, Out]):
    """A queue of slots whose stretches are extended by each query.

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
