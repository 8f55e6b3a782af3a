"""OverTime: Sba and Pba for time windows, [end - range, end) for each end = m * slide.

Layout: a slice holds the values of [m * slide, (m + 1) * slide); a Boundary merges the slices. A
slice without values is the identity. After a gap that is longer than the range, the Boundary
restarts at the next value, so a gap costs only the windows that it closes.

Invariants:
  I1  time does not go backwards; the open slice contains the last time seen.
  I2  part is the aggregate of the open slice, tail that of its last range % slide units of time.
  I3  the Boundary's own invariants hold, for the slices from `base` on.
  I4  the last reported window is the aggregate of the values in its time range.

Cost: as Sba, for each slice; empty slices inside a range count too.

Paper: Zhang, Akbarinia, Toumani, "Efficient Incremental Computation of Aggregations over Sliding
Windows", section 4.3 (Theorem 2).
"""

from __future__ import annotations

import copy
from collections import deque
from typing import Generic, NamedTuple, Self

from slidefold.errors import TimeOrderError
from slidefold.reference.agreement import tolerance
from slidefold.reference.base import Checked
from slidefold.reference.boundary import (
    Boundary,
    optimal_chunk_time,
    require_integers,
    slices_in,
)
from slidefold.reference.protocols import In, Operator, Out, S, fold


class Closed(NamedTuple, Generic[S]):
    """The end and the state of a reported window."""

    end: int
    state: S


class Plan(NamedTuple, Generic[In, S, Out]):
    """The new fields of an OverTime after moving to a time."""

    core: Boundary[In, S, Out]
    base: int
    part: S
    tail: S
    closed: list[Closed[S]]
    reaches_back: bool  # whether a later window can hold a value seen so far


class OverTime(Checked, Generic[In, S, Out]):
    """Time windows over events in order; times are integers in any unit.

    >>> from slidefold.reference import Sba
    >>> from slidefold.reference.operators import Concat
    >>> window = Sba.over_time(Concat(), range=10, slide=5, combine_time=0)
    >>> window.push(1, "a"), window.push(4, "b"), window.push(7, "c")
    ([], [], [(5, 'ab')])
    >>> window.push(1_000_000_003, "d")
    [(10, 'abc'), (15, 'c')]
    """

    def __init__(
        self,
        op: Operator[In, S, Out],
        range: int,
        slide: int,
        combine_time: float,
        chunk: int | None = None,
        *,
        threaded: bool = False,
    ) -> None:
        require_integers(range=range, slide=slide)
        self.op = op
        self.range_time = range
        self.slide_time = slide
        best = optimal_chunk_time(range, slide, combine_time)
        self.chunk = best if chunk is None else chunk
        self.core: Boundary[In, S, Out] = Boundary(
            op, slices_in(range, slide), self.chunk, tails=range % slide > 0, threaded=threaded
        )
        self.now: int | None = None  # the last time seen
        self.newest: int | None = None  # the time of the newest value that a window can still reach
        self.base = 0  # the number of the Boundary's first slice
        self.part = op.identity()
        self.tail = op.identity()
        self.last: Closed[S] | None = None
        self._shadow: deque[tuple[int, S]] = deque()

    def push(self, time: int, value: In) -> list[tuple[int, Out]]:
        """Add a value at a time; return the end and result of each window that this closes.

        Windows without values are not reported.
        """
        lifted = self.op.lift(value)
        plan = self._plan(time)
        in_tail = time % self.slide_time >= self.slide_time - self.range_time % self.slide_time
        part = self.op.combine(plan.part, lifted)
        tail = self.op.combine(plan.tail, lifted) if in_tail else plan.tail
        reported = self._lowered(plan)
        self._commit(time, plan._replace(part=part, tail=tail))
        self.newest = time
        self._shadow.append((time, lifted))
        return reported

    def advance(self, time: int) -> list[tuple[int, Out]]:
        """Move to a time without a value; return the end and result of each closed window."""
        plan = self._plan(time)
        reported = self._lowered(plan)
        self._commit(time, plan)
        return reported

    def query(self) -> Out | None:
        """Return the result of the last reported window, or None before the first."""
        return None if self.last is None else self.op.lower(self.last.state)

    def copy(self) -> Self:
        """Return an independent copy of the window."""
        twin = copy.copy(self)
        twin.core = self.core.copy()
        twin._shadow = self._shadow.copy()
        return twin

    def check(self) -> None:
        """Verify each numbered invariant; raise InvariantError for the first broken one."""
        s, rest, base = self.slide_time, self.range_time % self.slide_time, self.base
        slack = tolerance(self.op, [state for _, state in self._shadow])

        def between(start: int, end: int) -> S:
            return fold(self.op, [state for time, state in self._shadow if start <= time < end])

        def tail(slice_: int) -> S:
            return between(slice_ * s + s - rest, slice_ * s + s)

        times = [time for time, _ in self._shadow]
        ordered = times == sorted(times) and (
            not times or (self.now is not None and times[-1] <= self.now)
        )
        here = base + self.core.count
        current = self.newest is None or (self.now is not None and self.now // s == here)
        self._hold(1, ordered and current, f"the open slice does not contain time {self.now}")
        expected = [between(here * s, here * s + s), tail(here)]
        self._hold_states(2, [self.part, self.tail], expected, slack, "the open slice is wrong")
        self.core.check_with(
            lambda i, j: between((base + i) * s, (base + j) * s), lambda i: tail(base + i), slack
        )
        if self.core.count and self.last is not None:
            self._hold(4, self.last.end == here * s, f"the last window ends at {self.last.end}")
            window = between(here * s - self.range_time, here * s)
            self._hold_states(4, [self.last.state], [window], slack, "the last window is wrong")

    def _plan(self, time: int) -> Plan[In, S, Out]:
        """Compute which windows this time closes, without writing anything."""
        if self.now is not None and time < self.now:
            raise TimeOrderError(f"times must not go backwards, got {time} after {self.now}")
        slice_, nothing = time // self.slide_time, self.op.identity()
        if self.newest is None or self.now is None:
            return Plan(self.core.restart(), slice_, nothing, nothing, [], False)
        opened = self.now // self.slide_time
        if slice_ == opened:
            return Plan(self.core, self.base, self.part, self.tail, [], True)
        # a window that ends after newest + range has no values
        last = min(time, self.newest + self.range_time) // self.slide_time
        core, part, tail, closed = self.core.copy(), self.part, self.tail, []
        for end in range(opened + 1, last + 1):
            step = core.prepare(part, tail)
            core.commit(step)
            closed.append(Closed(end * self.slide_time, step.window))
            part = tail = nothing
        if last < slice_:
            return Plan(core.restart(), slice_, nothing, nothing, closed, False)
        return Plan(core, self.base, part, tail, closed, True)

    def _lowered(self, plan: Plan[In, S, Out]) -> list[tuple[int, Out]]:
        return [(closed.end, self.op.lower(closed.state)) for closed in plan.closed]

    def _commit(self, time: int, plan: Plan[In, S, Out]) -> None:
        self.now, self.core, self.base = time, plan.core, plan.base
        self.part, self.tail = plan.part, plan.tail
        if plan.closed:
            self.last = plan.closed[-1]
        if not plan.reaches_back:
            self.newest = None
            self._shadow.clear()
        oldest = min(self.core.oldest * self.chunk, self.core.count - self.core.slices) - 1
        while self._shadow and self._shadow[0][0] < (self.base + oldest) * self.slide_time:
            self._shadow.popleft()
