"""Plots of `benchmarks/results/*.json`, and of combines that are counted on generation."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import slidefold as sf
from tools.docs.svg import FAINT, Drawing

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
INKS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
LEFT, TOP, WIDE, TALL = 56.0, 34.0, 470.0, 230.0

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Plot:
    """Lines over logarithmic axes."""

    title: str
    across: str  # the title of the x axis
    lines: dict[str, Points]  # in the order of the legend; the first one is drawn thicker

    def draw(self) -> str:
        """Return the picture, with a legend on the right."""
        picture = Drawing(self.title)
        xs = [math.log2(x) for points in self.lines.values() for x, _ in points]
        ys = [y for points in self.lines.values() for _, y in points]
        ticks = _ticks(min(ys), max(ys))
        low, high = math.log10(ticks[0]), math.log10(ticks[-1])
        first, last = math.floor(min(xs)), math.ceil(max(xs))

        def at(x: float, y: float) -> tuple[float, float]:
            across = (math.log2(x) - first) / (last - first)
            up = (math.log10(y) - low) / (high - low)
            return LEFT + across * WIDE, TOP + TALL * (1 - up)

        picture.text(LEFT, 20, self.title, size=12, bold=True)
        for tick in ticks:
            y = at(2**first, tick)[1]
            picture.line([(LEFT, y), (LEFT + WIDE, y)], stroke="#e5e7eb")
            picture.text(LEFT - 6, y + 4, f"{tick:g}", size=10, anchor="end", fill=FAINT)
        step = max(1, math.ceil((last - first) / 9))
        for power in range(first, last + 1, step):
            x = at(2.0**power, ticks[0])[0]
            picture.line([(x, TOP), (x, TOP + TALL)], stroke="#f3f4f6")
            label = f"2^{power}" if power > 9 else str(2**power)
            picture.text(x, TOP + TALL + 16, label, size=10, anchor="middle", fill=FAINT)
        words_at = TOP + TALL + 34
        picture.text(LEFT + WIDE / 2, words_at, self.across, size=10.5, anchor="middle")
        for place, (name, points) in reversed(list(enumerate(self.lines.items()))):
            ink = INKS[place % len(INKS)]
            shown = [at(x, y) for x, y in points]
            picture.line(shown, stroke=ink, width=1.5 if place else 3)
            for x, y in shown:
                picture.dot(x, y, fill=ink, radius=2 if place else 3)
            y = TOP + 12 + place * 18
            picture.line(
                [(LEFT + WIDE + 16, y - 4), (LEFT + WIDE + 34, y - 4)], stroke=ink, width=3
            )
            picture.text(LEFT + WIDE + 40, y, name, size=11, bold=not place)
        width = LEFT + WIDE + 52 + 6.8 * max(map(len, self.lines))
        return picture.done(width, words_at + 12)


def _ticks(least: float, most: float) -> list[float]:
    """Return round numbers from below the least to above the most: 1, 2, 5, 10, 20, ..."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    every = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    start = max(tick for tick in every if tick <= least)
    end = min(tick for tick in every if tick > most)
    return [tick for tick in every if start <= tick <= end]


def rows(figure: str) -> list[dict[str, Any]]:
    """Return the recorded rows of a figure; none if it is not recorded yet."""
    path = RESULTS / f"{figure}.json"
    if not path.exists():
        return []
    recorded: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return recorded


def source(figure: str) -> str:
    """Return the file, date, commit and machine of the numbers of a figure."""
    document = json.loads((RESULTS / f"{figure}.json").read_text(encoding="utf-8"))
    machine = document["machine"]
    return (
        f"`benchmarks/results/{figure}.json`, {document['date'][:10]}, commit "
        f"`{document['commit'][:10]}`, {machine['cores']} cores of {machine['cpu']}"
    )


# The operator that an algorithm is shown with, and the algorithms that it is compared with.
SHOWN: dict[str, tuple[str, tuple[str, ...]]] = {
    "recalc": ("sum", ("two_stacks_lite",)),
    "subtract_on_evict": ("sum_int64", ("two_stacks_lite", "daba_lite", "recalc")),
    "two_stacks": ("sum", ("two_stacks_lite", "daba", "recalc")),
    "two_stacks_lite": ("sum", ("two_stacks", "daba_lite", "recalc")),
    "daba": ("sum", ("daba_lite", "two_stacks", "recalc")),
    "daba_lite": ("sum", ("daba", "two_stacks_lite", "recalc")),
    "flat_fat": ("sum", ("amta", "two_stacks_lite", "recalc")),
    "b_int": ("sum", ("flat_fat", "amta", "two_stacks_lite")),
    "flat_fit": ("sum", ("flat_fat", "two_stacks_lite", "recalc")),
    "slick_deque": ("max", ("two_stacks_lite", "daba_lite", "recalc")),
    "amta": ("sum", ("flat_fat", "two_stacks_lite", "recalc")),
    "sba": ("sum", ("pba", "two_stacks_lite", "recalc")),
    "pba": ("sum", ("sba", "two_stacks_lite", "recalc")),
}
EVERYBODY = ("two_stacks_lite", "daba_lite", "sba", "daba", "two_stacks", "amta", "flat_fit")
WORDS = {"sum": "sum of float64", "max": "max of float64", "sum_int64": "sum of int64"}


