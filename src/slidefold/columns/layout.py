"""Where the rows of a chunked run go: the spans of each leaf, and what fills the middles."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from slidefold.columns.chunked import Part, Summary, merged
from slidefold.columns.compute import Path
from slidefold.columns.spans import (
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

    def edges(self) -> list[int]:
        """Return the times between which all rows go the same way."""
        spans = [
            span
            for window in self.definition.windows
            if window.in_time
            for span in self._time_spans(window, "")
        ]
        return edges_of(self.cuts, spans, self.bins)

    def spans(self) -> dict[Path, list[Span]]:
        """Return the spans of each leaf, one per chunk; sessions end at cuts and have none."""
        found = {}
        for leaf in self.definition.leaves:
            mode, rows = self.mode[leaf.path], leaf.window.rows_before
            if rows is not None:
                assert self.counts is not None
                found[leaf.path] = rows_spans(
                    self.cuts, self.edges(), self.counts, rows, whole=mode == "whole"
                )
            elif leaf.window.in_time:
                found[leaf.path] = self._time_spans(leaf.window, mode)
        return found

    def _time_spans(self, window: WindowKind, mode: str) -> list[Span]:
        reached = window.reach(self.clock)
        assert reached is not None
        oldest, newest = reached
        reach = oldest if oldest >= newest else 0  # a window that holds nothing needs nothing
        return time_spans(self.cuts, self.newest, reach, whole=mode == "whole")

    def targets(self) -> list[list[int]]:
        """Return the chunks that the rows of each segment go to."""
        spans = [span for each in self.spans().values() for span in each]
        return targets(self.edges(), self.cuts, spans)

    def own_counts(self) -> list[int]:
        """Return how many rows are each chunk's own."""
        assert self.counts is not None
        bounds = [0, *(bisect_left(self.edges(), cut) + 1 for cut in self.cuts), len(self.counts)]
        return [sum(self.counts[low:high]) for low, high in pairwise(bounds)]

    def middle_segments(self) -> dict[Path, list[range]]:
        """Return the segments that make the middle of each leaf and chunk."""
        starts = segment_starts(self.edges())
        return {
            path: [
                range(bisect_left(starts, span.middle), bisect_left(starts, span.own))
                for span in spans
            ]
            for path, spans in self.spans().items()
        }

    def middles(self, summaries: Sequence[Summary]) -> list[dict[Path, Part]]:
        """Return what stands for the middles of each chunk."""
        found: list[dict[Path, Part]] = [{} for _ in range(self.chunks)]
        wanted = self.middle_segments()
        for leaf in self.definition.leaves:
            if self.mode[leaf.path] == "whole":
                continue
            # Segments are in many middles: the parts of one from all partitions are merged once.
            known: dict[int, Part] = {}
            for chunk, segments in enumerate(wanted[leaf.path]):
                for segment in segments:
                    if segment not in known:
                        parts = [summary.parts[leaf.path][segment] for summary in summaries]
                        known[segment] = merged(self.definition, leaf, self.schema, parts)
                if segments:
                    parts = [known[segment] for segment in segments]
                    found[chunk][leaf.path] = merged(self.definition, leaf, self.schema, parts)
        return found


def needs_middles(layout: Layout) -> bool:
    """Tell whether a first pass is needed: middles may hold rows, or rows must be counted."""
    if any(window.last_rows for window in layout.definition.windows):
        return True
    ranges = layout.middle_segments().values()
    return any(len(segments) for each in ranges for segments in each)


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
