"""Memory management: with and without the deferred free list, two allocators."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, measured_apart
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series, where
from benchmarks.papers.rounds import LEVELS

# window, bulk, rounds
SIZES = {
    "smoke": (2**8, 2**5, 8),
    "quick": (2**16, 2**12, 2**7),
    "default": (2**22, 2**12, 2**11),
    "full": (2**22, 2**12, 50_000),
}
MIMALLOC = "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2"  # from Debian's libmimalloc2.0
PROGRAM = """
import json, sys
from benchmarks.papers.rounds import rounds
window, bulk, count, eager = map(int, sys.argv[1:5])
steps = rounds("fiba4", "sum", window=window, bulk=bulk, count=count, bulk_evict=True,
               eager=bool(eager), timed="evict")
print(*steps.tolist())
"""


def _apart(plan: tuple[int, int, int], eager: bool, library: str | None) -> Row:
    old = os.environ.get("LD_PRELOAD")
    try:
        if library:
            os.environ["LD_PRELOAD"] = library
        steps = np.array(measured_apart(PROGRAM, *plan[:2], plan[2], int(eager)))
    finally:
        os.environ.pop("LD_PRELOAD", None)
        if old is not None:
            os.environ["LD_PRELOAD"] = old
    quantiles = np.percentile(steps, LEVELS, method="higher")
    return {
        "quantiles": json.loads(json.dumps(quantiles.tolist())),
        "median": float(np.median(steps)),
        "p999": float(np.percentile(steps, 99.9)),
    }


def cells(context: Context) -> list[Cell]:
    """Return one cell per allocator and way; without mimalloc only the default one."""
    window, bulk, count = SIZES[context.size]
    allocators: dict[str, str | None] = {"libc": None}
    if Path(MIMALLOC).exists():
        allocators["mimalloc"] = MIMALLOC

    def measured(allocator: str, eager: bool) -> list[Row]:
        name = f"{allocator}, {'eager' if eager else 'deferred'}"
        row = _apart((window, bulk, count), eager, allocators[allocator])
        return [{"side": name, **row}]

    return [
        Cell({"allocator": allocator, "eager": eager}, partial(measured, allocator, eager))
        for allocator in allocators
        for eager in (False, True)
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Judge the free list and the allocator."""
    median = {(row["allocator"], row["eager"]): row["median"] for row in rows}
    ratio = median[("libc", True)] / median[("libc", False)]
    found = [
        Claim(
            "without the deferred free list bulk evicts are much slower",
            ratio >= 2,
            f"{ratio:.1f}x slower without it",
        )
    ]
    if ("mimalloc", False) in median:
        other = median[("mimalloc", False)] / median[("libc", False)]
        found.append(
            Claim(
                "mimalloc makes little difference",
                0.5 <= other <= 2,
                f"with mimalloc {other:.2f}x the time",
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return violins of the four ways."""
    series = [Series(row["side"], [], row["quantiles"]) for row in where(rows)]
    title = "bulk evict of FiBA 4, sum"
    return [Chart(title, "", "nanoseconds per bulk", series, kind="violins", log_y=True)]


FIGURE = Figure(
    "bulk.fig10",
    "Bulk FiBA figure 10: the deferred free list and the allocator",
    "The deferred free list is indispensable; mimalloc makes little difference.",
    cells,
    claims,
    charts,
    remark="Nodes lie in an arena. Without the list, all nodes of an evicted bulk are freed at "
    "once. mimalloc is measured if Debian's libmimalloc2.0 is installed.",
)