def throughput(name: str) -> str:
    """Plot the time per row over a whole column against the window; `all` shows all algorithms."""
    operator, others = ("sum", (*EVERYBODY[1:], "flat_fat")) if name == "all" else SHOWN[name]
    lines: dict[str, Points] = {
        side: [
            (row["window"], row["ns_per_row"])
            for row in rows("throughput")
            if (row["operator"], row["mode"], row["side"]) == (operator, "static", side)
        ]
        for side in (EVERYBODY[0] if name == "all" else name, *others)
    }
    title = f"slide() over a column, {WORDS[operator]}: ns per row"
    return Plot(title, "rows in the window", lines).draw()


# ---- counted combines ----------------------------------------------------------------------------

DISTANCES = tuple(2**power for power in range(15))


def late_combines() -> str:
    """Plot the combines of an insert and an evict against the distance from the young end."""
    size = 2 * DISTANCES[-1]
    lines: dict[str, Points] = {}
    trees: dict[str, Any] = {  # with equal arities
        "Fiba": sf.algorithms.Fiba(sf.sum(), min_arity=4, max_arity=8, counted=True),
        "BTree": sf.algorithms.BTree(sf.sum(), min_arity=4, counted=True),
    }
    for label, tree in trees.items():
        tree.bulk_insert([2 * time for time in range(size)], [1.0] * size)
        lines[label] = [(d, _combines(tree, 2 * (size - d))) for d in DISTANCES]
    title = f"one late insert into {size:,} times, then its evict: combines"
    return Plot(title, "times between the event and the youngest", lines).draw()


def _combines(tree: Any, near: int) -> float:
    """Return the average over some places near a time; each insert is evicted again."""
    places = range(near - 63, near + 1, 2) if near > 200 else (near - 1,)
    before = tree.combines
    for place in places:
        tree.insert(place, 1.0)
        tree.evict(place)
    return float(tree.combines - before) / len(places)


STEPS_OF = 1000


def counted(name: str) -> tuple[float, int]:
    """Return the average and the most combines per step (evict, insert, query), at 1,000 values."""
    operator = {"subtract_on_evict": sf.sum(dtype="int64"), "slick_deque": sf.max()}.get(
        name, sf.sum()
    )
    window: Any = sf.algorithms.REGISTRY[name](operator, counted=True)
    values = [(7919 * i) % 10007 for i in range(4 * STEPS_OF)]
    for value in values[:STEPS_OF]:
        window.insert(value)
    steps = []
    for value in values[STEPS_OF:]:
        before = window.combines
        window.evict()
        window.insert(value)
        window.query()
        steps.append(window.combines - before)
    return sum(steps) / len(steps), max(steps)


def time_of(nanoseconds: float) -> str:
    """Format a time: 25 ns, 1.2 us, 6.4 ms."""
    for unit, size in (("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def measured(name: str) -> list[tuple[str, str]]:
    """Return the counts and recorded measurements of an in-order algorithm: (what, number)."""
    lines = []
    if name in sf.algorithms.REGISTRY:
        average, most = counted(name)
        what = f"combines per step, {STEPS_OF:,} values: average, worst"
        lines.append((what, f"{average:.2f}, {most:,}"))
    operator = SHOWN[name][0]
    for row in rows("latency"):
        if (row["operator"], row["side"]) == (operator, name):
            what = f"time per step, {row['window']:,} values: median, 99.9%, worst"
            steps = (row["p50_ns"], row["p99_9_ns"], row["steady_max_ns"])
            lines.append((what, ", ".join(map(time_of, steps))))
    for row in rows("memory"):
        if (row["operator"], row["side"]) == (operator, name):
            share = row["nbytes"] / row["window"]
            what = f"bytes per value, {row['window']:,} values of {row['state_bytes']} bytes"
            lines.append((what, f"{share:.1f}"))
    return lines


def two_threads() -> str:
    """Plot Sba and Pba over long windows."""
    lines: dict[str, Points] = {
        side: [
            (row["window"], 1e3 / row["million_rows_per_second"])
            for row in rows("parallel")
            if row["side"] == side
        ]
        for side in ("pba", "sba")
    }
    return Plot("one and two threads over a column: ns per row", "rows in the window", lines).draw()


def late_throughput() -> str | None:
    """Plot the time of a tree's slide against the distance of late events, if recorded."""
    lines: dict[str, Points] = {}
    for row in rows("late_data"):
        if row["part"] == "distance, constant" and row["x"]:
            speed = row["million_slides_per_second"]
            lines.setdefault(row["side"], []).append((row["x"], 1e3 / speed))
    if not lines:
        return None
    return Plot("late events in a tree: ns per slide", "places an event is late", lines).draw()
