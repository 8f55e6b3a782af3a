"""Throughput of bulks by distance."""

from __future__ import annotations

from benchmarks.papers.bulk import throughput

FIGURE = throughput.figure(
    13,
    "throughput of bulks of 1,024, by distance",
    "The distance does not slow bulks down, and they outperform single calls.",
    x="d",
    m=1024,
)
