"""Throughput with bulk evicts and inserts by bulk size, in order."""

from __future__ import annotations

from benchmarks.papers.bulk import throughput

FIGURE = throughput.figure(
    12,
    "throughput with bulk evicts and inserts, by bulk size",
    "The throughput of all algorithms rises with m up to about 2^12, and drops when m gets very "
    "large.",
    x="m",
)
