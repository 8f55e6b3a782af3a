"""The bytes that an algorithm keeps per state, after the window is full and has slid.

The values fall, so that selective algorithms cannot drop any value: their worst case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import slidefold as sf
from benchmarks.harness import Row, pivot, power
from benchmarks.workloads import event_algorithms

OPERATORS: dict[str, Callable[[], sf.Operator]] = {
    "sum": sf.sum,
    "max": sf.max,
    "mean": sf.mean,
    "sum_int64": lambda: sf.sum(dtype="int64"),
}


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    window: int
    slides: int


SIZES = {
    "full": Sizes(2**22, 2**18),
    "quick": Sizes(2**18, 2**14),
    "smoke": Sizes(2**8, 2**6),
}


def measure(sizes: Sizes) -> list[Row]:
    """Fill and slide every algorithm, and record the largest `nbytes`."""
    rows: list[Row] = []
    for operator, make in OPERATORS.items():
        state = make().traits.state_bytes
        for name, algorithm in event_algorithms(make()).items():
            ready = algorithm(make())
            kind = int if operator == "sum_int64" else float
            values = (kind(-row) for row in range(sizes.window + sizes.slides))
            for _ in range(sizes.window):
                ready.insert(next(values))
            most = ready.nbytes
            for value in values:
                ready.evict()
                ready.insert(value)
            most = max(most, ready.nbytes)
            rows.append(
                {
                    "operator": operator,
                    "window": sizes.window,
                    "side": name,
                    "state_bytes": state,
                    "nbytes": most,
                    "ratio": most / (sizes.window * state),
                }
            )
    return rows


def show(rows: list[Row]) -> str:
    """Format a table: algorithms down, operators across."""
    named = [
        {**row, "case": f"{row['operator']} ({row['state_bytes']} bytes per state)"} for row in rows
    ]
    title = f"Bytes kept / bytes of the n states, n = {power(rows[0]['window'])}"
    return pivot(title, named, down="side", across="case", value="ratio", label="algorithm")
