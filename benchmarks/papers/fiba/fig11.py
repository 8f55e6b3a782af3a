"""Throughput by the distance of late events, from the adversarial generator of section 5.1.1."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row
from benchmarks.papers.fiba import CLASSIC, FINGERS, OURS
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, curves, where
from benchmarks.papers.rounds import PAPER_OPERATORS, combines, speeds, total
from benchmarks.papers.shapes import per_doubling, spread, values

SIDES = (*FINGERS, *CLASSIC, OURS)
# window, window of bloom, steps between powers, rounds, rounds with bloom, turns
SIZES = {
    "smoke": (2**6, 2**6, 3, 2**6, 2**5, 1),
    "quick": (2**16, 2**12, 4, 2**15, 2**10, 2),
    "default": (2**22, 2**20, 3, 2**18, 2**13, 1),
    "full": (2**22, 2**20, 1, 200_000_000, 10_000_000, 1),
}
COUNTED = 2**14  # a window that is large enough to count combines


def distances(window: int, step: int) -> list[int]:
    """Return the distances from 0 to the window."""
    powers = range(0, window.bit_length() - 1, step)
    return [0, *(2**power for power in powers), window]


def cells(context: Context) -> list[Cell]:
    """Return one cell per operator and distance, and the counts."""
    window, bloom_window, step, count, bloom_count, turns = SIZES[context.size]

    def measured(operator: str, n: int, rounds: int, d: int) -> list[Row]:
        sides = {
            side: partial(total, side, operator, window=n, count=rounds, distance=d)
            for side in SIDES
        }
        return speeds(sides, rounds, turns)

    def counted(n: int, d: int) -> list[Row]:
        return [combines(side, window=n, count=n // 2, distance=d) for side in SIDES]

    small = min(window, COUNTED)
    found = [
        Cell({"operator": "counted", "n": small, "d": d}, partial(counted, small, d))
        for d in distances(small, max(step, 2))
    ]
    for operator in PAPER_OPERATORS:
        bloom = operator == "bloom"
        n, rounds = (bloom_window, bloom_count) if bloom else (window, count)
        found += [
            Cell({"operator": operator, "n": n, "d": d}, partial(measured, operator, n, rounds, d))
            for d in distances(n, step)
        ]
    return found


def claims(rows: list[Row]) -> list[Claim]:
    """Judge the growth with log d, the flat classic tree, and the start."""
    counts = where(rows, operator="counted")
    n = counts[0]["n"]
    inner = [row for row in counts if 0 < row["d"] < n // 2]
    slope, fit = per_doubling(
        values(inner, "d", side="fiba4"), values(inner, "combines", side="fiba4")
    )
    flat = max(
        spread(values([row for row in counts if row["d"] < n], "combines", side=side))
        for side in CLASSIC
    )
    start = {row["side"]: row["combines"] for row in where(counts, d=0)}
    ahead = min(
        start[classic] / start[finger] for finger, classic in zip(FINGERS, CLASSIC, strict=True)
    )
    found = [
        Claim(
            "finger trees follow log d",
            slope > 0 and fit >= 0.8,
            f"{slope:.2f} more combines per doubling of d, r2 = {fit:.2f}",
            promised=True,
        ),
        Claim(
            "classic B-trees do not depend on d",
            flat <= 1.5,
            f"their combines vary by {flat:.2f}x over d < n",
            promised=True,
        ),
        Claim(
            "at d = 0 a finger tree does less than the classic tree of its arity",
            ahead > 1,
            f"at least {ahead:.1f}x fewer combines at d = 0",
            promised=True,
        ),
    ]
    for operator in dict.fromkeys(row["operator"] for row in rows if "ns" in row):
        chosen = where(rows, operator=operator)
        first = {row["side"]: row["million_per_second"] for row in where(chosen, d=0)}
        ratio = max(first[side] for side in FINGERS) / max(first[side] for side in CLASSIC)
        found.append(
            Claim(
                "at d = 0 the best finger tree is several times as fast as the best classic tree",
                ratio >= 2,
                f"the best finger tree has {ratio:.1f}x the throughput at d = 0",
                about=operator,
            )
        )
        last = {row["side"]: row["million_per_second"] for row in where(chosen, d=chosen[0]["n"])}
        far = max(row["d"] for row in chosen if row["d"] < chosen[0]["n"])
        before = {row["side"]: row["million_per_second"] for row in where(chosen, d=far)}
        upticks = sum(last[side] > before[side] for side in (*FINGERS, *CLASSIC))
        found.append(
            Claim(
                "all trees are faster at d = n, where the window is a stack",
                upticks >= 5,
                f"{upticks} of 6 trees are faster at d = n than at d = {far}",
                about=operator,
            )
        )
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return throughput against the distance; d = 0 is drawn at 1/2."""
    shown = [{**row, "d": row["d"] or 0.5} for row in rows if "ns" in row]
    return [
        Chart(
            f"{operator}, n = {where(shown, operator=operator)[0]['n']:,}",
            "distance d (0 at the left)",
            "million items per second",
            curves(where(shown, operator=operator), "d", "million_per_second", grey=(OURS,)),
        )
        for operator in dict.fromkeys(row["operator"] for row in shown)
    ]


FIGURE = Figure(
    "fiba.fig11",
    "FiBA figure 11: throughput by out-of-order distance",
    "Finger trees are several times as fast as classic B-trees at small d and follow log d; "
    "classic trees do not depend on d; all are faster at d = n.",
    cells,
    claims,
    charts,
    remark="Bloom filters run at n = 2^20, because 2^22 of them do not fit in memory.",
)
