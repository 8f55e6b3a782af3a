"""Throughput with bulk evicts and inserts by bulk size, in order."""

from __future__ import annotations

from benchmarks.papers.bulk import throughput

FIGURE = throughput.figure(
    12,
    "throughput with bulk evicts and inserts, by bulk size",
    "Throughput rises with m up to about 2^12; Two-Stacks Lite is the best in order.",
    x="m",
)
