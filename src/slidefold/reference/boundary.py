"""Boundary aggregation: the merging step of Sba and Pba, from slices to windows.

Layout: the stream of slices is cut into chunks of b slices. For the open chunk, `saa` holds the
slices and `csa` their aggregate so far. For a complete chunk, `ca` is the aggregate, and `lcs`
holds, for each of its slices, the aggregate from there to the end of the chunk. A window of N
slices combines the lcs of the chunk in which it starts, the ca of the chunks it covers, and the csa
of the newest. If the range is not a multiple of the slide, the window also has the tail of the
slice before its first: the values of that slice that are inside the range.

Invariants (s is the sequence of slices):
  I1  the chunks kept are those that the next window can reach; each has exactly b slices.
  I2  saa holds the slices since the last boundary, csa is their aggregate.
  I3  ca of a chunk is the aggregate of its slices.
  I4  lcs[p] of a chunk is the aggregate of its slices from p on.
  I5  if windows need tails, those of the last N slices are kept; otherwise none.

Cost in combines per slice: 1 to extend csa, k or k + 1 to merge the parts of the window, where
k = N // b, and 1 for a tail. For k = 1 this is at most 3, or 4 with a tail. At the end of a chunk
the lcs takes b - 2 more: Sba does them immediately, Pba on another thread. With the optimal b, at
most (3n + 13)/2 states for a window of n rows that slides by one.

Paper: Zhang, Akbarinia, Toumani, "Efficient Incremental Computation of Aggregations over Sliding
Windows", section 4.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Generic, NamedTuple

from slidefold.errors import ValueTypeError, WindowError
from slidefold.reference.base import Checked
from slidefold.reference.protocols import In, Operator, Out, S, fold


def require_integers(**lengths: object) -> None:
    """Raise ValueTypeError unless each named length is an integer."""
    for name, length in lengths.items():
        if not isinstance(length, int):
            raise ValueTypeError(f"{name} must be an integer, got {length!r}")


def slices_in(range: float, slide: float) -> int:
    """Return the number of whole slides in a range; raise WindowError for invalid ones."""
    if slide <= 0:
        raise WindowError(f"slide must be greater than 0, got {slide}")
    if range < slide:
        raise WindowError(f"range must be at least slide, got range {range}, slide {slide}")
    return int(Fraction(range) // Fraction(slide))


def optimal_chunk_rows(range: int, slide: int) -> int:
    """Return the largest chunk, in slices, whose lcs is ready before it is needed (Theorem 1).

    >>> optimal_chunk_rows(32, 1), optimal_chunk_rows(10, 2)
    (17, 4)
    """
    whole, rest = slices_in(range, slide), range % slide
    if whole <= slide + rest + 1:
        return whole
    return (slide * (whole + 1) + rest + 1) // (slide + 1)


def optimal_chunk_time(range: float, slide: float, combine_time: float) -> int:
    """Return the best chunk for time windows, given the duration of one combine (Theorem 2).

    All three arguments use the same unit; the result does not depend on which. See docs/errata.md
    for the theorem's C.

    >>> optimal_chunk_time(3600, 1, 0.001), optimal_chunk_time(3600, 1, 1)
    (3597, 2401)
    """
    whole = slices_in(range, slide)
    r, s, unit = Fraction(range), Fraction(slide), Fraction(combine_time)
    if unit < 0:
        raise WindowError(f"combine_time must be at least 0, got {combine_time}")
    extra = r % s + unit if r % s else Fraction(0)
    if whole * unit <= s + 2 * unit + extra:
        return whole
    return int((whole * (s + unit) + s + 2 * unit + extra) // (s + 2 * unit))


class Chunk(Generic[In, S, Out]):
    """A complete chunk. Its lcs replaces its slices, and lcs[0] is its ca."""

    def __init__(self, op: Operator[In, S, Out], saa: list[S], ca: S) -> None:
        self.ca = ca
        self._op = op
        self._states = saa
        self._cumulated = False
        self._launch()

    @property
    def lcs(self) -> list[S]:
        """Return, for each slice, the aggregate from there to the end of the chunk."""
        self.wait()
        if not self._cumulated:
            self._cumulate()
        return self._states

    def wait(self) -> None:
        """Wait until no other thread works on this chunk."""

    def _launch(self) -> None:
        self._cumulate()

    def _cumulate(self) -> None:
        self._states = left_cumulative(self._op, self._states, self.ca)
        self._cumulated = True


class ThreadedChunk(Chunk[In, S, Out]):
    """A complete chunk whose lcs is built on its own thread.

    If the operator raises on that thread, the thread that reads the lcs builds it again and raises
    the same error.
    """

    def wait(self) -> None:
        """Wait until the thread of this chunk has ended."""
        self._task.join()

    def _launch(self) -> None:
        self._task = threading.Thread(target=self._run, daemon=True)
        self._task.start()

    def _run(self) -> None:
        with suppress(Exception):
            self._cumulate()


def left_cumulative(op: Operator[In, S, Out], saa: list[S], ca: S) -> list[S]:
    """Return, for each slice of a chunk, the aggregate from there to its end (b - 2 combines)."""
    lcs = list(saa)
    for p in range(len(saa) - 2, 0, -1):
        lcs[p] = op.combine(saa[p], lcs[p + 1])
    lcs[0] = ca
    return lcs


class Step(NamedTuple, Generic[In, S, Out]):
    """The new fields of a Boundary after one more slice; `commit` writes them."""

    part: S
    tail: S
    csa: S
    closed: Chunk[In, S, Out] | None
    parts: list[S]
    window: S


class Boundary(Checked, Generic[In, S, Out]):
    """Merge slices into windows of N slices."""

    def __init__(
        self, op: Operator[In, S, Out], slices: int, chunk: int, *, tails: bool, threaded: bool
    ) -> None:
        if not 1 <= chunk <= slices:
            raise WindowError(f"chunk must be from 1 to {slices} slices, got {chunk}")
        self.op = op
        self.slices = slices
        self.chunk = chunk
        self.needs_tails = tails
        self.threaded = threaded
        self.count = 0  # slices so far; the newest is count - 1
        self.oldest = 0  # the number of the oldest chunk kept
        self.chunks: deque[Chunk[In, S, Out]] = deque()
        self.saa: list[S] = []
        self.csa = op.identity()
        self.tails: deque[S] = deque(maxlen=slices)

    def copy(self) -> Boundary[In, S, Out]:
        """Return an independent copy; complete chunks never change, so both share them."""
        twin = self.restart()
        twin.count, twin.oldest, twin.csa = self.count, self.oldest, self.csa
        twin.chunks, twin.saa, twin.tails = self.chunks.copy(), list(self.saa), self.tails.copy()
        return twin

    def restart(self) -> Boundary[In, S, Out]:
        """Return a Boundary of the same kind without slices."""
        return Boundary(
            self.op, self.slices, self.chunk, tails=self.needs_tails, threaded=self.threaded
        )

    def prepare(self, part: S, tail: S) -> Step[In, S, Out]:
        """Compute the step for one more slice, which is the last of the step's window."""
        csa = self.op.combine(self.csa, part) if self.saa else part
        parts = self._parts(self.count, csa)
        if self.needs_tails and self.count >= self.slices:
            parts.insert(0, self.tails[0])  # the tail of the slice before the window
        window = fold(self.op, parts)
        return Step(part, tail, csa, self._close(part, csa), parts, window)

    def commit(self, step: Step[In, S, Out]) -> None:
        """Add a prepared slice."""
        self.count += 1
        self.csa = step.csa
        self.saa.append(step.part)
        if self.needs_tails:
            self.tails.append(step.tail)
        if step.closed is not None:
            self.chunks.append(step.closed)
            self.saa = []
        reachable = max(0, self.count - self.slices + 1) // self.chunk
        while self.oldest < reachable and self.chunks:
            self.chunks.popleft()
            self.oldest += 1

    def states_kept(self) -> int:
        """Return the number of states kept: those of all chunks, csa and the tails."""
        return self.chunk * len(self.chunks) + len(self.saa) + 1 + len(self.tails)

    def check_with(
        self, aggregate: Callable[[int, int], S], tail: Callable[[int], S], slack: float
    ) -> None:
        """Verify I1 to I5, given the aggregate of the slices i..j-1 and the tail of slice i."""
        b = self.chunk
        full = len(self.saa) == self.count % b and self.oldest + len(self.chunks) == self.count // b
        reachable = max(0, self.count - self.slices + 1) // b
        self._hold(
            1, full and self.oldest == reachable, "the chunks are not those a window can reach"
        )
        start = self.count - len(self.saa)
        slices = [aggregate(i, i + 1) for i in range(start, self.count)]
        self._hold_states(2, self.saa, slices, slack, "a slice is wrong")
        if self.saa:
            self._hold_states(2, [self.csa], [aggregate(start, self.count)], slack, "csa is wrong")
        for number, chunk in enumerate(self.chunks, self.oldest):
            first, end = number * b, (number + 1) * b
            self._hold_states(
                3, [chunk.ca], [aggregate(first, end)], slack, f"ca {number} is wrong"
            )
            lcs = [aggregate(p, end) for p in range(first, end)]
            self._hold_states(4, chunk.lcs, lcs, slack, f"lcs {number} is wrong")
        kept = min(self.count, self.slices) if self.needs_tails else 0
        tails = [tail(i) for i in range(self.count - kept, self.count)]
        self._hold_states(5, self.tails, tails, slack, "a tail is wrong")

    def _parts(self, newest: int, csa: S) -> list[S]:
        """Return the sub-aggregates of the window of whole slices that ends with the newest."""
        first = max(0, newest - self.slices + 1)
        here = newest // self.chunk
        if first // self.chunk == here:
            return [csa]
        start = self._chunk(first // self.chunk)
        inner = [self._chunk(c).ca for c in range(first // self.chunk + 1, here)]
        return [start.lcs[first % self.chunk] if first % self.chunk else start.ca, *inner, csa]

    def _chunk(self, number: int) -> Chunk[In, S, Out]:
        return self.chunks[number - self.oldest]

    def _close(self, part: S, csa: S) -> Chunk[In, S, Out] | None:
        """Return the chunk that this slice completes, or None."""
        if len(self.saa) + 1 < self.chunk:
            return None
        saa = [*self.saa, part]
        if not self.threaded:
            return Chunk(self.op, saa, csa)
        if self.chunks:
            self.chunks[-1].wait()
        return ThreadedChunk(self.op, saa, csa)
