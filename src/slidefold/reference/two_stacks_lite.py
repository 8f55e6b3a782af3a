"""TwoStacksLite: TwoStacks in one queue, with one state per value.

Layout: a queue with a boundary B. The front list is left of B, the back list right of it. One
additional state is the aggregate of the back list.

Invariants (v is the window, f the size of the front list):
  I1  len is the number of values inserted and not evicted.
  I2  F <= B <= E.
  I3  the front slot of v[i] holds v[i] * ... * v[f-1].
  I4  the back slot of v[i] holds v[i].
  I5  agg_b is v[f] * ... * v[n-1].

Cost: query takes 1 combine, insert 1, evict at most n - 1 (a flip) and amortised 1; n + 1 states.

Paper: Tangwongsan, Hirzel, Schneider, "In-Order Sliding-Window Aggregation in Worst-Case Constant
Time", section 4.
"""

from __future__ import annotations

from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Operator, Out, S, fold, suffixes
from slidefold.reference.storage import ChunkedQueue


class TwoStacksLite(Aggregator[In, S, Out]):
    """One queue; each front slot holds the aggregate from there to the boundary.

    >>> from slidefold.reference.operators import Concat
    >>> window = TwoStacksLite(Concat())
    >>> for letter in "abc":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.insert("d")
    >>> list(window.queue), window.agg_b
    (['bc', 'c', 'd'], 'd')
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        super().__init__(op)
        self.queue: ChunkedQueue[S] = ChunkedQueue()
        self.boundary = 0
        self.agg_b = op.identity()

    def __len__(self) -> int:
        return len(self.queue)

    def insert(self, value: In) -> None:
        """Add a value: 1 combine."""
        lifted = self.op.lift(value)
        self.agg_b = self.op.combine(self.agg_b, lifted)
        self.queue.push_back(lifted)
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value: at most n - 1 combines, amortised 1."""
        self._refuse_empty()
        if self.queue.front == self.boundary:
            self._flip()
        self.queue.pop_front()
        self._shadow.popleft()

    def states_kept(self) -> int:
        """Return the number of states kept: n + 1."""
        return len(self.queue) + 1

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        ordered = self.queue.front <= self.boundary <= self.queue.back
        self._hold(2, ordered, "the boundary is outside the queue")
        middle = self.boundary - self.queue.front
        stored, values, slack = list(self.queue), list(self._shadow), self._slack()
        front = suffixes(self.op, values[:middle])
        self._hold_states(3, stored[:middle], front, slack, "a front slot is wrong")
        self._hold_states(4, stored[middle:], values[middle:], 0.0, "a back slot is wrong")
        self._hold_states(
            5, [self.agg_b], [fold(self.op, values[middle:])], slack, "agg_b is wrong"
        )

    def _aggregate(self) -> S:
        return self.op.combine(self._front(), self.agg_b)

    def _front(self) -> S:
        """Return the aggregate of the front list."""
        empty = self.queue.front == self.boundary
        return self.op.identity() if empty else self.queue[self.queue.front]

    def _flip(self) -> None:
        """Turn the back list into the front list, aggregated from each slot to the end."""
        aggregates = suffixes(self.op, list(self.queue))
        for position, state in enumerate(aggregates, self.queue.front):
            self.queue[position] = state
        self.boundary = self.queue.back
        self.agg_b = self.op.identity()
