"""Cost by window size, for figures 6 to 11: the same sweep over other sides and bulks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from benchmarks.harness import Row
from benchmarks.papers.figure import Cell, Chart, Context, curves, where
from benchmarks.papers.reactive import firing
from benchmarks.papers.rounds import in_turns

# the largest window, the steps between powers, items, turns
SIZES = {
    "smoke": (2**5, 2, 2**7, 1),
    "quick": (2**14, 4, 2**14, 2),
    "default": (2**22, 2, 2**19, 3),
    "full": (2**23, 1, 120_000_000, 3),
}
OPERATORS = ("max", "std")
Bulk = Callable[[int], int]
FIXED: dict[str, Bulk] = {
    "m=1": lambda n: 1,
    "m=4": lambda n: min(4, n),
    "m=64": lambda n: min(64, n),
    "m=n/16": lambda n: max(n // 16, 1),
    "m=n/4": lambda n: max(n // 4, 1),
    "m=n": lambda n: n,
}


def speed_of(side: str, taken: int, items: int, firings: int) -> Row:
    """Return the row of a side: its cost per tuple and per firing."""
    return {
        "side": side,
        "ns": taken / items,
        "us": taken / items / 1e3,
        "us_per_firing": taken / firings / 1e3,
        "million_per_second": 1e3 * items / max(taken, 1),
    }


def cells(
    context: Context,
    *,
    sides: tuple[str, ...],
    bulks: Mapping[str, Bulk],
    operators: tuple[str, ...] = OPERATORS,
    largest: int | None = None,
    counts: bool = False,
) -> list[Cell]:
    """Return one cell per operator and window; each has all sides and bulks."""
    top, step, items, turns = SIZES[context.size]
    top = min(top, largest or top)

    def runs(operator: str, n: int, few: int) -> dict[str, Any]:
        found = {}
        for side in sides:
            for label, bulk in bulks.items():
                m = bulk(n)
                count = max(few // m, 1)
                name = side if len(bulks) == 1 else label if len(sides) == 1 else f"{side} {label}"
                found[name] = (partial(firing, side, operator, n, m, count), count * m, count)
        return found

    def measured(operator: str, n: int) -> list[Row]:
        few = min(items, max(2**24 // n, 64)) if "recalc" in sides else items
        chosen = runs(operator, n, few)
        best = in_turns({name: run for name, (run, *_) in chosen.items()}, turns)
        return [speed_of(name, best[name], *chosen[name][1:]) for name in chosen]

    def counted(n: int) -> list[Row]:
        return [
            {"side": name, "combines": run(counted=True) / done}
            for name, (run, done, _) in runs("max", n, 4 * n).items()
        ]

    windows = [2**k for k in range(0, top.bit_length(), step)]
    few = [n for n in windows if 4 <= n <= 2**14] if counts else []
    return [
        *(Cell({"operator": "counted", "n": n}, partial(counted, n)) for n in few),
        *(
            Cell({"operator": operator, "n": n}, partial(measured, operator, n))
            for operator in operators
            for n in windows
        ),
    ]


def charts(rows: list[Row], *, y: str = "us", label: str = "microseconds per tuple") -> list[Chart]:
    """Return one chart per operator."""
    return [
        Chart(operator, "window size n", label, curves(where(rows, operator=operator), "n", y))
        for operator in dict.fromkeys(row["operator"] for row in rows if y in row)
    ]
