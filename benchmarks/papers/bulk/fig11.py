"""Throughput with bulk evicts by bulk size, in order."""

from __future__ import annotations

from benchmarks.papers.bulk import throughput

FIGURE = throughput.figure(
    11,
    "throughput with bulk evicts, by bulk size",
    "Larger bulks raise the throughput of FiBA and AMTA; Two-Stacks Lite is the best in order.",
    x="m",
    insert=False,
)
