"""Traces of Sba and Pba, whose `push` also evicts and queries."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

from slidefold import reference
from slidefold.reference.operators import Concat, Counting
from tools.docs.frames import Cell, Frame, draw
from tools.docs.traces import plural

RANGE, PUSHES = 6, 12
LEGEND = (
    ("front", "lcs: from here to the end of its chunk"),
    ("value", "a slice of the open chunk"),
    ("back", "csa: the open chunk"),
    ("total", "the window"),
)


def draw_boundary(kind: type[Any]) -> str:
    """Push letters through windows of 6 rows; chunks are 4 rows, the optimum."""
    operator: Any = Counting(Concat())
    window = kind(operator, RANGE)
    frames = []
    for letter in ascii_lowercase[:PUSHES]:
        here, there = operator.combines, operator.elsewhere
        result = window.push(letter)
        for chunk in window.core.chunks:
            chunk.wait()  # combines on another thread belong to this push
        here, there = operator.combines - here, operator.elsewhere - there
        window.check()
        cost = plural(here, "combine") + (f", {there} elsewhere" if kind.threaded else "")
        note = f"result: {result}" if result else ""
        frames.append(Frame(f"push {letter}", cost, _cells(window), {}, note))
    return draw(f"{kind.__name__}: a trace", frames, LEGEND)


def _cells(window: Any) -> list[Cell]:
    core, newest = window.core, window.seen
    oldest = core.oldest * core.chunk
    cells = [Cell(at, ascii_lowercase[at], "gone") for at in range(oldest)]
    at = oldest
    for chunk in core.chunks:
        for state in chunk.lcs:
            cells.append(Cell(at, state, "front"))
            at += 1
    if core.saa:
        cells.append(Cell(at, core.csa, "back", 1, len(core.saa)))
    cells += [Cell(place, state, "value") for place, state in enumerate(core.saa, at)]
    if newest >= RANGE:
        parts = " + ".join(window.sub_aggregates())
        cells.append(Cell(newest - RANGE, parts, "total", 2, RANGE))
    return cells


BOUNDARY_TRACES = {"sba": reference.Sba, "pba": reference.Pba}
