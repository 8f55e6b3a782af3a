"""Where the rows of a chunked run go: the spans of each leaf, and what fills the middles."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from slidefold.columns.chunked import Part, Summary, merged
from slidefold.columns.compute import Path
from slidefold.columns.spans import (
    LEAST,
    Span,
    edges_of,
    rows_spans,
    segment_starts,
    targets,
    time_spans,
)
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import WindowKind
from slidefold.definition.windows.clock import Clock


@dataclass(frozen=True)
class Layout:
    """Chunks of time between cuts, and the segments between edges, which the cuts are among."""

    definition: Rolling
    schema: Any  # Arrow's, of the input
    clock: Clock
    cuts: tuple[int, ...]
    newest: int
    mode: Mapping[Path, str]
    bins: tuple[int, ...] = ()
    counts: tuple[int, ...] | None = None  # of the rows in each segment, once they are known

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return len(self.cuts) + 1

    @cached_property
    def edges(self) -> list[int]:
        """The times between which all rows go the same way."""
        spans = [
            span
            for window in self.definition.windows
            if window.in_time
            for span in self._time_spans(window, "")
        ]
        return edges_of(self.cuts, spans, self.bins)

    @cached_property
    def spans(self) -> dict[Path, list[Span]]:
        """The spans of each leaf, one per chunk; sessions end at cuts and have none."""
        known: dict[tuple[WindowKind, str], list[Span]] = {}
        found = {}
        for leaf in self.definition.leaves:
            mode, rows = self.mode[leaf.path], leaf.window.rows_before
            if rows is None and not leaf.window.in_time:
                continue
            if (leaf.window, mode) not in known:
                known[leaf.window, mode] = (
                    self._time_spans(leaf.window, mode)
                    if rows is None
                    else self._rows_spans(rows, mode)
                )
            found[leaf.path] = known[leaf.window, mode]
        return found

    def _time_spans(self, window: WindowKind, mode: str) -> list[Span]:
        reached = window.reach(self.clock)
        assert reached is not None
        oldest, newest = reached
        reach = oldest if oldest >= newest else 0  # a window that holds nothing needs nothing
        return time_spans(self.cuts, self.newest, reach, whole=mode == "whole")

    def _rows_spans(self, rows: int, mode: str) -> list[Span]:
        assert self.counts is not None
        edges, before = self._row_edges, [0, *accumulate(self.counts)]
        ranks = [0, *(before[bisect_left(self.edges, edge) + 1] for edge in edges), before[-1]]
        counts = [high - low for low, high in pairwise(ranks)]
        return rows_spans(self.cuts, edges, counts, rows, whole=mode == "whole")

    @property
    def _row_edges(self) -> list[int]:
        """The edges between the segments of rows windows."""
        return sorted({*self.cuts, *self.bins})

    def targets(self) -> list[list[int]]:
        """Return the chunks that the rows of each segment go to."""
        different = {id(spans): spans for spans in self.spans.values()}
        spans = [span for each in different.values() for span in each]
        return targets(self.edges, self.cuts, spans)

    def copied(self) -> int:
        """Return how many rows are sent as halo."""
        assert self.counts is not None
        pairs = zip(self.counts, self.targets(), strict=True)
        return sum(count * (len(goes) - 1) for count, goes in pairs)

    def own_counts(self) -> list[int]:
        """Return how many rows are each chunk's own."""
        assert self.counts is not None
        bounds = [0, *(bisect_left(self.edges, cut) + 1 for cut in self.cuts), len(self.counts)]
        return [sum(self.counts[low:high]) for low, high in pairwise(bounds)]

    @cached_property
    def cutting(self) -> dict[Path, tuple[str, list[int]]]:
        """How the rows of each leaf are summarized, if its windows may have middles."""
        found = {}
        for leaf in self.definition.leaves:
            mode = self.mode[leaf.path]
            if leaf.window.rows_before is not None:
                edges = self._row_edges
            elif leaf.window.in_time:
                spans = self._time_spans(leaf.window, mode)
                ends = {end for s in spans if s.middle < s.own for end in (s.middle, s.own)}
                edges = sorted(ends - {LEAST})
            else:
                continue
            if mode != "whole" and edges:
                # Where order matters, only the rows between two edges are together and in order.
                ordered = mode == "state" and not leaf.operator.commutes
                found[leaf.path] = mode, self.edges if ordered else edges
        return found

    def middles(self, summaries: Sequence[Summary]) -> list[dict[Path, Part]]:
        """Return what stands for the middles of each chunk."""
        found: list[dict[Path, Part]] = [{} for _ in range(self.chunks)]
        for leaf in self.definition.leaves:
            if leaf.path not in self.cutting:
                continue
            starts = segment_starts(self.cutting[leaf.path][1])
            held = {}
            for chunk, span in enumerate(self.spans[leaf.path]):
                segments = range(bisect_left(starts, span.middle), bisect_left(starts, span.own))
                if segments:
                    held[chunk] = segments
            pieces = [summary.pieces[leaf.path] for summary in summaries]
            parts = merged(self.definition, leaf, self.schema, pieces, starts, list(held.values()))
            for chunk, part in zip(held, parts, strict=True):
                found[chunk][leaf.path] = part
        return found


def needs_middles(layout: Layout) -> bool:
    """Tell whether a first pass is needed: middles may hold rows, or rows must be counted."""
    return any(w.last_rows for w in layout.definition.windows) or bool(layout.cutting)


def total_counts(summaries: Sequence[Summary], segments: int) -> tuple[int, ...]:
    """Return how many rows each segment has in all partitions."""
    total = np.zeros(segments, np.int64)
    for summary in summaries:
        total += summary.counts
    return tuple(int(count) for count in total)


def can_cut(definition: Rolling) -> bool:
    """Tell whether a definition can run in chunks: rows and time windows, one result per row."""
    return definition.slide is None and all(
        (window.in_time and not window.ahead) or window.last_rows for window in definition.windows
    )
