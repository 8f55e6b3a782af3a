"""Recalc: fold the whole window again for each query. It is so simple that it is the oracle.

Layout: a queue of the lifted values, oldest first.

Invariants:
  I1  len is the number of values inserted and not evicted.
  I2  the i-th item of the queue is the i-th oldest lifted value.

Cost: query takes n - 1 combines, insert and evict none; n states.

Paper: Tangwongsan, Hirzel, Schneider, "In-Order Sliding-Window Aggregation in Worst-Case Constant
Time", section 8.1 (recalculate-from-scratch).
"""

from __future__ import annotations

from collections import deque

from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Operator, Out, S, fold


class Recalc(Aggregator[In, S, Out]):
    """Fold the whole window again for each query.

    >>> from slidefold.reference.operators import Max
    >>> window = Recalc(Max())
    >>> window.insert(5)
    >>> window.insert(3)
    >>> window.evict()
    >>> window.query()
    3
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        super().__init__(op)
        self.values: deque[S] = deque()

    def __len__(self) -> int:
        return len(self.values)

    def insert(self, value: In) -> None:
        """Add a value: no combine."""
        lifted = self.op.lift(value)
        self.values.append(lifted)
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value: no combine."""
        self._refuse_empty()
        self.values.popleft()
        self._shadow.popleft()

    def states_kept(self) -> int:
        """Return the number of states kept: n."""
        return len(self.values)

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        self._hold_states(2, self.values, self._shadow, 0.0, "a stored value is not the lifted one")

    def _aggregate(self) -> S:
        return fold(self.op, self.values)
