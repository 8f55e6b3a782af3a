"""Throughput of static windows."""

from __future__ import annotations

from functools import partial

from benchmarks.papers.daba import throughput
from benchmarks.papers.figure import Figure

FIGURE = Figure(
    "daba.fig10",
    "DABA figure 10: throughput of static windows",
    "All algorithms are close to constant in n, and the Lite versions always beat the originals.",
    partial(throughput.cells, drain=False),
    partial(throughput.claims, drain=False),
    throughput.charts,
    remark="Bloom filters go to n = 2^20, because 2^22 of them do not fit in memory.",
)
