"""DabaLite: Daba with one state per value and two additional states.

Layout: a queue of states and six positions F <= L <= R <= A <= B <= E, as in Daba. agg_ra is the
aggregate of R..B while a flip is in progress. agg_b is the aggregate of B..E.

Invariants (v is the window; list indices are relative to F):
  I1  len is the number of values inserted and not evicted.
  I2  F <= L <= R <= A <= B <= E.
  I3  F..L: slot i holds v[i] * ... * v[B-1].
  I4  L..R: slot i holds v[i] * ... * v[R-1].
  I5  R..A: slot i holds v[i].
  I6  L = R, or agg_ra is v[R] * ... * v[B-1].
  I7  A..B: slot i holds v[i] * ... * v[B-1].
  I8  B..E: slot i holds v[i].
  I9  agg_b is v[B] * ... * v[E-1].
  I10 the window is empty, or |L..R| + |R..A| + |A..B| + 1 = |F..B| - |B..E| and |L..R| = |R..A|.

Cost: query takes 1 combine, insert at most 3, evict at most 2. Over a whole flip cycle, an insert
and an evict together take 3 on average. n + 2 states.

Paper: Tangwongsan, Hirzel, Schneider, "In-Order Sliding-Window Aggregation in Worst-Case Constant
Time", section 6.
"""

from __future__ import annotations

from slidefold.reference.daba import SixPointers
from slidefold.reference.protocols import In, Operator, Out, S, fold, suffixes
from slidefold.reference.storage import ChunkedQueue


class DabaLite(SixPointers[In, S, Out]):
    """A queue of states that are reversed one step at a time.

    >>> from slidefold.reference.operators import Concat
    >>> window = DabaLite(Concat())
    >>> for letter in "abcde":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.query()
    'bcde'
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        super().__init__(op)
        self.queue: ChunkedQueue[S] = ChunkedQueue()
        self.agg_ra = op.identity()
        self.agg_b = op.identity()

    def insert(self, value: In) -> None:
        """Add a value: at most 3 combines."""
        lifted = self.op.lift(value)
        with self._all_or_nothing():
            self.queue.push_back(lifted)
            self._move(E=self.at.E + 1)
            self.agg_b = self.op.combine(self.agg_b, lifted)
            self._fixup()
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value: at most 2 combines."""
        self._refuse_empty()
        with self._all_or_nothing():
            self._move(F=self.at.F + 1)
            self._fixup()
        self.queue.pop_front()
        self._shadow.popleft()

    def states_kept(self) -> int:
        """Return the number of states kept: n + 2."""
        return len(self.queue) + 2

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        self._hold_order(2)
        values, stored, slack, op = list(self._shadow), list(self.queue), self._slack(), self.op
        front, left, right, acc, back = self._sublists()
        to_b = suffixes(op, values[: back.start])
        expected = [
            (3, front, to_b[front], "F..L"),
            (4, left, suffixes(op, values[left]), "L..R"),
            (5, right, values[right], "R..A"),
            (7, acc, to_b[acc], "A..B"),
            (8, back, values[back], "B..E"),
        ]
        for number, part, states, name in expected:
            self._hold_states(number, stored[part], states, slack, f"a slot of {name} is wrong")
        if self.at.L != self.at.R:
            whole = fold(op, values[right.start : back.start])
            self._hold_states(6, [self.agg_ra], [whole], slack, "agg_ra is wrong")
        self._hold_states(9, [self.agg_b], [fold(op, values[back])], slack, "agg_b is wrong")
        self._hold_sizes(10)

    def _aggregate(self) -> S:
        return self.op.combine(self._front(), self.agg_b)

    def _front(self) -> S:
        return self.queue[self.at.F] if self.at.F != self.at.B else self.op.identity()

    def _left(self) -> S:
        return self.queue[self.at.L] if self.at.L != self.at.R else self.op.identity()

    def _accumulator(self) -> S:
        return self.queue[self.at.A] if self.at.A != self.at.B else self.op.identity()

    def _fixup(self) -> None:
        end = self.at.E
        if self.at.F == self.at.B:  # singleton
            self._move(L=end, R=end, A=end, B=end)
            self.agg_ra = self.op.identity()
            self.agg_b = self.op.identity()
            return
        if self.at.L == self.at.B:  # flip
            self._move(L=self.at.F, A=end, B=end)
            self.agg_ra = self.agg_b
            self.agg_b = self.op.identity()
        if self.at.L == self.at.R:  # shift
            self._move(L=self.at.L + 1, R=self.at.R + 1, A=self.at.A + 1)
        else:
            self._shrink()

    def _shrink(self) -> None:
        """Move one slot from L..R to F..L, and one from R..A to A..B."""
        to_front = self.op.combine(self._left(), self.agg_ra)
        to_accumulator = self.op.combine(self.queue[self.at.A - 1], self._accumulator())
        self.queue[self.at.L] = to_front
        self.queue[self.at.A - 1] = to_accumulator
        self._move(L=self.at.L + 1, A=self.at.A - 1)
