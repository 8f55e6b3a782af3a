"""Windows whose capacity oscillates between n and 2n."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.figure import Cell, Claim, Context, Figure, where
from benchmarks.papers.reactive import RA, lines
from benchmarks.papers.rounds import speeds, total
from benchmarks.papers.shapes import ratios, typical, values


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator and window: fixed and oscillating."""
    top, step, items, turns = lines.SIZES[context.size]
    if context.size == "default":  # the largest windows take most of the time
        top = min(top, 2**20)

    def plans(n: int, count: int) -> dict[str, dict[str, int | bool]]:
        # A ring of n doubles at n + 1 values, and one of 2n is halved below n / 2.
        return {
            "fixed": {"window": n, "count": count},
            "oscillating": {"window": n + 1, "low": n // 2 - 1, "count": count, "swing": True},
        }

    def measured(operator: str, n: int) -> list[Row]:
        count = max(items, 4 * n)
        sides = {
            name: partial(total, RA, operator, **plan) for name, plan in plans(n, count).items()
        }
        return [{**row, "us": row["ns"] / 1e3} for row in speeds(sides, count, turns)]

    def counted(n: int) -> list[Row]:
        return [
            {"side": name, "combines": total(RA, "max", counted=True, **plan) / (8 * n)}
            for name, plan in plans(n, 8 * n).items()
        ]

    windows = [2**k for k in range(2, top.bit_length(), step)]
    return [
        *(
            Cell({"operator": "counted", "n": n}, partial(counted, n))
            for n in windows
            if n <= 2**14
        ),
        *(
            Cell({"operator": operator, "n": n}, partial(measured, operator, n))
            for operator in lines.OPERATORS
            for n in windows
        ),
    ]


def claims(rows: list[Row]) -> list[Claim]:
    """Judge that resizing is amortised."""
    counts = where(rows, operator="counted")
    more = max(ratios(counts, "combines", "oscillating", "fixed", by="n"))
    found = [
        Claim(
            "the cost of resizing is amortised",
            more <= 2,
            f"at most {more:.2f}x the combines of a fixed capacity",
            promised=True,
        )
    ]
    for operator in lines.OPERATORS:
        chosen = where(rows, operator=operator)
        ratio = typical(ratios(chosen, "ns", "oscillating", "fixed", by="n"))
        found.append(
            Claim(
                "an oscillating capacity is not slower",
                ratio <= 1.2,
                f"{ratio:.2f}x the time of a fixed one over "
                f"{len(values(chosen, 'ns', side='fixed'))} windows",
                about=operator,
            )
        )
    return found


FIGURE = Figure(
    "reactive.fig9",
    "Reactive Aggregator figure 9: oscillating capacity",
    "Resizing is amortised: oscillating windows are even faster, as they hold fewer values.",
    cells,
    claims,
    lines.charts,
    remark="An oscillating window evicts without queries.",
)
