"""Traces of the trees: nodes with their times and aggregates."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_lowercase
from typing import Any

from slidefold import reference
from slidefold.reference.operators import Concat, Counting
from tools.docs.svg import FAINT, Drawing
from tools.docs.traces import plural

LETTER, PAD, LEVEL, EDGE, CAPTIONS = 7.2, 8.0, 58.0, 14.0, 215.0
TALL = 38.0
FILLS = {"inner": "#ede9fe", "left": "#dbeafe", "right": "#dcfce7", "up": "#fef3c7"}
MEANINGS = {
    "left": "left spine",
    "inner": "root: inner",
    "right": "right spine",
    "up": "up: its subtree",
}

# A method and its arguments. Values are letters, in time order.
Step = tuple[str, Any]
STEPS: dict[str, tuple[Step, ...]] = {
    "fiba": (
        ("fill", range(2, 15, 2)),
        ("insert", 16),
        ("insert", 18),
        ("insert", 20),
        ("insert", 9),
        ("insert", 11),
        ("evict", 2),
        ("evict", 12),
        ("bulk_insert", (19, 21, 22, 23)),
        ("bulk_evict", 15),
    ),
    "btree": (
        ("fill", range(2, 15, 2)),
        ("insert", 16),
        ("insert", 18),
        ("insert", 9),
        ("evict", 2),
        ("evict", 8),
        ("bulk_evict", 11),
    ),
}


def letter(time: int) -> str:
    """Return the value at a time."""
    return ascii_lowercase[time - 1]


def draw_tree(name: str) -> str:
    """Run the steps and draw the tree after each, from top to bottom."""
    kind = {"fiba": reference.Fiba, "btree": reference.BTree}[name]
    operator: Any = Counting(Concat())
    tree: Any = kind(operator)
    picture = Drawing(f"{kind.__name__}: a trace")
    kinds = tuple(MEANINGS) if name == "fiba" else ("up",)
    top, x, width = 12.0, EDGE, 0.0
    for meaning in kinds:
        picture.box(x, top, 14, 14, fill=FILLS[meaning])
        picture.text(x + 19, top + 11, MEANINGS[meaning], size=11)
        x += len(MEANINGS[meaning]) * 6.7 + 34
        width = max(width, x)
    top += 36
    for step in STEPS[name]:
        before = operator.combines
        caption = _take(tree, *step)
        spent = operator.combines - before
        tree.check()
        picture.text(EDGE, top + 14, caption, size=11.5, bold=True)
        picture.text(EDGE, top + 28, plural(spent, "combine"), size=9.5, fill=FAINT)
        before = operator.combines
        result = tree.query()
        spent = operator.combines - before
        picture.text(EDGE, top + 44, f"query: {plural(spent, 'combine')}", size=9.5, fill=FAINT)
        picture.text(EDGE, top + 57, str(result), size=9.5, fill=FAINT)
        right, bottom = _draw(picture, tree, name == "fiba", top)
        width = max(width, right)
        picture.line([(EDGE, bottom + 8), (right, bottom + 8)], stroke="#e5e7eb")
        top = bottom + 18
    return picture.done(width + EDGE, top)


def _take(tree: Any, method: str, what: Any) -> str:
    """Run a step, and return its caption."""
    if method == "fill":
        for time in what:
            tree.insert(time, letter(time))
        return f"insert {', '.join(map(str, what))}"
    if method == "insert":
        late = tree.youngest is not None and what < tree.youngest
        tree.insert(what, letter(what))
        return f"insert {what}{', late' if late else ''}"
    if method == "bulk_insert":
        tree.bulk_insert(what, [letter(time) for time in what])
        return f"bulk_insert {', '.join(map(str, what))}"
    getattr(tree, method)(what)
    return f"{method} {'until ' if method == 'bulk_evict' else ''}{what}"


def _lines(node: Any) -> tuple[str, str]:
    """Return the times of a node with their values, and its aggregate."""
    entries = zip(node.times, node.values, strict=True)
    return " ".join(f"{time}{value}" for time, value in entries), node.agg or "-"


def _width(node: Any) -> float:
    return max(map(len, _lines(node))) * LETTER + 2 * PAD


def _kind(node: Any, fingers: bool) -> str:
    if not fingers or node.has_agg_up:
        return "up"
    if node.is_root:
        return "inner"
    return "left" if node.left_spine else "right"


def _draw(picture: Drawing, tree: Any, fingers: bool, top: float) -> tuple[float, float]:
    """Draw a tree; return its right edge and its bottom."""
    middles: dict[Any, float] = {}
    right = _place(tree.root, CAPTIONS, middles)
    depth = 0
    level: list[Any] = [tree.root]
    while level:
        y = top + depth * LEVEL
        for node in level:
            times, agg = _lines(node)
            wide, x = _width(node), middles[node]
            for child in node.children:
                picture.line([(x, y + TALL), (middles[child], y + LEVEL)])
            picture.box(x - wide / 2, y, wide, TALL, fill=FILLS[_kind(node, fingers)])
            picture.text(x, y + 16, times, size=12, anchor="middle", bold=True)
            picture.text(x, y + 33, agg, size=11, anchor="middle", fill="#4b5563")
        level = [child for node in level for child in node.children]
        depth += 1
    return right, top + max(depth * LEVEL - LEVEL + TALL, 60)


def _place(node: Any, left: float, middles: dict[Any, float]) -> float:
    """Compute the middle of each node's box in a subtree; return where the subtree ends."""
    end = left
    for child in node.children:
        end = _place(child, end, middles)
    if node.children:
        ends: Iterable[float] = (middles[node.children[0]], middles[node.children[-1]])
        middles[node] = sum(ends) / 2
        return max(end, middles[node] + _width(node) / 2 + 10)
    middles[node] = left + _width(node) / 2
    return left + _width(node) + 10
