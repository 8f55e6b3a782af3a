"""BInt: aggregates of base intervals, which are aligned runs of 2^k values.

Layout: values have positions, the first one 0. The base interval (k, j) covers the positions from
j * 2^k to (j + 1) * 2^k - 1. Level k is a queue of the aggregates of the intervals that lie in the
window, oldest first. Level 0 holds the values. A query cuts the window into the fewest base
intervals, which grow and then shrink, and combines them from old to young.

Invariants (v is the window by position, F its first and E its end position):
  I1  len is the number of values inserted and not evicted.
  I2  level k holds the intervals (k, j) with F <= j * 2^k and (j + 1) * 2^k <= E.
  I3  the interval (k, j) holds v[j * 2^k] * ... * v[(j + 1) * 2^k - 1].

Cost: query takes at most 2 log2 n combines. Insert takes amortised less than 1, at most log2 n: a
value completes an interval on each level whose size divides its position. Evict takes none. Fewer
than 2n states.

Paper: Arasu, Widom, "Resource Sharing in Continuous Sliding-Window Aggregates" (VLDB 2004), as
Tangwongsan, Hirzel, Schneider, Wu describe it in "General Incremental Sliding-Window Aggregation",
sections 6.2 and 7. Their windows have a fixed size; here the levels grow and shrink.
"""

from __future__ import annotations

from collections import deque
from typing import Self

from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Operator, Out, S, fold


class BInt(Aggregator[In, S, Out]):
    """The aggregates of aligned runs of 2^k values.

    >>> from slidefold.reference.operators import Concat
    >>> window = BInt(Concat())
    >>> for letter in "abcdef":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.query(), [list(level) for level in window.levels]
    ('bcdef', [['b', 'c', 'd', 'e', 'f'], ['cd', 'ef'], []])
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        super().__init__(op)
        self.levels: list[deque[S]] = [deque()]
        self.front = self.end = 0

    def __len__(self) -> int:
        return self.end - self.front

    def insert(self, value: In) -> None:
        """Add a value: at most log2 n combines, amortised less than 1."""
        lifted = self.op.lift(value)
        completed = [lifted]
        level = 0
        while (self.end >> level) % 2 and (self.end >> level) - 1 << level >= self.front:
            completed.append(self.op.combine(self.levels[level][-1], completed[-1]))
            level += 1
        while len(self.levels) < len(completed):
            self.levels.append(deque())
        for queue, state in zip(self.levels, completed, strict=False):
            queue.append(state)
        self.end += 1
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value and the intervals that begin with it: no combine."""
        self._refuse_empty()
        for level, queue in enumerate(self.levels):
            if self.front % 2**level or not queue:
                break
            queue.popleft()
        self.front += 1
        self._shadow.popleft()

    def copy(self) -> Self:
        """Return an independent copy of the window, with levels of its own."""
        twin = super().copy()
        twin.levels = [deque(level) for level in self.levels]
        return twin

    def states_kept(self) -> int:
        """Return the number of states kept: fewer than 2n."""
        return sum(map(len, self.levels))

    def intervals(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the fewest base intervals (level, number) that make up start..end, oldest first.

        >>> from slidefold.reference.operators import Sum
        >>> BInt(Sum()).intervals(3, 14)
        [(0, 3), (2, 1), (2, 2), (1, 6)]
        """
        found = []
        while start < end:
            level = 0
            while start % 2 ** (level + 1) == 0 and start + 2 ** (level + 1) <= end:
                level += 1
            found.append((level, start >> level))
            start += 2**level
        return found

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        values, slack = list(self._shadow), self._slack()
        for level in range(max(len(self.levels), len(self).bit_length())):
            queue = list(self.levels[level]) if level < len(self.levels) else []
            first, last = self._first(level), self.end >> level
            count = max(last - first, 0)
            self._hold(2, len(queue) == count, f"level {level} has {len(queue)} intervals")
            starts = [(first + i << level) - self.front for i in range(count)]
            expected = [fold(self.op, values[start : start + 2**level]) for start in starts]
            self._hold_states(3, queue, expected, slack, f"an interval of level {level} is wrong")

    def _first(self, level: int) -> int:
        """Return the number of the first interval of a level that begins in the window."""
        return -(-self.front >> level)

    def _aggregate(self) -> S:
        states = [
            self.levels[level][number - self._first(level)]
            for level, number in self.intervals(self.front, self.end)
        ]
        return fold(self.op, states)
