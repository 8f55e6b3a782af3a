"""Throughput of single calls by distance."""

from __future__ import annotations

from benchmarks.papers.bulk import throughput

FIGURE = throughput.figure(
    14,
    "throughput with m = 1, by distance",
    "Without bulks, bulk FiBA has no advantage over the original.",
    x="d",
    m=1,
)
