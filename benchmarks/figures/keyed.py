"""Keyed windows: the cost per row in batches over many keys, and the bytes of many windows."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks.harness import Row, pivot
from slidefold.algorithms import KeyedWindows


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int  # of a batch
    batches: int
    keys: tuple[int, ...]


SIZES = {
    "full": Sizes(1_000_000, 5, (1, 1_000, 100_000, 1_000_000)),
    "quick": Sizes(200_000, 3, (1, 1_000, 100_000)),
    "smoke": Sizes(500, 2, (1, 20)),
}


def measure(sizes: Sizes) -> list[Row]:
    """Push batches of random keys with advancing times and 5% late rows."""
    results: list[Row] = []
    for keys in sizes.keys:
        random = np.random.default_rng(11)
        for kind in ("integers", "texts"):
            windows = KeyedWindows(sf.sum(), sf.time(4 * sizes.rows), lateness=sizes.rows)
            best = float("inf")
            for batch in range(sizes.batches):
                chosen = random.integers(0, keys, sizes.rows)
                times = np.arange(sizes.rows, dtype=np.int64) + batch * sizes.rows
                late = random.random(sizes.rows) < 0.05
                times[late] -= random.integers(0, sizes.rows // 2, late.sum())
                given = chosen if kind == "integers" else pa.array(chosen.astype(str))
                start = time.perf_counter()
                windows.push(given, times, random.random(sizes.rows))
                best = min(best, time.perf_counter() - start)
            results.append(
                {
                    "keys": keys,
                    "kind": kind,
                    "side": "push",
                    "us_per_row": best / sizes.rows * 1e6,
                    "entries": windows.entries,
                    "nbytes": windows.nbytes,
                    "bytes_per_entry": windows.nbytes / windows.entries,
                }
            )
    return results


def show(rows: list[Row]) -> str:
    """Format two tables: time per row, bytes per entry."""
    return "\n".join(
        pivot(title, rows, down="keys", across="kind", value=value)
        for title, value in (
            ("KeyedWindows.push: us per row", "us_per_row"),
            ("KeyedWindows: bytes per entry", "bytes_per_entry"),
        )
    )
