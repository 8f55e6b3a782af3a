"""The smallest window where incremental beats recomputation, and beats it ten times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import slidefold as sf
from benchmarks.harness import Row
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series
from benchmarks.papers.rounds import in_turns
from benchmarks.workloads import column
from slidefold.algorithms import FlatFat, Recalc

OPERATORS: dict[str, Callable[[], sf.Operator]] = {
    "sum_int64": lambda: sf.sum(dtype="int64"),
    "sum": sf.sum,
    "max_int64": lambda: sf.max(dtype="int64"),
    "max": sf.max,
    "mean": sf.mean,
    "min_count": sf.min_count,
    "std": sf.std,
    "std_population": lambda: sf.std(ddof=0),
    "max_by": sf.max_by,
}
# windows, rounds, turns
SIZES: dict[str, tuple[tuple[int, ...], int, int]] = {
    "smoke": ((2, 16), 20, 1),
    "quick": ((4, 16, 64, 256, 1_024, 4_096, 8_192), 400, 2),
    "default": (tuple(int(10 * 1.25**k) for k in range(34)), 2_000, 3),
    "full": (tuple(range(10, 1_000, 10)) + tuple(range(1_000, 10_001, 50)), 100_000, 3),
}


def _side(kind: type, operator: str, n: int, count: int) -> int:
    window = kind(OPERATORS[operator]())
    integers = operator.endswith("int64")
    values = column(2**14, "sum_int64" if integers else "sum")
    argument = (values, values) if operator == "max_by" else values
    return int(window._rounds(argument, {"window": n, "count": count})[0])


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator: the ratio at every window until it is ten."""
    windows, count, turns = SIZES[context.size]

    def measured(operator: str) -> list[Row]:
        rows: list[Row] = []
        for n in windows:
            sides = {
                "flat_fat": partial(_side, FlatFat, operator, n, count),
                "recalc": partial(_side, Recalc, operator, n, count),
            }
            best = in_turns(sides, turns)
            rows.append({"n": n, "ratio": best["recalc"] / best["flat_fat"]})
            if rows[-1]["ratio"] >= 12:
                break
        return rows

    return [Cell({"operator": operator}, partial(measured, operator)) for operator in OPERATORS]


def point(rows: list[Row], operator: str, ratio: float) -> int | None:
    """Return the smallest window from which on incremental is `ratio` times as fast."""
    chosen = sorted(
        (row for row in rows if row["operator"] == operator), key=lambda row: int(row["n"])
    )
    reached = None
    for row in reversed(chosen):
        if row["ratio"] < ratio:
            break
        reached = int(row["n"])
    return reached


def claims(rows: list[Row]) -> list[Claim]:
    """Judge the order of magnitude of both points."""
    names = list(dict.fromkeys(row["operator"] for row in rows))
    even = {name: point(rows, name, 1) for name in names}
    ten = {name: point(rows, name, 10) for name in names}
    reached = [n for n in even.values() if n is not None]
    tenfold = [n for n in ten.values() if n is not None]
    return [
        Claim(
            "incremental breaks even at small windows (10 to 370)",
            len(reached) == len(names) and max(reached, default=0) <= 1_000,
            f"{len(reached)} of {len(names)} operators break even, at {min(reached, default=0)} to "
            f"{max(reached, default=0)}",
        ),
        Claim(
            "incremental is ten times as fast at windows below 10,000 (700 to 5,810)",
            len(tenfold) == len(names) and max(tenfold) < 10_000,
            f"{len(tenfold)} of {len(names)} are ten times as fast, from "
            f"{min(tenfold, default=0)} to {max(tenfold, default=0)} on",
        ),
    ]


def charts(rows: list[Row]) -> list[Chart]:
    """Return both points as bars."""
    names = list(dict.fromkeys(row["operator"] for row in rows))
    series = [
        Series(label, names, [float(point(rows, name, ratio) or 0) for name in names])
        for label, ratio in (("break-even", 1), ("ten times as fast", 10))
    ]
    title = "smallest window (0: not reached)"
    return [Chart(title, "", "window size n", series, kind="bars", log_x=False, log_y=True)]


FIGURE = Figure(
    "reactive.table3",
    "Reactive Aggregator table 3: break-even points",
    "Incremental computation breaks even at windows of 10 to 370 and is ten times as fast at 700 "
    "to 5,810.",
    cells,
    claims,
    charts,
    remark="Count and collect are left out: the paper finds that they never break even.",
)
