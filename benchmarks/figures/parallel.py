"""Two threads against one: the max of one long column with Pba and Sba."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import slidefold as sf
from benchmarks.harness import Row, Side, best_of, pivot, power
from benchmarks.workloads import boundary_algorithms, column, sliders


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    windows: tuple[int, ...]
    rows: int
    rounds: int


SIZES = {
    "full": Sizes(tuple(2**k for k in range(10, 21)), 2**23, 9),
    "quick": Sizes((2**10, 2**15, 2**18), 2**20, 4),
    "smoke": Sizes((16,), 2**10, 2),
}


def measure(sizes: Sizes) -> list[Row]:
    """Time both at every window size, in turns; return no rows if they do not exist."""
    functions = sliders(sf.max(), drain=False)
    names = [name for name in boundary_algorithms() if name in functions]
    rows: list[Row] = []
    values = column(sizes.rows)
    for window in sizes.windows:
        sides: dict[str, Side] = {name: partial(functions[name], values, window) for name in names}
        timings = best_of(sides, rounds=sizes.rounds, seconds=float("inf"))
        rows += (
            {
                "window": window,
                "side": name,
                "rows": sizes.rows,
                "rounds": timing.rounds,
                "million_rows_per_second": sizes.rows / timing.seconds / 1e6,
            }
            for name, timing in timings.items()
        )
    return rows


def show(rows: list[Row]) -> str:
    """Format a table: windows down, algorithms across."""
    if not rows:
        return "Sba and Pba are not available: nothing to compare.\n"
    named = [{**row, "window": power(row["window"])} for row in rows]
    title = "max over one long column: million rows per second"
    return pivot(title, named, down="window", across="side", value="million_rows_per_second")
