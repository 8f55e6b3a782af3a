"""Cut time into chunks: the rows that a chunk needs beside its own, and where they lie.

The windows of a chunk's rows start in its *halo*. Between halo and chunk lies its *middle*, the
rows that every window of the chunk holds: one summary can stand for them. Times are whole numbers;
a window at t holds the rows from `t - oldest` to `t - newest`.

    halo [Span.halo, Span.middle)    middle [Span.middle, Span.own)    own rows [Span.own, next cut)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

LEAST, MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Span:
    """What the windows of one chunk hold: three times, and for rows windows three row numbers."""

    halo: int
    middle: int
    own: int
    ranks: tuple[int, int, int] = (0, 0, 0)  # of the first row of each


def time_spans(cuts: Sequence[int], newest: int, oldest: int, *, whole: bool = False) -> list[Span]:
    """Return the spans of a time window, one per chunk: chunk p lies between cuts p-1 and p.

    `newest` is the largest time of all, exactly. `whole` makes all rows before a chunk that its
    windows hold its halo, so that there is no middle.

    >>> time_spans([10, 20], 25, 3)[1]
    Span(halo=7, middle=10, own=10, ranks=(0, 0, 0))
    >>> time_spans([10, 20], 25, 17)[2]
    Span(halo=3, middle=8, own=20, ranks=(0, 0, 0))
    """
    spans = [Span(LEAST, LEAST, LEAST)]
    for own, end in pairwise([*cuts, newest]):
        # Python's integers do not overflow; a start before all times is the least of them.
        halo = max(own - max(oldest, 0), LEAST)
        middle = own if whole else max(halo, min(max(end - max(oldest, 0), LEAST), own))
        spans.append(Span(halo, middle, own))
    return spans


def rows_spans(
    cuts: Sequence[int], edges: Sequence[int], counts: Sequence[int], reach: int, *, whole: bool
) -> list[Span]:
    """Return the spans of a rows window that starts `reach` rows before its row.

    `counts` are the rows between `edges`, which hold the cuts: exact row numbers, without one that
    is attached to a row. A halo consists of whole segments, so that it may hold rows that no window
    needs; the row numbers of the span say which.
    """
    first_rank = [0, *accumulate(counts)]

    def start(segment: int) -> int:
        return edges[segment - 1] if segment else LEAST

    bounds = [0, *(bisect_left(edges, cut) + 1 for cut in cuts), len(counts)]
    spans = []
    for low, high in pairwise(bounds):
        oldest, newest = first_rank[low], first_rank[high] - 1
        halo = middle = low
        if newest >= oldest:
            # Of segments without rows the last one counts: it ends where the row is.
            halo = min(low, bisect_right(first_rank, max(0, oldest - reach)) - 1)
            middle = low
            if not whole:
                middle = min(low, max(halo, bisect_left(first_rank, newest - reach)))
        ranks = first_rank[halo], first_rank[middle], oldest
        spans.append(Span(start(halo), start(middle), start(low), ranks))
    return spans


def edges_of(cuts: Iterable[int], spans: Iterable[Span], more: Iterable[int] = ()) -> list[int]:
    """Return all times at which a span starts: all rows between two edges go the same way."""
    found = {*cuts, *more}
    for span in spans:
        found.update((span.halo, span.middle))
    return sorted(found - {LEAST})


def segment_starts(edges: Sequence[int]) -> list[int]:
    """Return where each segment starts; the first has no start."""
    return [LEAST, *edges]


def targets(edges: Sequence[int], cuts: Sequence[int], spans: Sequence[Span]) -> list[list[int]]:
    """Return the chunks that the rows of each segment go to: their own, then where they are halo.

    `spans` are those of all windows, each with one a chunk, one window after the other.
    """
    chunks, starts = len(cuts) + 1, segment_starts(edges)
    own = [bisect_right(cuts, start) for start in starts]
    needed: list[set[int]] = [set() for _ in starts]
    for i, span in enumerate(spans):
        for segment in range(bisect_left(starts, span.halo), bisect_left(starts, span.middle)):
            needed[segment].add(i % chunks)
    return [[to, *sorted(more - {to})] for to, more in zip(own, needed, strict=True)]


def balanced_cuts(
    sample: Sequence[int], reaches: Iterable[int], newest: int, chunks: int
) -> list[int]:
    """Return at most `chunks - 1` cuts at which chunks and their halos are of about one size.

    They are quantiles of the times together with the times one window later: a row is once its own
    and, at most, once the halo of the chunk that lies a window later.

    >>> balanced_cuts(range(8), [], 7, 4)
    [2, 4, 6]
    """
    times = sorted(sample)
    mixed = list(times)
    for reach in set(reaches):
        if times and 0 < reach < newest - times[0]:
            mixed += [time + reach for time in times if time + reach <= newest]
    mixed.sort()
    picks = {mixed[len(mixed) * i // chunks] for i in range(1, chunks)} if mixed else set()
    return sorted(picks - {min(times, default=None)})
