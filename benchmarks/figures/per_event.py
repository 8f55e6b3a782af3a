"""The cost per event in a Python loop: `Window.push`, insert + evict + query, and the peers.

All sides take the result after each event. Each round creates a new window, and the time includes
filling it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import slidefold as sf
from benchmarks import peers
from benchmarks.harness import Row, Side, best_of, pivot
from benchmarks.workloads import column
from slidefold.algorithms import DabaLite, TwoStacksLite

OPERATORS: dict[str, Callable[[], sf.Operator]] = {"sum": sf.sum, "max": sf.max, "mean": sf.mean}


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    windows: tuple[int, ...]
    events: int
    rounds: int
    seconds: float


SIZES = {
    "full": Sizes((16, 1000, 100_000), 200_000, 7, 1.0),
    "quick": Sizes((1000,), 50_000, 5, 0.4),
    "smoke": Sizes((3,), 200, 2, 0.0),
}


def push(operator: str, window: int) -> peers.Drive:
    """Use one native call per event, with the algorithm that slidefold chooses."""
    return peers.each(sf.Window(OPERATORS[operator](), sf.rows(window)).push)


def push_throughput(operator: str, window: int) -> peers.Drive:
    """Use one native call per event, with the algorithm that is fastest on average."""
    live = sf.Window(OPERATORS[operator](), sf.rows(window), optimize="throughput")
    return peers.each(live.push)


def three_calls(
    algorithm: type[DabaLite | TwoStacksLite], operator: str, window: int
) -> peers.Drive:
    """Use three native calls per event: insert, evict, query."""
    ready = algorithm(OPERATORS[operator]())
    insert, evict, query = ready.insert, ready.evict, ready.query

    def drive(values: Sequence[float]) -> float | None:
        result = None
        room = window - len(ready)
        for value in values[:room]:
            insert(value)
            result = query()
        for value in values[room:]:
            evict()
            insert(value)
            result = query()
        return result

    return drive


def sides() -> dict[str, Callable[[str, int], peers.Drive]]:
    """Return every side, those of slidefold first."""
    return {
        "push": push,
        "push throughput": push_throughput,
        "daba_lite 3 calls": partial(three_calls, DabaLite),
        "two_stacks_lite 3 calls": partial(three_calls, TwoStacksLite),
        **peers.available(),
    }


def measure(sizes: Sizes) -> list[Row]:
    """Time every operator and window size, all sides in turns."""
    rows: list[Row] = []
    values = column(sizes.events).tolist()
    for operator in OPERATORS:
        for window in sizes.windows:
            runs: dict[str, Side] = {
                name: partial(_fresh, make, operator, window, values)
                for name, make in sides().items()
            }
            timings = best_of(runs, rounds=sizes.rounds, seconds=sizes.seconds)
            rows += (
                {
                    "operator": operator,
                    "window": window,
                    "side": name,
                    "events": sizes.events,
                    "rounds": timing.rounds,
                    "ns_per_event": timing.seconds / sizes.events * 1e9,
                }
                for name, timing in timings.items()
            )
    return rows


def _fresh(
    make: Callable[[str, int], peers.Drive], operator: str, window: int, values: Sequence[float]
) -> object:
    return make(operator, window)(values)


def show(rows: list[Row]) -> str:
    """Format a table: sides down, operators and windows across."""
    named = [{**row, "case": f"{row['operator']} {row['window']}"} for row in rows]
    title = "Nanoseconds per event in a Python loop, by operator and rows in the window"
    return pivot(title, named, down="side", across="case", value="ns_per_event")
