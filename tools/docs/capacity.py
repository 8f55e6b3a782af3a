"""Simulate 10,000 partitions: how evenly keys and chunks of time share the work, and stragglers."""

from __future__ import annotations

import heapq
from functools import cache
from typing import Any

import numpy as np

from slidefold.columns.spans import balanced_cuts
from tools.docs.curves import Plot
from tools.docs.words import wrapped

PARTITIONS, CORES = 10_000, 1_000
ROWS = 10**10
_KEYS = 1_000_000
_TIMES, _SAMPLED = 1_000_000, 4  # cuts are chosen from one time in four
_DAYS, _WINDOW = 30 * 86_400, 6 * 3_600  # seconds

Loads = Any  # rows per task


@cache
def loads() -> dict[str, Loads]:
    """Return the rows of each task, relative to the mean, in the order of the legend."""
    draw = np.random.default_rng(7)
    shares = 1.0 / np.arange(1, _KEYS + 1)
    shares /= shares.sum()
    place = draw.integers(0, PARTITIONS, _KEYS)
    by_key = np.bincount(place, ROWS * shares, PARTITIONS)
    # A key that fills four partitions is cut into chunks of time, which are shared by all tasks.
    hot = shares > 4 / PARTITIONS
    rest = np.bincount(place[~hot], ROWS * shares[~hot], PARTITIONS)
    cut = rest + ROWS * shares[hot].sum() / PARTITIONS
    times = _bursty(draw)
    micros = (times * 1e6).astype(np.int64)
    sample = draw.choice(micros, len(micros) // _SAMPLED, replace=False).tolist()
    both = balanced_cuts(sample, [_WINDOW * 10**6], int(micros.max()), PARTITIONS)
    alone = balanced_cuts(sample, [], int(micros.max()), PARTITIONS)
    named = {
        "no key, our cuts": _chunks(micros, both),
        "no key, cuts by rows only": _chunks(micros, alone),
        "keys, hot ones cut": cut,
        "keys, not cut": by_key,
    }
    return {name: np.sort(load / load.mean())[::-1] for name, load in named.items()}


def _bursty(draw: Any) -> Any:
    """Return times of which half are in bursts: 50 bursts of ten minutes in 30 days."""
    starts = draw.integers(0, _DAYS - 600, 50)
    burst = draw.choice(starts, _TIMES // 2) + draw.integers(0, 600, _TIMES // 2)
    plain = draw.integers(0, _DAYS, _TIMES - _TIMES // 2)
    return np.sort(np.concatenate([burst, plain]) + draw.random(_TIMES))


def _chunks(times: Any, cuts: list[int]) -> Loads:
    """Return the rows of chunks with their halo: those in which the windows of a chunk start."""
    own = np.array([times[0], *cuts])
    end = np.array([*cuts, times[-1]])
    low, high = own - _WINDOW * 10**6, np.minimum(end - _WINDOW * 10**6, own)
    at = np.searchsorted
    halo = np.maximum(at(times, high) - at(times, low), 0)
    return (at(times, end) - at(times, own) + halo).astype(float)


def stretched(load: Loads, slow: bool) -> float:
    """Return how much longer all tasks take on 1,000 cores than with perfect balance.

    With `slow`, one task in a hundred runs at a third of the speed.
    """
    draw = np.random.default_rng(8)
    tasks = draw.permutation(load) * (np.where(draw.random(len(load)) < 0.01, 3, 1) if slow else 1)
    cores = [0.0] * CORES
    for task in tasks.tolist():
        heapq.heapreplace(cores, cores[0] + task)
    return float(max(cores) / (load.sum() / CORES))


def picture() -> str:
    """Return the chart: the largest task, the tenth largest, and so on."""
    ranks = sorted({round(2**power) for power in np.linspace(0, np.log2(PARTITIONS), 30)})
    lines = {
        name: [
            (float(rank), max(float(load[rank - 1]), 0.01)) for rank in ranks if rank <= len(load)
        ]
        for name, load in loads().items()
    }
    return Plot("rows of a task, relative to the mean", "rank of the task", lines).draw()


def table() -> str:
    """Return the table of the page."""
    lines = [
        "| 10,000 tasks on 1,000 cores | largest task / mean | time / ideal | with stragglers |",
        "|---|---|---|---|",
    ]
    for name, load in loads().items():
        plain, slow = stretched(load, False), stretched(load, True)
        lines.append(f"| {name} | {load[0]:.1f} | {plain:.2f} | {slow:.2f} |")
    remark = (
        "Keys: a million, whose sizes follow Zipf's law, hashed into the partitions. Times: half "
        "of the rows are in 50 bursts of ten minutes in 30 days, and windows are six hours. "
        "Stragglers: one task in a hundred is three times slower. `tools/docs/capacity.py`."
    )
    return "\n".join([*lines, "", wrapped(remark)])
