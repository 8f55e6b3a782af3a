"""SubtractOnEvict: keep one running aggregate, and subtract each value that is evicted.

Layout: a queue of the lifted values, oldest first, and their aggregate.

Invariants:
  I1  len is the number of values inserted and not evicted.
  I2  the i-th item of the queue is the i-th oldest lifted value.
  I3  the running aggregate is the fold of the queue; it is the identity when the queue is empty.

Cost: query takes no combine, insert 1 combine, evict 1 remove; n + 1 states.

The operator must be invertible: remove(combine(a, b), a) == b. A float sum is not, because rounding
breaks that law: after a 1e16 has left the window, its rounding errors would remain.

Paper: Tangwongsan, Hirzel, Schneider, "In-Order Sliding-Window Aggregation in Worst-Case Constant
Time", section 8.3.
"""

from __future__ import annotations

from collections import deque
from typing import cast

from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Invertible, Operator, Out, S, fold, require


class SubtractOnEvict(Aggregator[In, S, Out]):
    """Keep one running aggregate, and subtract each value that is evicted.

    >>> from slidefold.reference.operators import Concat
    >>> window = SubtractOnEvict(Concat())
    >>> for letter in "abc":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.query()
    'bc'
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        require(op, "remove", "SubtractOnEvict", "an invertible")
        super().__init__(op)
        self._invertible = cast("Invertible[In, S, Out]", op)
        self.values: deque[S] = deque()
        self.running = op.identity()

    def __len__(self) -> int:
        return len(self.values)

    def insert(self, value: In) -> None:
        """Add a value: 1 combine."""
        lifted = self.op.lift(value)
        self.running = self.op.combine(self.running, lifted)
        self.values.append(lifted)
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value: 1 remove."""
        self._refuse_empty()
        last = len(self.values) == 1
        oldest = self.values[0]
        self.running = self.op.identity() if last else self._invertible.remove(self.running, oldest)
        self.values.popleft()
        self._shadow.popleft()

    def states_kept(self) -> int:
        """Return the number of states kept: n + 1."""
        return len(self.values) + 1

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        self._hold_states(2, self.values, self._shadow, 0.0, "a stored value is not the lifted one")
        whole = fold(self.op, self._shadow)
        self._hold_states(
            3, [self.running], [whole], self._slack(), "the running aggregate is wrong"
        )

    def _aggregate(self) -> S:
        return self.running
