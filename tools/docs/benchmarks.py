"""The page of benchmarks: every figure with its goals, and where others are faster."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from benchmarks.goals import READERS, Goal
from benchmarks.harness import RESULTS, load
from tools.docs.comparisons import compared, losses, speed_table, times
from tools.docs.curves import source
from tools.docs.words import wrapped

FIGURES = Path(__file__).parents[2] / "benchmarks" / "figures"

HEAD = """# Benchmarks

Everything on this page is generated from `benchmarks/results/`, which holds each figure with its
date, commit and machine. `make bench BENCH=<figure>` runs a figure again and checks its goals.

![How many times as long others take](img/speed-light.svg#only-light)
![How many times as long others take](img/speed-dark.svg#only-dark)

## Instead of what people use today

A number is the time of the other side divided by the time of slidefold for the same work. The worst
case is the worst of all cases that are measured of the work in the row. Other work is below, and in
some of it others are faster.
"""
LOSSES = """## Where others are faster
"""
MISSED = """## Goals that are missed

A goal is judged by its worst case. These are not reached yet.
"""


def description(figure: str) -> str:
    """Return the docstring of a figure's module, which is not imported: it needs the peers."""
    text = (FIGURES / f"{figure}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(text)) or ""


def page() -> str:
    """Return the whole page."""
    goals = {figure: list(read(load(figure, RESULTS))) for figure, read in READERS.items()}
    parts = [HEAD, speed_table(""), "", LOSSES, *_losses()]
    missed = [goal for group in goals.values() for goal in group if goal.met is False]
    parts += ["", MISSED, *_table(missed)] if missed else []
    for figure, group in goals.items():
        parts += ["", f"## {_title(figure)} {{ #{figure.replace('_', '-')} }}", ""]
        parts += [_paragraphs(description(figure)), "", *_table(group), ""]
        recorded = (RESULTS / f"{figure}.json").exists()
        parts.append(wrapped(f"From {source(figure)}." if recorded else "Not recorded yet."))
    return "\n".join(parts) + "\n"


def _title(figure: str) -> str:
    return figure.replace("_", " ").capitalize()


def _paragraphs(text: str) -> str:
    """Return the paragraphs of a docstring; indented ones are not prose, and stay out."""
    chosen = [part for part in text.split("\n\n") if not part.startswith(" ")]
    return "\n\n".join(wrapped(" ".join(part.split())) for part in chosen)


def _losses() -> Iterator[str]:
    found = losses()
    yield wrapped(
        f"Of {compared():,} cases that are measured with another library, by hand in Python or "
        f"numba, or with Spark, the other side is faster in {len(found):,}:"
    )
    yield ""
    yield "| faster | case | its time / ours |"
    yield "|---|---|---:|"
    for figure, side, where, value in found:
        link = f"[{side}](#{figure.replace('_', '-')})"
        yield f"| {link} | {where} | {times(value)} |"


def _table(goals: list[Goal]) -> Iterator[str]:
    yield "| goal | target | measured (worst case) | met |"
    yield "|---|---|---|---|"
    verdicts = {True: "yes", False: "**no**", None: "not measured"}
    for goal in goals:
        cells = (goal.goal, goal.target.replace("<", "&lt;"), goal.measured, verdicts[goal.met])
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
