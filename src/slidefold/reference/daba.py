"""Daba: TwoStacks with the flip spread over the operations before its result is needed.

Layout: a queue of items, each a lifted value and an aggregate, and six positions F <= L <= R <= A
<= B <= E. The front list F..B holds the older values, the back list B..E the newer ones. The lists
L..R, R..A and A..B are inside the front list. Each insert or evict does one step of the last flip
in them.

Invariants (v is the window; list indices are relative to F):
  I1  len is the number of values inserted and not evicted.
  I2  F <= L <= R <= A <= B <= E.
  I3  the value of item i is v[i].
  I4  F..L: the aggregate of item i is v[i] * ... * v[B-1].
  I5  L..R: it is v[i] * ... * v[R-1].
  I6  R..A: it is v[R] * ... * v[i].
  I7  A..B: it is v[i] * ... * v[B-1].
  I8  B..E: it is v[B] * ... * v[i].
  I9  the window is empty, or |L..R| + |R..A| + |A..B| + 1 = |F..B| - |B..E| and |L..R| = |R..A|.

Cost: query takes 1 combine, insert at most 4, evict at most 3. Over a whole flip cycle, an insert
and an evict together take 4 on average. 2n states.

Paper: Tangwongsan, Hirzel, Schneider, "In-Order Sliding-Window Aggregation in Worst-Case Constant
Time", section 5.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

from slidefold.reference.base import Aggregator
from slidefold.reference.protocols import In, Operator, Out, S, prefixes, suffixes
from slidefold.reference.storage import ChunkedQueue
from slidefold.reference.two_stacks import Item


class Pointers(NamedTuple):
    """The boundaries of the sublists, as positions in the queue."""

    F: int = 0
    L: int = 0
    R: int = 0
    A: int = 0
    B: int = 0
    E: int = 0


class SixPointers(Aggregator[In, S, Out]):
    """Base class of Daba and DabaLite: the six positions and their size invariants."""

    queue: ChunkedQueue[Any]

    def __init__(self, op: Operator[In, S, Out]) -> None:
        super().__init__(op)
        self.at = Pointers()

    def __len__(self) -> int:
        return self.at.E - self.at.F

    @abstractmethod
    def _fixup(self) -> None:
        """Do one step of the reversal after F or E moved."""

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """If an operator raises inside, restore every field and remove the items just pushed."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).update(before)
            while self.queue.back > self.at.E:
                self.queue.pop_back()
            raise

    def _move(self, **to: int) -> None:
        self.at = self.at._replace(**to)

    def _sublists(self) -> tuple[slice, slice, slice, slice, slice]:
        """Return F..L, L..R, R..A, A..B and B..E, relative to F."""
        cuts = [position - self.at.F for position in self.at]
        f_l, l_r, r_a, a_b, b_e = (slice(*cut) for cut in pairwise(cuts))
        return f_l, l_r, r_a, a_b, b_e

    def _hold_order(self, number: int) -> None:
        self._hold(
            number, list(self.at) == sorted(self.at), f"the pointers are out of order: {self.at}"
        )

    def _hold_sizes(self, number: int) -> None:
        at = self.at
        inner = (at.R - at.L) + (at.A - at.R) + (at.B - at.A)
        balanced = inner + 1 == (at.B - at.F) - (at.E - at.B) and at.R - at.L == at.A - at.R
        self._hold(
            number, at.F == at.E or balanced, f"the sizes of the lists do not match: {self.at}"
        )


class Daba(SixPointers[In, S, Out]):
    """A queue with aggregates that are reversed one step at a time.

    >>> from slidefold.reference.operators import Concat
    >>> window = Daba(Concat())
    >>> for letter in "abcde":
    ...     window.insert(letter)
    >>> window.evict()
    >>> window.query()
    'bcde'
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        super().__init__(op)
        self.queue: ChunkedQueue[Item[S]] = ChunkedQueue()

    def insert(self, value: In) -> None:
        """Add a value: at most 4 combines."""
        lifted = self.op.lift(value)
        with self._all_or_nothing():
            self.queue.push_back(Item(lifted, self.op.combine(self._back(), lifted)))
            self._move(E=self.at.E + 1)
            self._fixup()
        self._shadow.append(lifted)

    def evict(self) -> None:
        """Drop the oldest value: at most 3 combines."""
        self._refuse_empty()
        with self._all_or_nothing():
            self._move(F=self.at.F + 1)
            self._fixup()
        self.queue.pop_front()
        self._shadow.popleft()

    def states_kept(self) -> int:
        """Return the number of states kept: 2n."""
        return 2 * len(self.queue)

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        self._hold_length(1)
        self._hold_order(2)
        values, slack, op = list(self._shadow), self._slack(), self.op
        aggs = [item.agg for item in self.queue]
        front, left, right, acc, back = self._sublists()
        to_b = suffixes(op, values[: back.start])
        expected = [
            (4, front, to_b[front], "F..L"),
            (5, left, suffixes(op, values[left]), "L..R"),
            (6, right, prefixes(op, values[right]), "R..A"),
            (7, acc, to_b[acc], "A..B"),
            (8, back, prefixes(op, values[back]), "B..E"),
        ]
        self._hold_states(3, [item.val for item in self.queue], values, 0.0, "a value is wrong")
        for number, part, states, name in expected:
            sentence = f"an aggregate of {name} is wrong"
            self._hold_states(number, aggs[part], states, slack, sentence)
        self._hold_sizes(9)

    def _aggregate(self) -> S:
        return self.op.combine(self._front(), self._back())

    def _front(self) -> S:
        return self.queue[self.at.F].agg if self.at.F != self.at.B else self.op.identity()

    def _back(self) -> S:
        return self.queue[self.at.E - 1].agg if self.at.B != self.at.E else self.op.identity()

    def _left(self) -> S:
        return self.queue[self.at.L].agg if self.at.L != self.at.R else self.op.identity()

    def _right(self) -> S:
        return self.queue[self.at.A - 1].agg if self.at.R != self.at.A else self.op.identity()

    def _accumulator(self) -> S:
        return self.queue[self.at.A].agg if self.at.A != self.at.B else self.op.identity()

    def _fixup(self) -> None:
        end = self.at.E
        if self.at.F == self.at.B:  # singleton
            self._move(L=end, R=end, A=end, B=end)
            return
        if self.at.L == self.at.B:  # flip
            self._move(L=self.at.F, A=end, B=end)
        if self.at.L == self.at.R:  # shift
            self._move(L=self.at.L + 1, R=self.at.R + 1, A=self.at.A + 1)
        else:
            self._shrink()

    def _shrink(self) -> None:
        """Move one item from L..R to F..L, and one from R..A to A..B."""
        left, right = self.queue[self.at.L], self.queue[self.at.A - 1]
        inner = self.op.combine(self._left(), self._right())
        to_front = self.op.combine(inner, self._accumulator())
        to_accumulator = self.op.combine(right.val, self._accumulator())
        self.queue[self.at.L] = Item(left.val, to_front)
        self.queue[self.at.A - 1] = Item(right.val, to_accumulator)
        self._move(L=self.at.L + 1, A=self.at.A - 1)
