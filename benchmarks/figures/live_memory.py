"""The bytes that a live run holds per row, by the number of rows per key.

All windows of a key share its rows, so that more windows and operators over the same columns take
hardly more. A row of two numbers in Arrow takes 16 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks.figures.live_events import features
from benchmarks.harness import Row, pivot


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int
    each: tuple[int, ...]  # rows per key in the longest window


SIZES = {
    "full": Sizes(1_000_000, (3, 10, 100, 2_000)),
    "quick": Sizes(200_000, (3, 10, 100, 2_000)),
    "smoke": Sizes(2_000, (3, 100)),
}


def cases(span: int) -> dict[str, dict[str, Any]]:
    """Return arguments of `sf.rolling` by name; the longest window spans so many steps."""
    windows = [sf.time(max(1, span // part)) for part in (16, 4, 1)]
    six = {
        f"{name}{place}": operator.over(window)
        for place, window in enumerate(windows)
        for name, operator in (("sum", sf.sum("x")), ("max", sf.max("x")))
    }
    ten = {name: _stretched(over, span / 5_000_000) for name, over in features(10).items()}
    return {
        "one window, one operator": {"s": sf.sum("x").over(windows[-1])},
        "three windows, two operators": six,
        "ten features": ten,
        "three windows, two operators, every=": {"every": sf.time(max(1, span // 64)), **six},
    }


def _stretched(over: Any, factor: float) -> Any:
    """Return a column over a window of time that is so many times as long."""
    window = over.window
    if not window.in_time:
        return over
    return over.operator.over(sf.time(max(1, int(window.range * factor))))


def measure(sizes: Sizes) -> list[Row]:
    """Fill the windows, let them slide once, and record `nbytes` per row of the longest window."""
    results: list[Row] = []
    for each in sizes.each:
        keys = max(1, sizes.rows // each)
        for name, given in cases(sizes.rows).items():
            emit = "final" if "every" in given else "arrival"
            live = sf.rolling(on="t", by="k", **given).live(lateness=0, emit=emit)
            for start in range(0, 2 * sizes.rows, 20_000):
                times = np.arange(start, min(start + 20_000, 2 * sizes.rows))
                x = np.sin(times)
                live.feed(pa.table({"t": times, "k": times % keys, "x": x, "n": times % 50}))
            results.append(
                {
                    "what": name,
                    "each": each,
                    "keys": keys,
                    "bytes_per_row": live.nbytes / sizes.rows,
                }
            )
    return results


def show(rows: list[Row]) -> str:
    """Format a table of bytes per row."""
    title = "A live run: bytes per row of the longest window, by rows per key"
    return pivot(title, rows, down="what", across="each", value="bytes_per_row")
