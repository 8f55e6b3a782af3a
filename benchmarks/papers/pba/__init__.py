"""Parallel Boundary Aggregation: section 5.

All sides fold the rows of a slide into a slice first. The others then insert one slice, and evict
the oldest, where PBA and SBA merge by chunks.
"""

from __future__ import annotations

from typing import Any

import slidefold as sf
from benchmarks.papers.rounds import OPERATORS, rounds
from benchmarks.workloads import Array, column
from slidefold.algorithms import Pba, Sba

SIDES = ("pba", "sba", "two_stacks", "slick_deque", "recalc")


def run(
    side: str, operator: str, length: int, slide: int, count: int, values: Array | None = None,
    **plan: Any,
) -> Array:  # fmt: skip
    """Run `count` slides of a window of `length` rows."""
    rows = column(2**20) if values is None else values
    if side in ("pba", "sba"):
        kind: Any = Pba if side == "pba" else Sba
        make: sf.Operator = OPERATORS[operator]()
        window = kind(make, range=length, slide=slide, counted=plan.get("counted", False))
        options = {"count": count, "timed": plan.get("timed", "run")}
        options["count_combines"] = plan.get("counted", False)
        result: Array = window._rounds(rows, options)
        return result
    return rounds(
        side, operator, values=rows, window=length // slide, slice=slide, count=count, **plan
    )


def total(side: str, operator: str, length: int, slide: int, count: int, **plan: Any) -> int:
    """Return the nanoseconds of a whole run."""
    return int(run(side, operator, length, slide, count, **plan)[0])
