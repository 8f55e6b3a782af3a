"""RA against base intervals, for several operators."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, Series, where
from benchmarks.papers.reactive import AW, RA, firing
from benchmarks.papers.rounds import in_turns
from benchmarks.papers.shapes import spread, typical, values

OPERATORS = ("sum", "max", "geomean", "std")
# windows, items, turns
SIZES: dict[str, tuple[tuple[int, ...], int, int]] = {
    "smoke": ((8, 64), 2**7, 1),
    "quick": ((8, 2**13), 2**14, 3),
    "default": ((8, 2**13, 2**21), 2**19, 3),
    "full": ((8, 2**13, 2**23), 40_000_000, 3),
}


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator and window: the relative time."""
    windows, items, turns = SIZES[context.size]

    def measured(operator: str, n: int) -> list[Row]:
        best = in_turns(
            {side: partial(firing, side, operator, n, 1, items) for side in (RA, AW)}, turns
        )
        return [{"ratio": best[AW] / best[RA]}]

    return [
        Cell({"operator": operator, "n": n}, partial(measured, operator, n))
        for operator in OPERATORS
        for n in windows
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Judge that the operator matters little, and that RA is faster."""
    sizes = sorted({row["n"] for row in rows})
    apart = max(spread(values(rows, "ratio", n=n)) for n in sizes)
    usual = {n: typical(values(rows, "ratio", n=n)) for n in sizes}
    low = min(values(rows, "ratio"))
    high = max(values(rows, "ratio"))
    return [
        Claim(
            "the operator makes little difference",
            apart <= 2,
            f"the relative time varies by {apart:.2f}x between operators",
        ),
        Claim(
            "AW takes 1.02 to 1.39x as long as RA",
            low >= 0.95 and high <= 2,
            f"AW takes {low:.2f} to {high:.2f}x as long",
        ),
        Claim(
            "the gap widens with the window",
            usual[sizes[-1]] > usual[sizes[0]],
            ", ".join(f"{ratio:.2f}x at n = {n:,}" for n, ratio in usual.items()),
        ),
    ]


def charts(rows: list[Row]) -> list[Chart]:
    """Return the relative time as bars."""
    series = [
        Series(
            f"n = {n:,}",
            [row["operator"] for row in where(rows, n=n)],
            values(rows, "ratio", n=n),
        )
        for n in sorted({row["n"] for row in rows})
    ]
    return [Chart("time of AW / time of RA", "", "ratio", series, kind="bars", log_x=False)]


FIGURE = Figure(
    "reactive.table4",
    "Reactive Aggregator table 4: base intervals by operator",
    "AW takes 1.02x as long at n = 8 and 1.35 to 1.39x at 8 M, whatever the operator.",
    cells,
    claims,
    charts,
    remark="Geomean stands for the arithmetic mean and min_count, which have no static template.",
)
