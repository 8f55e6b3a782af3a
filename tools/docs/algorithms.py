"""The generated parts of the algorithm pages: invariants, costs, papers, measurements."""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType
from typing import Any

import slidefold as sf
from slidefold import reference
from tools.docs import capacity, papers
from tools.docs.comparisons import losses_sentence, speed_table
from tools.docs.curves import SHOWN, WORDS, measured, rows, source
from tools.docs.words import header, invariants, paragraph, wrapped

# Every algorithm with a page, by its native name.
CLASSES: dict[str, type[Any]] = {
    **sf.algorithms.REGISTRY,
    "sba": sf.algorithms.Sba,
    "pba": sf.algorithms.Pba,
    **sf.algorithms.TREES,
}


def readable(name: str) -> ModuleType:
    """Return the module of the reference implementation."""
    kind = getattr(reference, CLASSES[name].__name__)
    return importlib.import_module(kind.__module__)


def part(name: str, which: str) -> str:
    """Return a part of the reference implementation's header."""
    module = readable(name)
    if which == "invariants":
        return invariants(module)
    if which == "merging":  # the second half of Sba and Pba
        return invariants(importlib.import_module("slidefold.reference.boundary"))
    return paragraph(header(module)[which.capitalize()])


def measured_table(name: str) -> str:
    """Return the measurements of an in-order algorithm as a table."""
    lines = ["| measured | |", "|---|---|"]
    lines += [f"| {what} | {number} |" for what, number in measured(name)]
    operator = WORDS[SHOWN[name][0]]
    remark = (
        f"The operator is the {operator}; a step is evict, insert and query. Combines are counted "
        "when this page is generated. The worst time is that of the slowest step, where each step "
        "counts with its fastest time of five rounds, which removes noise of the machine. "
        f"From {source('latency')}."
    )
    return "\n".join([*lines, "", wrapped(remark)])


def late_data() -> str:
    """Return the plot of the time of late events, if it was recorded."""
    if not rows("late_data"):
        return "The time is not recorded yet: `make bench BENCH=late_data` measures it."
    picture = "![Time of a late event](../img/curve-late-time.svg)"
    return f"{picture}\n\n{wrapped('From ' + source('late_data') + '.')}"


def overview() -> str:
    """Return a table with the page and the summary of each algorithm."""
    lines = ["| algorithm | in short |", "|---|---|"]
    for name, kind in CLASSES.items():
        summary = (inspect.getdoc(kind) or "").split("\n\n")[0]
        page = name.replace("_", "-")
        lines.append(f"| [`{kind.__name__}`]({page}.md) | {' '.join(summary.split())} |")
    return "\n".join(lines)


REGION = re.compile(r"(<!-- generated: ([^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def region(words: str) -> str:
    """Return the text between the marks `generated: <words>` and `end`."""
    kind, _, name = words.partition(" ")
    if kind == "overview":
        return overview()
    if kind == "speed":
        return f"{speed_table(name)}\n\n{losses_sentence(name)}"
    if kind == "measured":
        return measured_table(name)
    if kind == "papers":
        return papers.region(name)
    if kind == "capacity":
        return capacity.table()
    if kind == "late":
        return late_data()
    if kind == "source":
        return wrapped(f"From {source(name)}.")
    return part(name, kind)


def filled(text: str) -> str:
    """Return a page with its generated regions up to date."""
    return REGION.sub(lambda match: f"{match[1]}{region(match[2])}\n{match[3]}", text)
