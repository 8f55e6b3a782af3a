"""Sba and Pba: windows of a fixed number of rows that slide by a fixed number of rows.

Layout: values are folded into slices of `slide` rows as they arrive; a Boundary merges the slices
into windows. If range is not a multiple of slide, a window consists of N = range // slide whole
slices and the last range % slide rows of the slice before them. The aggregate of these last rows is
kept as the tail of each slice.

Invariants:
  I1  seen is the number of values so far, and fill = seen % slide of them are in the open slice.
  I2  part is the aggregate of the open slice, tail that of its rows from slide - range % slide on.
  I3  the Boundary's own invariants hold, for the slices of the values so far.
  I4  the last window is the aggregate of the `range` values before the last slide boundary.

Cost: slide - 1 combines for a slice (and range % slide - 1 for its tail), and at its end at most 3,
or 4 if range is not a multiple of slide. At the end of a chunk Sba takes chunk - 2 more; Pba does
them on a second thread.

Paper: Zhang, Akbarinia, Toumani, "Efficient Incremental Computation of Aggregations over Sliding
Windows", sections 2.2 and 4.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from typing import ClassVar, Generic, Self

from slidefold.reference.agreement import tolerance
from slidefold.reference.base import Checked
from slidefold.reference.boundary import (
    Boundary,
    Step,
    optimal_chunk_rows,
    require_integers,
    slices_in,
)
from slidefold.reference.over_time import OverTime
from slidefold.reference.protocols import In, Operator, Out, S, fold


class Sba(Checked, Generic[In, S, Out]):
    """The sequential boundary aggregator, W[range, slide].

    After the first `range` values, `push` returns the result at each multiple of `slide`, and None
    otherwise.

    >>> from slidefold.reference.operators import Max
    >>> window = Sba(Max(), range=4, slide=2)
    >>> [window.push(number) for number in (5, 4, 6, 3, 0, 1, 7)]
    [None, None, None, 6, None, 6, None]
    >>> window.query()
    6
    """

    threaded: ClassVar[bool] = False

    def __init__(
        self, op: Operator[In, S, Out], range: int, slide: int = 1, chunk: int | None = None
    ) -> None:
        require_integers(range=range, slide=slide)
        self.op = op
        self.range_rows = range
        self.slide_rows = slide
        self.tail_rows = range % slide if slide > 0 else 0
        best = optimal_chunk_rows(range, slide)
        self.chunk = best if chunk is None else chunk
        self.core: Boundary[In, S, Out] = Boundary(
            op,
            slices_in(range, slide),
            self.chunk,
            tails=self.tail_rows > 0,
            threaded=self.threaded,
        )
        self.seen = 0
        self.part = op.identity()
        self.tail = op.identity()
        self.last: Step[In, S, Out] | None = None
        self._shadow: deque[S] = deque()

    @classmethod
    def over_time(
        cls,
        op: Operator[In, S, Out],
        range: int,
        slide: int,
        combine_time: float,
        chunk: int | None = None,
    ) -> OverTime[In, S, Out]:
        """Return an aggregator for time windows: [end - range, end) for each multiple of slide."""
        return OverTime(op, range, slide, combine_time, chunk, threaded=cls.threaded)

    def __len__(self) -> int:
        return min(self.seen, self.range_rows)

    def push(self, value: In) -> Out | None:
        """Add a value; return the result of the window that it completes, or None."""
        lifted = self.op.lift(value)
        part, tail = self._extended(lifted)
        result: Out | None = None
        seen = self.seen + 1
        if seen % self.slide_rows == 0:
            step = self.core.prepare(part, tail)
            if seen >= self.range_rows:
                result = self.op.lower(step.window)
            self.core.commit(step)
            self.last = step
            part = tail = self.op.identity()
        self.seen, self.part, self.tail = seen, part, tail
        self._remember(lifted)
        return result

    def insert(self, value: In) -> None:
        """Add a value."""
        self.push(value)

    def query(self) -> Out | None:
        """Return the result of the last complete window, or None before the first."""
        if self.last is None or not self._full():
            return None
        return self.op.lower(self.last.window)

    def sub_aggregates(self) -> list[S]:
        """Return the states that were merged into the last window: tail, lcs, ca ..., csa."""
        return list(self.last.parts) if self.last else []

    def slide(self, values: Iterable[In], window: int | None = None) -> list[Out | None]:
        """Run a new window over the values and return the result at each slide boundary.

        The first results cover windows that are not yet full. `window` replaces the range.

        >>> from slidefold.reference.operators import Concat
        >>> Sba(Concat(), 3).slide("abcde")
        ['a', 'ab', 'abc', 'bcd', 'cde']
        """
        if window is None:
            moving = type(self)(self.op, self.range_rows, self.slide_rows, self.chunk)
        else:
            moving = type(self)(self.op, window, self.slide_rows)
        results: list[Out | None] = []
        for value in values:
            moving.insert(value)
            if moving.last is not None and moving.seen % moving.slide_rows == 0:
                results.append(self.op.lower(moving.last.window))
        return results

    def copy(self) -> Self:
        """Return an independent copy of the window."""
        twin = copy.copy(self)
        twin.core = self.core.copy()
        twin._shadow = self._shadow.copy()
        return twin

    def states_kept(self) -> int:
        """Return the number of partial aggregates: those of the Boundary, and the open slice."""
        return self.core.states_kept() + 1

    def check(self) -> None:
        """Verify each numbered invariant; raise InvariantError for the first broken one."""
        op, s, fill = self.op, self.slide_rows, self.seen % self.slide_rows
        values, slack = list(self._shadow), tolerance(self.op, self._shadow)
        begin = self.seen - len(values)
        self._hold(
            1, self.core.count == self.seen // s, f"{self.core.count} slices for {self.seen} values"
        )
        open_slice = values[len(values) - fill :]
        tail = open_slice[s - self.tail_rows :] if self.tail_rows else []
        expected = [fold(op, open_slice), fold(op, tail)]
        self._hold_states(2, [self.part, self.tail], expected, slack, "the open slice is wrong")

        def between(start: int, stop: int) -> S:
            return fold(op, values[start - begin : stop - begin])

        self.core.check_with(
            lambda i, j: between(i * s, j * s),
            lambda i: between(i * s + s - self.tail_rows, i * s + s),
            slack,
        )
        if self.last is not None:
            end = self.seen - fill
            window = between(max(0, end - self.range_rows), end)
            self._hold_states(4, [self.last.window], [window], slack, "the last window is wrong")

    def _extended(self, lifted: S) -> tuple[S, S]:
        """Return part and tail with one more value."""
        fill = self.seen % self.slide_rows
        begun = fill - (self.slide_rows - self.tail_rows)  # rows in the tail so far, if >= 0
        part = self.op.combine(self.part, lifted) if fill else lifted
        if begun < 0 or not self.tail_rows:
            return part, self.tail
        return part, self.op.combine(self.tail, lifted) if begun else lifted

    def _full(self) -> bool:
        return self.core.count * self.slide_rows >= self.range_rows

    def _remember(self, lifted: S) -> None:
        """Keep the values that `check` needs: those of the chunks, and one slice for the tail."""
        self._shadow.append(lifted)
        slices = self.core.slices + self.core.chunk + 1
        while len(self._shadow) > (slices + 1) * self.slide_rows:
            self._shadow.popleft()


class Pba(Sba[In, S, Out]):
    """The parallel boundary aggregator: Sba with the lcs of each chunk built on a second thread.

    The results do not depend on the threads. Both threads call the operator.

    >>> from slidefold.reference.operators import Concat
    >>> Pba(Concat(), range=5, slide=2).slide("abcdefgh")
    ['ab', 'abcd', 'bcdef', 'defgh']
    """

    threaded: ClassVar[bool] = True
