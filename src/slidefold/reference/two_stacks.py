"""TwoStacks: a queue made of two stacks, where each item has the aggregate of the items below it.

Layout: the front stack holds the older values, with the oldest on top. The back stack holds the
newer values, with the newest on top. An item is a lifted value and an aggregate.

Invariants (v is the window, f the size of the front stack):
  I1  len is the number of values inserted and not evicted.
  I2  the values of the front stack, from its top, are v[0], ..., v[f-1].
  I3  the aggregate of the front item of v[i] is v[i] * ... * v[f-1].
  I4  the values of the back stack, from its bottom, are v[f], ..., v[n-1].
  I5  the aggregate of the back item of v[i] is v[f] * ... * v[i].

Cost: query takes 1 combine, insert 1, evict at most n (a flip) and amortised 1; 2n states.

Paper: Tangwongsan, Hirzel, Schneider, "In-Order Sliding-Window Aggregation in Worst-Case Constant
Time", section 3.
"""

from __future__ import annotations

from typing import Generic, NamedTuple

from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Operator, Out, S, prefixes, suffixes


class Item(NamedTuple, Generic[S]):
    """A lifted value, and the aggregate of it and all values below it in the same stack."""

    val: S
    agg: S


class TwoStacks(Aggregator[In, S, Out]):
    """Push on the back stack, pop from the front stack, flip when the front is empty.

    >>> from slidefold.reference.operators import Concat
    >>> window = TwoStacks(Concat())
    >>> for letter in "abc":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.query(), [item.agg for item in window.front]
    ('bc', ['c', 'bc'])
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        super().__init__(op)
        self.front: list[Item[S]] = []
        self.back: list[Item[S]] = []

    def __len__(self) -> int:
        return len(self.front) + len(self.back)

    def insert(self, value: In) -> None:
        """Add a value: 1 combine."""
        lifted = self.op.lift(value)
        self.back.append(Item(lifted, self.op.combine(self._top(self.back), lifted)))
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value: at most n combines, amortised 1."""
        self._refuse_empty()
        if not self.front:
            self._flip()
        self.front.pop()
        self._shadow.popleft()

    def states_kept(self) -> int:
        """Return the number of states kept: 2n."""
        return 2 * len(self)

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        values, slack, middle = list(self._shadow), self._slack(), len(self.front)
        older, newer = values[:middle], values[middle:]
        front = self.front[::-1]
        self._hold_states(2, [i.val for i in front], older, 0.0, "a front value is wrong")
        self._hold_states(
            3, [i.agg for i in front], suffixes(self.op, older), slack, "a front aggregate is wrong"
        )
        self._hold_states(4, [i.val for i in self.back], newer, 0.0, "a back value is wrong")
        self._hold_states(
            5,
            [i.agg for i in self.back],
            prefixes(self.op, newer),
            slack,
            "a back aggregate is wrong",
        )

    def _aggregate(self) -> S:
        return self.op.combine(self._top(self.front), self._top(self.back))

    def _top(self, stack: list[Item[S]]) -> S:
        """Return the aggregate of a whole stack."""
        return stack[-1].agg if stack else self.op.identity()

    def _flip(self) -> None:
        """Move the back stack onto the empty front stack, which reverses its aggregates."""
        front: list[Item[S]] = []
        for item in reversed(self.back):
            front.append(Item(item.val, self.op.combine(item.val, self._top(front))))
        self.front, self.back = front, []
