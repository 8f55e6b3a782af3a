"""The charts of "Which algorithm, and why" and the verdicts, from `benchmarks/results/papers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.papers import FIGURES, record, report
from benchmarks.papers.figure import Context
from tools.docs.curves import RESULTS, Plot
from tools.docs.words import escaped, wrapped

PAPERS = RESULTS / "papers"


@dataclass(frozen=True)
class Chosen:
    """One chart: which rows of which figure, and what of them is drawn."""

    figure: str
    title: str
    across: str
    x: str
    y: str
    sides: tuple[str, ...]
    rows: Mapping[str, Any] = field(default_factory=dict)


CHARTS = {
    "static": Chosen(
        "daba.fig10", "Nanoseconds per round, sum, in order", "window size n", "n", "ns",
        ("two_stacks_lite", "daba_lite", "flat_fit", "fiba4"), {"operator": "sum"},
    ),
    "worst": Chosen(
        "daba.fig10", "Combines of the worst round", "window size n", "n", "worst_combines",
        ("daba_lite", "two_stacks_lite", "flat_fit", "fiba4"), {"operator": "counted"},
    ),
    "distance": Chosen(
        "fiba.fig11", "Nanoseconds per round, sum, late events", "distance d", "d", "ns",
        ("fiba4", "fiba8", "btree4", "btree8"), {"operator": "sum"},
    ),
    "bulk": Chosen(
        "bulk.fig12", "Nanoseconds per value, sum, in bulks", "bulk size m", "m", "ns",
        ("b_fiba4", "nb_fiba4", "amta", "two_stacks_lite"), {"operator": "sum"},
    ),
    "slides": Chosen(
        "pba.fig4", "Nanoseconds per row, max, slide 1", "range in rows", "x", "ns",
        ("sba", "pba", "two_stacks", "slick_deque"), {"part": "range"},
    ),
}  # fmt: skip


def chart(name: str) -> str | None:
    """Return one chart as a picture, or None if not all of its figure is recorded."""
    chosen = CHARTS[name]
    header, rows = record.load(chosen.figure, PAPERS)
    if header is None or record.unfinished(header, rows) is not None:
        return None
    lines = {}
    for side in chosen.sides:
        points = [
            (float(row[chosen.x]), float(row[chosen.y]))
            for row in rows
            if row["side"] == side
            and chosen.y in row
            and row[chosen.x] > 0
            and row[chosen.y] > 0
            and all(row.get(key) == value for key, value in chosen.rows.items())
        ]
        if points:
            lines[side] = points
    return Plot(chosen.title, chosen.across, lines).draw() if lines else None


def pictures() -> dict[str, str]:
    """Return the charts that are recorded, by the name of their file."""
    drawn = {f"papers-{name}": chart(name) for name in CHARTS}
    return {name: picture for name, picture in drawn.items() if picture is not None}


def verdicts() -> str:
    """Return a table with the verdict on each figure that is recorded."""
    results = [report.judged(figure, Context("default"), PAPERS) for figure in FIGURES.values()]
    rows = [result for result in results if result.rows]
    lines = ["| figure | what the paper found | here | run |", "|---|---|---|---|"]
    for result in rows:
        assert result.header is not None
        taken = max(1, round(record.minutes(result.figure.name, PAPERS)))
        run = f"{result.header['size']}, {result.header['date'][:10]}, {taken} min"
        cells = (result.title, result.figure.found, result.verdict, run)
        lines.append(f"| {' | '.join(escaped(cell) for cell in cells)} |")
    missing = [result.figure.name for result in results if not result.rows]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        lines += ["", wrapped(f"Not recorded: {names}.")]
    return "\n".join(lines)


def region(name: str) -> str:
    """Return the verdicts, or a picture and where it comes from, for a page."""
    if name == "verdicts":
        return verdicts()
    chosen = CHARTS[name]
    header, rows = record.load(chosen.figure, PAPERS)
    if header is None or chart(name) is None:
        return "Not recorded yet: `make papers` measures it."
    loads = [float(row["load"]) for row in rows]
    short = "" if header["size"] in ("default", "full") else " Read shapes only: it is a short run."
    words = (
        f"From `benchmarks/results/papers/{chosen.figure}.jsonl`, {header['size']} run of "
        f"{header['date'][:10]}, commit `{str(header['commit'])[:10]}`, "
        f"{header['machine']['cores']} cores of {header['machine']['cpu']}, load average up to "
        f"{max(loads):.1f}.{short}"
    )
    return f"![{chosen.title}](img/papers-{name}.svg)\n\n{wrapped(words)}"
