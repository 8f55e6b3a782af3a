"""Throughput by bulk size or by distance, for figures 11 to 14."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.harness import Row
from benchmarks.papers.bulk import SIDES, TREES, total
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, curves, where
from benchmarks.papers.rounds import PAPER_OPERATORS, speeds
from benchmarks.papers.shapes import best, ratios, spread, typical, values

# window, window of bloom, bulks, distances, items, items with bloom, turns
SIZES: dict[str, tuple[Any, ...]] = {
    "smoke": (2**7, 2**7, (1, 2**4), (0, 2**4), 2**7, 2**6, 1),
    "quick": (2**15, 2**12, (1, 2**5, 2**10), (0, 2**5, 2**10), 2**15, 2**11, 2),
    "default": (2**22, 2**20, tuple(2**k for k in range(0, 19, 3)), (0, *(2**k for k in
                range(0, 21, 4))), 2**20, 2**15, 3),
    "full": (2**22, 2**20, tuple(2**k for k in range(19)), (0, *(2**k for k in range(22))),
             200_000_000, 10_000_000, 5),
}  # fmt: skip


def cells(
    context: Context, *, x: str, m: int = 1, insert: bool = True, sides: tuple[str, ...] = SIDES
) -> list[Cell]:
    """Return one cell per operator and `x`, which is m or d."""
    window, bloom_window, bulks, distances, items, bloom_items, turns = SIZES[context.size]

    def measured(operator: str, bulk: int, d: int) -> list[Row]:
        bloom = operator == "bloom"
        n, few = (bloom_window, bloom_items) if bloom else (window, items)
        count = max(few // bulk, 2)
        plan = {"window": n, "count": count, "bulk": bulk, "distance": d, "insert": insert}
        return speeds(
            {side: partial(total, side, operator, **plan) for side in sides}, count * bulk, turns
        )

    def points(operator: str) -> list[tuple[int, int]]:
        n = bloom_window if operator == "bloom" else window
        if x == "m":
            return [(bulk, 0) for bulk in bulks if 4 * bulk <= n]
        bulk = min(m, n // 8)
        return [(bulk, d) for d in distances if d + bulk <= n]

    return [
        Cell({"operator": name, "m": bulk, "d": d}, partial(measured, name, bulk, d))
        for name in PAPER_OPERATORS
        for bulk, d in points(name)
    ]


def charts(rows: list[Row], *, x: str) -> list[Chart]:
    """Return throughput against m or d, one chart per operator."""
    shown = [{**row, "d": row["d"] or 0.5} for row in rows]
    label = "bulk size m" if x == "m" else "distance d (0 at the left)"
    return [
        Chart(
            operator,
            label,
            "million items per second",
            curves(where(shown, operator=operator), x, "million_per_second"),
        )
        for operator in dict.fromkeys(row["operator"] for row in rows)
    ]


def by_bulk(rows: list[Row]) -> list[Claim]:
    """Judge the gain of larger bulk evicts, and the winner."""
    found = []
    for operator in dict.fromkeys(row["operator"] for row in rows):
        chosen = where(rows, operator=operator)
        speed = values(chosen, "million_per_second", side="b_fiba4")
        amta = values(chosen, "million_per_second", side="amta")
        winner = best(chosen, "million_per_second")
        found += [
            Claim(
                "larger bulks raise the throughput of FiBA and AMTA",
                max(speed) > 1.1 * speed[0] and max(amta) > 1.1 * amta[0],
                f"up to {max(speed) / speed[0]:.1f}x and {max(amta) / amta[0]:.1f}x of m = 1",
                about=operator,
            ),
            Claim(
                "Two-Stacks Lite has the best throughput in order",
                winner == "two_stacks_lite",
                f"{winner} is the best",
                about=operator,
            ),
        ]
    return found


def by_bulk_inserts(rows: list[Row]) -> list[Claim]:
    """Judge the gain of larger bulks of both kinds, up to about 2^12 and beyond."""
    found = []
    largest = max(row["m"] for row in rows)
    for operator in dict.fromkeys(row["operator"] for row in rows):
        chosen = where(rows, operator=operator)
        gains, kept = {}, {}
        for side in dict.fromkeys(row["side"] for row in chosen):
            speed = {row["m"]: row["million_per_second"] for row in where(chosen, side=side)}
            best_ = max(value for m, value in speed.items() if m <= 2**12)
            gains[side] = best_ / speed[1]
            kept[side] = speed[largest] / best_
        found.append(
            Claim(
                "the throughput of all algorithms rises with m up to about 2^12",
                min(gains.values()) > 1.1,
                f"{min(gains, key=gains.__getitem__)} gains the least: {min(gains.values()):.2f}x",
                about=operator,
            )
        )
        if largest >= 2**16:
            found.append(
                Claim(
                    "it drops when m gets very large",
                    typical(list(kept.values())) < 1,
                    f"typically {typical(list(kept.values())):.2f}x at m = {largest:,}",
                    about=operator,
                )
            )
    return found


def by_distance(rows: list[Row], *, bulk: bool) -> list[Claim]:
    """Judge that bulks do not slow down with d, and bulk against single calls."""
    found = []
    for operator in dict.fromkeys(row["operator"] for row in rows):
        chosen = where(rows, operator=operator)
        late = [row for row in chosen if row["d"] > 0]
        gain = typical(ratios(chosen, "million_per_second", "b_fiba4", "nb_fiba4", by="d"))
        if bulk:
            flat = spread(values(late, "million_per_second", side="b_fiba4"))
            found += [
                Claim(
                    "the distance does not slow bulks down",
                    flat <= 3,
                    f"within {flat:.1f}x over d > 0",
                    about=operator,
                ),
                Claim(
                    "bulks are faster than single calls",
                    gain > 1,
                    f"bulks have {gain:.1f}x the throughput of single calls",
                    about=operator,
                ),
            ]
        else:
            found.append(
                Claim(
                    "at m = 1 bulk calls have no advantage",
                    0.3 <= gain <= 1.2,
                    f"{gain:.2f}x the throughput of single calls",
                    about=operator,
                )
            )
    return found


def figure(number: int, title: str, found: str, *, x: str, **options: Any) -> Figure:
    """Return one of the four figures."""
    judge: Callable[[list[Row]], list[Claim]] = partial(by_distance, bulk=options.get("m", 1) > 1)
    if x == "m":
        judge = by_bulk_inserts if options.get("insert", True) else by_bulk
    return Figure(
        f"bulk.fig{number}",
        f"Bulk FiBA figure {number}: {title}",
        found,
        partial(cells, x=x, **({**options, "sides": TREES} if x == "d" else options)),
        judge,
        partial(charts, x=x),
        remark="Bloom filters run at n = 2^20, because 2^22 of them do not fit in memory.",
    )
