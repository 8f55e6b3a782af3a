"""Rows per second of `slide` by window size, for every supported algorithm and numba.

Static: the window fills once and then slides. Drain: it fills, empties and refills, which shows the
cost of algorithms that do much work in one evict.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from benchmarks import numba_peer
from benchmarks.harness import Row, Side, best_of, pivot, power
from benchmarks.workloads import OPERATORS, column, sliders

# Larger windows would take minutes and show nothing new.
LARGEST = {"recalc": 2**8}
BLOOM_LARGEST = 2**12


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    windows: tuple[int, ...]
    rows: int  # at least; a column has three times the rows of a window, to slide and not only fill
    bloom_rows: int
    rounds: int
    seconds: float  # for a side at one window size, after two rounds


SIZES = {
    "full": Sizes(tuple(2**k for k in range(4, 23)), 2**19, 2**13, 5, 0.1),
    "quick": Sizes(tuple(2**k for k in (4, 8, 12, 16, 20)), 2**18, 2**11, 3, 0.03),
    "smoke": Sizes((4, 32), 2**8, 2**6, 2, 0.0),
}


def measure(sizes: Sizes) -> list[Row]:
    """Time every operator, mode and window size, all sides in turns."""
    rows: list[Row] = []
    for operator, make in OPERATORS.items():
        for drain in (False, True):
            functions = sliders(make(), drain=drain)
            if operator in numba_peer.PARTS and numba_peer.available():
                functions["numba"] = numba_peer.two_stacks(operator, drain=drain)
            for window in sizes.windows:
                if operator == "bloom" and window > BLOOM_LARGEST:
                    continue
                least = sizes.bloom_rows if operator == "bloom" else sizes.rows
                values = column(max(3 * window, least), operator)
                sides: dict[str, Side] = {
                    name: partial(function, values, window)
                    for name, function in functions.items()
                    if window <= LARGEST.get(name, window)
                }
                timings = best_of(sides, rounds=sizes.rounds, seconds=sizes.seconds)
                rows += (
                    {
                        "operator": operator,
                        "mode": "drain" if drain else "static",
                        "window": window,
                        "side": name,
                        "rows": len(values),
                        "rounds": timing.rounds,
                        "ns_per_row": timing.seconds / len(values) * 1e9,
                        "million_rows_per_second": len(values) / timing.seconds / 1e6,
                    }
                    for name, timing in timings.items()
                )
    return rows


def show(rows: list[Row]) -> str:
    """Format one table per operator and mode: windows down, sides across."""
    parts = []
    for operator, mode in dict.fromkeys((row["operator"], row["mode"]) for row in rows):
        chosen = [
            {**row, "window": power(row["window"])}
            for row in rows
            if (row["operator"], row["mode"]) == (operator, mode)
        ]
        title = f"{operator}, {mode}: million rows per second by window size"
        parts.append(
            pivot(title, chosen, down="window", across="side", value="million_rows_per_second")
        )
    return "\n".join(parts)
