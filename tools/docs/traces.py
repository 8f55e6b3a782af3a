"""Traces of the in-order algorithms, recorded while their reference implementations run.

Values are letters and the operator is concatenation, so that a cell shows which values it has
folded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_lowercase
from typing import Any

from slidefold import reference
from slidefold.reference import NOTHING
from slidefold.reference.operators import Concat, Counting, Max
from tools.docs.frames import Cell, Frame, draw

Legend = tuple[tuple[str, str], ...]
Picture = tuple[list[Cell], dict[float, str], str]  # cells, marks, note
Look = Callable[[Any, int], Picture]  # of a window and the number of evictions so far


@dataclass(frozen=True)
class Trace:
    """A history and a function that shows the structure: i inserts, e evicts, q queries."""

    kind: type[Any]
    history: str
    look: Look
    legend: Legend
    numbers: tuple[int, ...] = ()  # values instead of letters, for operators that compare

    def draw(self) -> str:
        """Run the history and draw each step."""
        name = self.kind.__name__
        operator: Any = Counting(Max() if self.numbers else Concat())
        window = self.kind(operator)
        values = iter(self.numbers or ascii_lowercase)
        frames, evicted = [], 0
        for move in self.history:
            before = operator.combines + operator.choices
            if move == "i":
                value = next(values)
                window.insert(value)
                done = f"insert {value}"
            elif move == "e":
                window.evict()
                evicted += 1
                done = "evict"
            else:
                done = f"query: {window.query()}"
            spent = operator.combines + operator.choices - before
            window.check()  # after counting, since it combines too
            cells, marks, note = self.look(window, evicted)
            what = "comparison" if self.numbers else "combine"
            frames.append(Frame(done, plural(spent, what), cells, marks, note))
        return draw(f"{name}: a trace", frames, self.legend)


def plural(count: int, what: str) -> str:
    """Return a count with its noun: 1 combine, 2 combines."""
    return f"{count} {what}{'' if count == 1 else 's'}"


# ---- the picture of each structure --------------------------------------------------------------


def _gone(evicted: int) -> list[Cell]:
    """Return cells for evicted values, so that the window visibly slides."""
    return [Cell(at, ascii_lowercase[at], "gone") for at in range(evicted)]


def recalc(window: Any, evicted: int) -> Picture:
    """Show the values."""
    cells = [Cell(at, text, "value") for at, text in enumerate(window.values, evicted)]
    return _gone(evicted) + cells, {}, ""


def subtract_on_evict(window: Any, evicted: int) -> Picture:
    """Show the values and the running aggregate."""
    return recalc(window, evicted)[0], {}, f"running: {window.running or '-'}"


def two_stacks(window: Any, evicted: int) -> Picture:
    """Show the front stack with its top on the left, the back stack with its top on the right."""
    items = [("front", item) for item in reversed(window.front)]
    items += [("back", item) for item in window.back]
    cells = _gone(evicted)
    for at, (kind, item) in enumerate(items, evicted):
        cells += [Cell(at, item.val, "value"), Cell(at, item.agg, kind, 1)]
    return cells, {evicted + len(window.front): "B"}, ""


def two_stacks_lite(window: Any, evicted: int) -> Picture:
    """Show one queue: aggregates before B, values after it."""
    cells = [
        Cell(at, state, "front" if at < window.boundary else "value")
        for at, state in enumerate(window.queue, evicted)
    ]
    return _gone(evicted) + cells, {window.boundary: "B"}, f"agg_b: {window.agg_b or '-'}"


SUBLISTS = ("front", "left", "right", "done", "back")


def _pointers(at: Any) -> dict[float, str]:
    names: dict[float, str] = {}
    for name, place in at._asdict().items():
        names[place] = names.get(place, "") + name
    return names


def _sublist(at: Any, place: int) -> str:
    spans = zip(SUBLISTS, pairwise(at), strict=True)
    return next(kind for kind, (start, end) in spans if start <= place < end)


def daba(window: Any, evicted: int) -> Picture:
    """Show values above and aggregates below, in the five sublists."""
    cells = _gone(evicted)
    for at, item in enumerate(window.queue, evicted):
        cells += [Cell(at, item.val, "value"), Cell(at, item.agg, _sublist(window.at, at), 1)]
    return cells, _pointers(window.at), ""


def daba_lite(window: Any, evicted: int) -> Picture:
    """Show one state per value, in the five sublists, and two more."""
    cells = [
        Cell(at, state, _sublist(window.at, at)) for at, state in enumerate(window.queue, evicted)
    ]
    note = f"agg_b: {window.agg_b or '-'}"
    if window.at.L < window.at.R:
        note = f"agg_ra: {window.agg_ra}  {note}"
    return _gone(evicted) + cells, _pointers(window.at), note


def flat_fit(window: Any, evicted: int) -> Picture:
    """Show the aggregate of each slot, and below it where that ends."""
    cells = _gone(evicted)
    for at, slot in enumerate(window.queue, evicted):
        kind = "front" if slot.end > at + 1 else "value"
        cells += [Cell(at, slot.agg, kind), Cell(at, f"to {slot.end}", "total", 1)]
    return cells, {}, ""


def slick_deque(window: Any, evicted: int) -> Picture:
    """Show the window above and the candidates below."""
    cells = [Cell(at, str(v), "value") for at, v in enumerate(window._shadow, evicted)]
    cells += [Cell(at, "", "gone") for at in range(evicted)]
    cells += [Cell(c.position, str(c.state), "front", 1) for c in window.candidates]
    return cells, {}, f"result: {window.candidates[0].state}" if window.candidates else ""


def flat_fat(window: Any, evicted: int) -> Picture:
    """Show the tree over the slots of the ring, with the root on top."""
    tree, cells, line = window.tree, [], 0
    level = 1
    while level <= tree.size:
        wide = tree.size // level
        for place, node in enumerate(range(level, 2 * level)):
            state = tree.nodes[node]
            kind = "gone" if state is NOTHING else "value" if wide == 1 else "front"
            text = "" if state is NOTHING else state
            cells.append(Cell(place * wide, text, kind, line, wide))
        level, line = 2 * level, line + 1
    note = "inverted: suffix, then prefix" if window.inverted else ""
    return cells, {}, note


def amta(window: Any, evicted: int) -> Picture:
    """Show perfect trees, the largest on top; below them the stack, and the values after T."""
    top = max((node.level for node in window.nodes), default=0)
    cells = [
        Cell(start, state, "front" if level else "value", top - level, 2**level)
        for (level, start), state in window.nodes.items()
    ]
    cells += [Cell(at, ascii_lowercase[at], "gone", top) for at in range(evicted)]
    for item in window.stack:
        cells.append(Cell(item.node.start, item.agg, "done", top + 1, 2**item.node.level))
    if window.end > window.split:
        wide = window.end - window.split
        cells.append(Cell(window.split, window.back, "back", top + 1, wide))
    return cells, {window.split: "T"}, ""


def b_int(window: Any, evicted: int) -> Picture:
    """Show the base intervals above their values, the largest on top."""
    top = max((level for level, queue in enumerate(window.levels) if queue), default=0)
    cells = [Cell(at, ascii_lowercase[at], "gone", top) for at in range(evicted)]
    used = set(window.intervals(window.front, window.end))
    for level, queue in enumerate(window.levels):
        first = -(-window.front // 2**level)
        for number, state in enumerate(queue, first):
            kind = "done" if (level, number) in used else "front" if level else "value"
            cells.append(Cell(number << level, state, kind, top - level, 2**level))
    return cells, {}, ""


_TWO: Legend = (("front", "front: from here to B"), ("back", "back: from B to here"))
_SIX: Legend = (
    ("front", "F..L: to B"),
    ("left", "L..R: to R"),
    ("right", "R..A: waiting"),
    ("done", "A..B: to B"),
    ("back", "B..E: the back list"),
)
_LETTERS: Legend = (("value", "a value"), ("gone", "evicted"))

TRACES = {
    "recalc": Trace(reference.Recalc, "iiiqeqiq", recalc, _LETTERS),
    "subtract_on_evict": Trace(reference.SubtractOnEvict, "iiieieeqi", subtract_on_evict, _LETTERS),
    "two_stacks": Trace(reference.TwoStacks, "iiiieiieeeqe", two_stacks, _TWO),
    "two_stacks_lite": Trace(
        reference.TwoStacksLite,
        "iiiieiieeeqe",
        two_stacks_lite,
        (("front", "front: from here to B"), ("value", "back: a value")),
    ),
    "daba": Trace(reference.Daba, "iiiiiiieieie", daba, _SIX),
    "daba_lite": Trace(reference.DabaLite, "iiiiiiieieie", daba_lite, _SIX),
    "flat_fat": Trace(
        reference.FlatFat,
        "iiiieiqieei",
        flat_fat,
        (("value", "a slot of the ring"), ("front", "an inner node"), ("gone", "empty")),
    ),
    "b_int": Trace(
        reference.BInt,
        "iiiiiiieqeeiq",
        b_int,
        (
            ("value", "a value"),
            ("front", "a base interval"),
            ("done", "what a query combines"),
            ("gone", "evicted"),
        ),
    ),
    "flat_fit": Trace(
        reference.FlatFit,
        "iiiiqeiqeiq",
        flat_fit,
        (("value", "its own value"), ("front", "a stretch"), ("total", "where it ends")),
    ),
    "slick_deque": Trace(
        reference.SlickDeque,
        "iiiieiieeq",
        slick_deque,
        (("value", "the window"), ("front", "a candidate")),
        (3, 5, 1, 4, 2, 6, 2, 3),
    ),
    "amta": Trace(
        reference.Amta,
        "iiiiieieee",
        amta,
        (
            ("value", "a value"),
            ("front", "a node"),
            ("done", "the stack: to T"),
            ("back", "after T"),
        ),
    ),
}
