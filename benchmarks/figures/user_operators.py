"""User operators over a column: slidefold, hand-written numba, and libraries.

Libraries recompute every window, so they get fewer rows; the time per row counts. `ready` is the
time of the first column of an unused operator, in a process that has compiled something with numba
before. `ready, numba's first` is the same in a process that has not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import slidefold
from benchmarks import user_peers
from benchmarks.harness import ROOT, Row, Side, best_of, pivot
from benchmarks.workloads import column
from slidefold.algorithms import DabaLite, TwoStacksLite

READY = """
import sys
import time
import numba
import numpy as np
import slidefold as sf
from benchmarks.user_peers import OPERATORS
from slidefold.algorithms import TwoStacksLite
if sys.argv[2] == "warm":
    numba.njit(lambda x: x + 1)(1)
start = time.perf_counter()
TwoStacksLite(OPERATORS[sys.argv[1]]()).slide(np.ones(8), 3)
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    window: int
    rows: int
    library_rows: dict[str, int]
    rounds: int
    starts: int  # processes for `ready`


SIZES = {
    "full": Sizes(1000, 1_000_000, {"pandas numba": 100_000, "polars rolling_map": 5_000}, 9, 5),
    "quick": Sizes(1000, 1_000_000, {"pandas numba": 30_000, "polars rolling_map": 3_000}, 5, 2),
    "smoke": Sizes(10, 200, {"pandas numba": 100, "polars rolling_map": 100}, 2, 1),
}


def measure(sizes: Sizes) -> list[Row]:
    """Time both operators on every side, in turns, and the time until they are ready."""
    if find_spec("numba") is None:
        return []
    rows: list[Row] = []
    for operator, make in user_peers.OPERATORS.items():
        values = column(sizes.rows)
        functions = {
            "two_stacks_lite": TwoStacksLite(make()).slide,
            "daba_lite": DabaLite(make()).slide,
            "numba by hand": user_peers.by_hand(operator),
        }
        functions["two_stacks_lite"](values[:8], 3)
        taken = dict.fromkeys(functions, values)
        for name, library in user_peers.libraries(operator).items():
            functions[name], taken[name] = library, values[: sizes.library_rows[name]]
        sides: dict[str, Side] = {
            name: partial(function, taken[name], sizes.window)
            for name, function in functions.items()
        }
        rows += (
            {
                "operator": operator,
                "window": sizes.window,
                "side": name,
                "rows": len(taken[name]),
                "ns_per_row": timing.seconds / len(taken[name]) * 1e9,
                "million_rows_per_second": len(taken[name]) / timing.seconds / 1e6,
            }
            for name, timing in best_of(sides, rounds=sizes.rounds, seconds=1.0).items()
        )
        for side, how in (("ready", "warm"), ("ready, numba's first", "cold")):
            seconds = min(ready(operator, how) for _ in range(sizes.starts))
            rows.append({"operator": operator, "window": 3, "side": side, "seconds": seconds})
    return rows


def ready(operator: str, how: str) -> float:
    """Return the seconds until an operator has computed its first column, in a new process."""
    paths = [str(ROOT), str(Path(slidefold.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    words = [sys.executable, "-c", READY, operator, how]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def show(rows: list[Row]) -> str:
    """Format two tables: time per row, and seconds until ready."""
    timed = [row for row in rows if "ns_per_row" in row]
    started = [row for row in rows if "seconds" in row]
    return "\n".join(
        pivot(title, chosen, down="operator", across="side", value=value)
        for title, chosen, value in (
            ("User operators: nanoseconds per row", timed, "ns_per_row"),
            ("User operators: seconds until ready", started, "seconds"),
        )
    )
