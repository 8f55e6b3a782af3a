"""The generated parts of the algorithm pages: invariants, costs, papers, measurements."""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType
from typing import Any

import slidefold as sf
from slidefold import reference
from tools.docs.curves import SHOWN, WORDS, measured, rows, source
from tools.docs.words import header, invariants, paragraph, wrapped

# Every algorithm with a page, by its native name; a keyed set is many windows, and has one too.
CLASSES: dict[str, type[Any]] = {
    **sf.algorithms.REGISTRY,
    "sba": sf.algorithms.Sba,
    "pba": sf.algorithms.Pba,
    **sf.algorithms.TREES,
}


def readable(name: str) -> ModuleType:
    """The module of the readable version."""
    kind = getattr(reference, CLASSES[name].__name__)
    return importlib.import_module(kind.__module__)


def part(name: str, which: str) -> str:
    """A part of a readable version's header."""
    module = readable(name)
    if which == "invariants":
        return invariants(module)
    if which == "merging":  # the second half of Sba and Pba
        return invariants(importlib.import_module("slidefold.reference.boundary"))
    return paragraph(header(module)[which.capitalize()])


def measured_table(name: str) -> str:
    """What was measured of an in-order algorithm."""
    lines = ["| measured | |", "|---|---|"]
    lines += [f"| {what} | {number} |" for what, number in measured(name)]
    operator = WORDS[SHOWN[name][0]]
    remark = (
        f"The operator is the {operator}; a step is evict, insert and query. Combines are "
        "counted when this page is generated. The worst time is that of the slowest step when each "
        "step counts with its fastest of five rounds, so that it is the algorithm's and not the "
        f"machine's. From {source('latency')}."
    )
    return "\n".join([*lines, "", wrapped(remark)])


def late_data() -> str:
    """The time that late events take, where it was recorded."""
    if not rows("late_data"):
        return "How long that takes is not recorded yet: `make bench BENCH=late_data` measures it."
    picture = "![Time of a late event](../img/curve-late-time.svg)"
    return f"{picture}\n\n{wrapped('From ' + source('late_data') + '.')}"


def overview() -> str:
    """A row for each algorithm: its page and what its class says."""
    lines = ["| algorithm | in short |", "|---|---|"]
    for name, kind in CLASSES.items():
        said = (inspect.getdoc(kind) or "").split("\n\n")[0]
        page = name.replace("_", "-")
        lines.append(f"| [`{kind.__name__}`]({page}.md) | {' '.join(said.split())} |")
    return "\n".join(lines)


REGION = re.compile(r"(<!-- generated: ([^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def region(words: str) -> str:
    """What stands between the marks `generated: <words>` and `end`."""
    kind, _, name = words.partition(" ")
    if kind == "overview":
        return overview()
    if kind == "measured":
        return measured_table(name)
    if kind == "late":
        return late_data()
    if kind == "source":
        return wrapped(f"From {source(name)}.")
    return part(name, kind)


def filled(text: str) -> str:
    """A page with its generated regions as they should be."""
    return REGION.sub(lambda match: f"{match[1]}{region(match[2])}\n{match[3]}", text)
