"""Throughput of windows that are filled and drained."""

from __future__ import annotations

from functools import partial

from benchmarks.papers.daba import throughput
from benchmarks.papers.figure import Figure

FIGURE = Figure(
    "daba.fig11",
    "DABA figure 11: throughput of windows that fill and drain",
    "As with static windows, but FlatFIT is the best for bloom, because it does no work on evicts.",
    partial(throughput.cells, drain=True),
    partial(throughput.claims, drain=True),
    throughput.charts,
    remark="Bloom filters go to n = 2^20, because 2^22 of them do not fit in memory.",
)
