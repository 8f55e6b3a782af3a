"""Latency of a bulk evict or insert, for figures 7 to 9."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.harness import Row
from benchmarks.papers.bulk import run
from benchmarks.papers.figure import Cell, Chart, Context, Series, where
from benchmarks.papers.rounds import PAPER_OPERATORS, latencies

# window, window of bloom, bulk, rounds, rounds with bloom, turns
SIZES = {
    "smoke": (2**7, 2**7, 2**4, 2**4, 2**3, 1),
    "quick": (2**16, 2**12, 2**10, 2**9, 2**4, 2),
    "default": (2**22, 2**20, 2**10, 2**12, 2**7, 3),
    "full": (2**22, 2**20, 2**10, 200_000, 20_000, 1),
}
COUNTED = 2**14


def cells(
    context: Context, *, sides: tuple[str, ...], part: str, late: bool, insert: bool
) -> list[Cell]:
    """Return one cell per operator; `part` is what is timed, `late` sets d to the bulk's size."""
    window, bloom_window, bulk, count, bloom_count, turns = SIZES[context.size]

    def plan(n: int, rounds: int, m: int) -> dict[str, Any]:
        d = m if late else 0
        return {"window": n, "count": rounds, "bulk": m, "distance": d, "timed": part}

    def measured(operator: str) -> list[Row]:
        bloom = operator == "bloom"
        n, rounds = (bloom_window, bloom_count) if bloom else (window, count)
        options = plan(n, rounds, bulk)
        return latencies(
            {side: partial(run, side, operator, insert=insert, **options) for side in sides}, turns
        )

    def counted(m: int) -> list[Row]:
        options = plan(min(window, COUNTED), 64, m)
        found = []
        for side in sides:
            steps = run(side, "sum", insert=insert, counted=True, **options)
            worst = int(steps.max())
            found.append({"side": side, "combines": float(steps.mean()), "worst_combines": worst})
        return found

    bulks = [m for m in (2**4, 2**6, 2**8, 2**10) if 4 * m <= min(window, COUNTED)]
    return [
        *(Cell({"operator": "counted", "m": m}, partial(counted, m)) for m in bulks),
        *(Cell({"operator": name, "m": bulk}, partial(measured, name)) for name in PAPER_OPERATORS),
    ]


def charts(rows: list[Row]) -> list[Chart]:
    """Return violins per operator."""
    return [
        Chart(
            f"{operator}, m = {where(rows, operator=operator)[0]['m']:,}",
            "",
            "nanoseconds per bulk",
            [Series(row["side"], [], row["quantiles"]) for row in where(rows, operator=operator)],
            kind="violins",
            log_y=True,
        )
        for operator in dict.fromkeys(row["operator"] for row in rows if "quantiles" in row)
    ]
