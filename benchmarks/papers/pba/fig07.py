"""Latency of single windows, with seven summaries (tables 2 and 3)."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.harness import Row
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series, where
from benchmarks.papers.pba import run
from benchmarks.papers.rounds import distribution
from benchmarks.workloads import Array

MAX = ("two_stacks", "slick_deque", "sba", "pba")
MOMENTS = ("two_stacks", "sba", "pba")  # SlickDeque takes selective operators only
SECOND = 100  # rows
# windows of max and of moments, their ranges in rows for max and in slides of one second for
# moments, turns
SIZES: dict[str, tuple[int, int, tuple[int, ...], tuple[int, ...], int]] = {
    "smoke": (200, 200, (2**4,), (6,), 1),
    "quick": (20_000, 20_000, (2**11, 2**12), (600,), 2),
    "default": (200_000, 50_000, (2**13, 2**14), (3_600, 7_200), 3),
    "full": (1_000_000, 1_000_000, (2**13, 2**14), (3_600, 7_200), 3),
}
WARM = 0.03  # the paper reports the last 970,000 of a million windows


def summary(steps: list[Array]) -> Row:
    """Return the quantiles and the paper's seven summaries."""
    best = np.minimum.reduce(steps)
    late = best[int(WARM * len(best)) :]
    low, middle, high = (float(value) for value in np.percentile(late, [25, 50, 75]))
    return {
        **distribution([late]),
        "avg": float(late.mean()),
        "lq": low,
        "med": middle,
        "hq": high,
    }


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator and range."""
    windows, slow_windows, ranges, seconds, turns = SIZES[context.size]

    def measured(operator: str, length: int, slide: int, sides: tuple[str, ...]) -> list[Row]:
        steps: dict[str, list[Array]] = {side: [] for side in sides}
        count = windows if operator == "max" else slow_windows
        for _ in range(turns):
            for side in sides:
                steps[side].append(run(side, operator, length, slide, count, timed="round"))
        return [{"side": side, **summary(runs)} for side, runs in steps.items()]

    return [
        *(
            Cell({"operator": "max", "range": n}, partial(measured, "max", n, 1, MAX))
            for n in ranges
        ),
        *(
            Cell(
                {"operator": "moments", "range": n},
                partial(measured, "moments", n * SECOND, SECOND, MOMENTS),
            )
            for n in seconds
        ),
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Judge spikes and their growth with the range."""
    found = []
    for operator in dict.fromkeys(row["operator"] for row in rows):
        chosen = where(rows, operator=operator)
        spike = {
            side: max(row["max"] for row in where(chosen, side=side))
            for side in dict.fromkeys(row["side"] for row in chosen)
        }
        found.append(
            Claim(
                "Two-Stacks has spikes far above its median",
                spike["two_stacks"] >= 20 * where(chosen, side="two_stacks")[0]["med"],
                f"Two-Stacks has a window of {spike['two_stacks']:,} ns",
                about=operator,
            )
        )
        ranges = sorted({row["range"] for row in chosen})
        if len(ranges) > 1:
            slow = {n: where(chosen, side="two_stacks", range=n)[0]["max"] for n in ranges}
            growth = slow[ranges[-1]] / slow[ranges[0]]
            found.append(
                Claim(
                    "the spikes of Two-Stacks grow with the range",
                    growth >= 1.3,
                    f"the slowest window takes {growth:.1f}x as long at "
                    f"{ranges[-1] / ranges[0]:g}x the range",
                    about=operator,
                )
            )
        found.append(
            Claim(
                "PBA has no spikes like those of SBA",
                2 * spike["pba"] < spike["sba"],
                f"the slowest window takes {spike['pba']:,} ns with PBA and "
                f"{spike['sba']:,} ns with SBA",
                about=operator,
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return violins, and the seven summaries as bars."""
    found = []
    for operator, length in dict.fromkeys((row["operator"], row["range"]) for row in rows):
        chosen = where(rows, operator=operator, range=length)
        found.append(
            Chart(
                f"{operator}, {length:,} {'rows' if operator == 'max' else 'seconds'}",
                "",
                "nanoseconds per window",
                [Series(row["side"], [], row["quantiles"]) for row in chosen],
                kind="violins",
                log_y=True,
            )
        )
        names = ("min", "max", "avg", "std", "lq", "med", "hq")
        found.append(
            Chart(
                f"{operator}, {length:,}: the seven summaries",
                "",
                "nanoseconds",
                [Series(row["side"], names, [row[name] for name in names]) for row in chosen],
                kind="bars",
                log_x=False,
                log_y=True,
            )
        )
    return found


FIGURE = Figure(
    "pba.fig7",
    "PBA figure 7, tables 2 and 3: latency",
    "Two-Stacks and SBA have spikes that grow with the range; PBA and SlickDeque have none.",
    cells,
    claims,
    charts,
    remark="SlickDeque takes selective operators only, so it is not measured with moments. Each "
    "window counts with its best time of several runs.",
)
