"""SlickDeque: keep only the values that can still become the result.

Layout: a deque of candidates, oldest first, each with its position. A new value removes the
candidates at the young end that it beats. The oldest candidate is the aggregate of the window.

Invariants (v is the window by position, F its first and E its end position):
  I1  len is the number of values inserted and not evicted.
  I2  the positions of the candidates increase, the first is >= F, the last is E - 1.
  I3  for each p, v[p] * ... * v[E-1] is the first candidate at or after p.

Cost: query and evict take no comparison. Insert takes at most n comparisons and amortised fewer
than 2, because a candidate is removed only once and each insert loses at most one comparison. At
most n states.

The operator must be selective: combine(x, y) is x or y, and newer_wins(x, y) tells which. The
original also accepts invertible operators; use SubtractOnEvict for those.

Paper: described without pseudocode in Zhang, Akbarinia, Toumani, "Efficient Incremental Computation
of Aggregations over Sliding Windows", section 3.1. The algorithm is by Shein, Chrysanthis,
Labrinidis (2018).
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Generic, NamedTuple, cast

from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Operator, Out, S, Selective, require, suffixes


class Candidate(NamedTuple, Generic[S]):
    """A state that no newer value has beaten."""

    position: int
    state: S


class SlickDeque(Aggregator[In, S, Out]):
    """A deque of the values that no newer value beats.

    >>> from slidefold.reference.operators import Max
    >>> window = SlickDeque(Max())
    >>> for number in (5, 1, 3, 2):
    ...     window.insert(number)
    >>> window.query(), [c.state for c in window.candidates]
    (5, [5, 3, 2])
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        require(op, "newer_wins", "SlickDeque", "a selective")
        super().__init__(op)
        self._selective = cast("Selective[In, S, Out]", op)
        self.candidates: deque[Candidate[S]] = deque()
        self.front = 0
        self.back = 0

    def __len__(self) -> int:
        return self.back - self.front

    def insert(self, value: In) -> None:
        """Add a value: at most n comparisons, amortised fewer than 2."""
        lifted = self.op.lift(value)
        beaten = 0
        for candidate in reversed(self.candidates):
            if not self._selective.newer_wins(candidate.state, lifted):
                break
            beaten += 1
        for _ in range(beaten):
            self.candidates.pop()
        self.candidates.append(Candidate(self.back, lifted))
        self.back += 1
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value: no comparison."""
        self._refuse_empty()
        if self.candidates[0].position == self.front:
            self.candidates.popleft()
        self.front += 1
        self._shadow.popleft()

    def states_kept(self) -> int:
        """Return the number of states kept: at most n."""
        return len(self.candidates)

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        positions = [candidate.position for candidate in self.candidates]
        self._hold(2, all(p < q for p, q in pairwise(positions)), "the candidates are out of order")
        inside = not positions or positions[0] >= self.front
        self._hold(2, inside, "a candidate has left the window")
        newest = positions[-1:] == [self.back - 1] or not len(self)
        self._hold(2, newest, "the newest value is not a candidate")
        best: list[S] = []
        for candidate in self.candidates:
            best.extend([candidate.state] * (candidate.position - self.front + 1 - len(best)))
        expected = suffixes(self.op, list(self._shadow))
        self._hold_states(
            3, best, expected, 0.0, "a candidate is not the aggregate from its position"
        )

    def _aggregate(self) -> S:
        return self.candidates[0].state
