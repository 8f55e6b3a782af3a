"""Compare slidefold with what people use today: the table and the chart of the README."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from benchmarks.goals import ratios
from benchmarks.harness import RESULTS, Row, load, shown
from tools.docs.svg import Drawing
from tools.docs.words import wrapped


@dataclass(frozen=True)
class Peer:
    """One way to compute windows today, and the recorded cases measured on both sides."""

    name: str
    work: str
    figure: str
    part: str | None  # of the figure; None if it has one part
    side: str
    own: str
    cost: str
    keys: tuple[str, ...]
    operators: tuple[str, ...] = ()  # only these; all of them if empty

    def cases(self) -> list[tuple[float, str]]:
        """Return how many times as long the peer takes, and where, for each case; sorted."""
        rows: list[Row] = [
            row
            for row in load(self.figure, RESULTS)
            if (self.part is None or row["part"] == self.part)
            and (not self.operators or row["operator"] in self.operators)
            and self.cost in row
        ]
        return sorted(ratios(rows, self.side, self.own, self.cost, *self.keys))


_TABLE = ("ms_per_million", ("operator", "keys", "window"))
_SPARK = ("us_per_row", ("operator", "keys", "frame"))
_TIMED = "sum, max and std over time windows, 1 to 100,000 keys"
PEERS = (
    Peer("Polars", _TIMED, "rolling", "time window", "polars", "slidefold", *_TABLE),
    Peer("pandas", _TIMED, "rolling", "time window", "pandas", "slidefold", *_TABLE),
    Peer("DuckDB", _TIMED, "rolling", "time window", "duckdb", "slidefold", *_TABLE),
    Peer(
        "Spark `OVER`",
        "all measured operators, 1 to 100,000 keys, frames of 10 to 10,000 rows",
        "spark_batch",
        "by key",
        "spark",
        "slidefold",
        *_SPARK,
    ),
    Peer(
        "Spark streaming",
        "sliding windows of 1 and 10 minutes every second",
        "stream",
        "slide",
        "spark",
        "slidefold",
        "us_per_row",
        ("x",),
    ),
    Peer(
        "river",
        "a rolling sum, event by event, windows of 16 to 100,000",
        "per_event",
        None,
        "river",
        "push",
        "ns_per_event",
        ("operator", "window"),
        ("sum",),
    ),
)


def times(ratio: float) -> str:
    """Format a ratio: 0.88x, 2.1x, 34x, 1,200x."""
    return f"{shown(float(f'{ratio:.2g}'))}x"


def measured() -> Iterator[tuple[Peer, list[tuple[float, str]]]]:
    """Yield the peers that were measured, with their cases."""
    for peer in PEERS:
        cases = peer.cases()
        if cases:
            yield peer, cases


def speed_table(link: str) -> str:
    """Return the small table of ratios; `link` leads to the page of benchmarks."""
    lines = [
        "| instead of | for | worst case | median | best case |",
        "|---|---|---:|---:|---:|",
    ]
    for peer, cases in measured():
        values = [value for value, _ in cases]
        cells = (times(value) for value in (values[0], median(values), values[-1]))
        anchor = f"{link}#{peer.figure.replace('_', '-')}"
        lines.append(f"| [{peer.name}]({anchor}) | {peer.work} | {' | '.join(cells)} |")
    return "\n".join(lines)


# The figures with other libraries: our side, theirs, the cost, and what makes a case.
_RIVALS: tuple[tuple[str, str, tuple[str, ...], str, tuple[str, ...]], ...] = (
    (
        "rolling",
        "slidefold",
        ("polars", "pandas", "duckdb", "bottleneck", "numba by hand"),
        "ms_per_million",
        ("part", "operator", "keys", "window"),
    ),
    (
        "operators",
        "slidefold",
        ("polars", "pandas", "duckdb", "bottleneck"),
        "ns_per_row",
        ("part", "operator", "window"),
    ),
    (
        "per_event",
        "push",
        ("river", "rolling iterator", "rolling live", "python class", "python inlined"),
        "ns_per_event",
        ("operator", "window"),
    ),
    (
        "throughput",
        "two_stacks_lite",
        ("numba",),
        "ns_per_row",
        ("operator", "mode", "window"),
    ),
    (
        "spark_batch",
        "slidefold",
        ("spark", "spark tree"),
        "us_per_row",
        ("part", "operator", "keys", "frame"),
    ),
    (
        "stream",
        "slidefold",
        ("spark", "transformWithState", "applyInPandasWithState"),
        "us_per_row",
        ("part", "x"),
    ),
)


def losses() -> list[tuple[str, str, str, float]]:
    """Return every case in which another side is faster: figure, side, case, ratio."""
    found = []
    for figure, own, sides, cost, keys in _RIVALS:
        rows = [{**row, "case": case(row, keys)} for row in load(figure, RESULTS) if cost in row]
        for side in sides:
            cases = sorted(ratios(rows, side, own, cost, "case"))
            found += [(figure, side, where, value) for value, where in cases if value < 1]
    return found


def losses_sentence(link: str) -> str:
    """Tell how often and who is faster than slidefold; the table shows chosen work only."""
    found = losses()
    sides = Counter(side for _, side, _, _ in found)
    words = ", ".join(f"{side} in {n}" for side, n in sides.most_common())
    return wrapped(
        f"The worst case is that of the work in the row. Of {compared():,} measured cases, with "
        f"more operators and windows, another side is faster in "
        f"[{len(found):,}]({link}#where-others-are-faster): {words}."
    )


def case(row: Row, keys: tuple[str, ...]) -> str:
    """Describe what was measured: "5% late, sum, 1,000 keys, window of 1,000"."""
    words = {"keys": "{:,} keys", "window": "window of {:,}", "frame": "frames of {:,} rows"}
    return ", ".join(words.get(key, "{}").format(row[key]) for key in keys)


def compared() -> int:
    """Return how many cases are compared with other sides."""
    return sum(
        len(list(ratios([r for r in load(figure, RESULTS) if cost in r], side, own, cost, *keys)))
        for figure, own, sides, cost, keys in _RIVALS
        for side in sides
    )


@dataclass(frozen=True)
class Colours:
    """The colours of a chart on a light or a dark page."""

    text: str
    faint: str
    grid: str
    bar: str
    dot: str
    card: str


LIGHT = Colours("#1f2937", "#6b7280", "#e5e7eb", "#99e0d5", "#0f766e", "#ffffff")
DARK = Colours("#e6edf3", "#9aa6b2", "#30363d", "#134e4a", "#2dd4bf", "#0d1117")

# On a phone the picture is 370 pixels wide: it is narrow and its words are large, so that they are
# still 10 pixels high there.
LEFT, WIDE, STEP, TOP = 156.0, 300.0, 36.0, 66.0


def speed_chart(colours: Colours) -> str:
    """Draw for each peer the range of its ratios, with a dot at the median."""
    title = "How many times as long it takes as slidefold"
    picture = Drawing(title, card=colours.card)
    chosen = list(measured())
    values = [value for _, cases in chosen for value, _ in cases]
    low = math.floor(math.log10(min(*values, 0.9)) * 2) / 2
    high = math.ceil(math.log10(max(values)) * 2) / 2

    def at(ratio: float) -> float:
        return LEFT + WIDE * (math.log10(ratio) - low) / (high - low)

    picture.text(16, 24, title, size=16, bold=True, fill=colours.text)
    picture.text(16, 46, "bar: worst to best case; dot: median", size=14, fill=colours.faint)
    bottom = TOP + STEP * len(chosen)
    for tick in (0.1, 1, 10, 100, 1000, 10_000):
        if low <= math.log10(tick) <= high:
            x = at(tick)
            same = tick == 1
            picture.line(
                [(x, TOP - 4), (x, bottom)],
                stroke=colours.text if same else colours.grid,
                width=1.5 if same else 1,
            )
            words = "as fast" if same else f"{tick:,g}x"
            picture.text(x, bottom + 18, words, size=14, anchor="middle", fill=colours.faint)
    for place, (peer, cases) in enumerate(chosen):
        y = TOP + STEP * place + STEP / 2
        ratios_here = [value for value, _ in cases]
        first, last, middle = ratios_here[0], ratios_here[-1], median(ratios_here)
        name = peer.name.replace("`", "")
        picture.text(LEFT - 12, y + 5, name, size=15, anchor="end", fill=colours.text)
        picture.box(
            at(first), y - 8, max(at(last) - at(first), 3), 16, fill=colours.bar, stroke="none"
        )
        picture.dot(at(middle), y, fill=colours.dot, radius=6)
        right = LEFT + WIDE + 66
        picture.text(
            right, y + 5, times(middle), size=15, anchor="end", fill=colours.dot, bold=True
        )
    picture.text(right, TOP - 10, "median", size=14, anchor="end", fill=colours.faint)
    return picture.done(right + 12, bottom + 32)
