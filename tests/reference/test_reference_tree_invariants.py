"""check() of Fiba and BTree sees each numbered invariant break, and names it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from slidefold.errors import InvariantError
from slidefold.reference import BTree, Fiba
from slidefold.reference import operators as ops
from slidefold.reference.tree_node import Node
from tests.reference.tree_cases import FIGURE_1, plant

Spoil = Callable[[Any], None]


def numbers_of(module: str) -> set[int]:
    """The invariants that a module's docstring lists."""
    text = importlib.import_module(f"slidefold.reference.{module}").__doc__ or ""
    return {int(n) for n in re.findall(r"^  I(\d+) ", text, re.MULTILINE)}


def node(tree: Any, *path: int) -> Any:
    """Return the node that a path of children leads to, from the root."""
    found = tree.root
    for place in path:
        found = found.children[place]
    return found


def agg(*path: int) -> Spoil:
    """Spoil an aggregate."""

    def spoil(tree: Any) -> None:
        node(tree, *path).agg = "?"

    return spoil


def flag(name: str, value: bool, *path: int) -> Spoil:
    """Set a spine flag."""
    return lambda tree: setattr(node(tree, *path), name, value)


def finger(name: str, *path: int) -> Spoil:
    """Put a finger elsewhere."""
    return lambda tree: setattr(tree, name, node(tree, *path))


def fell_a_level(tree: Any) -> None:
    """Put a leaf where a node with leaves was."""
    leaf: Node[str] = Node("", tree.root)
    leaf.extend([8], ["h"])
    tree.root.children[1] = leaf


def swap_within(tree: Any) -> None:
    node(tree, 0, 0).times.reverse()


def swap_across(tree: Any) -> None:
    first, second = node(tree, 1, 0), node(tree, 1, 1)
    first.times[0], second.times[0] = second.times[0], first.times[0]


def twice(tree: Any) -> None:
    node(tree, 0, 0).times[0] = 2


def empty_leaf(tree: Any) -> None:
    node(tree, 1, 0).take(0)


def crowd(tree: Any) -> None:
    node(tree, 2, 1).extend([23, 24], ["w", "x"])


def orphan_entry(tree: Any) -> None:
    """Take an entry from between two children, which both stay."""
    middle = node(tree, 1)
    middle.times.pop()
    middle.values.pop()


def bare_root(tree: Any) -> None:
    """Leave the root one child, and no entry."""
    tree.root.times, tree.root.values = [], []
    tree.root.children = tree.root.children[:1]


def stranger(tree: Any) -> None:
    node(tree, 1, 1).parent = node(tree, 0)


def root_with_parent(tree: Any) -> None:
    tree.root.parent = Node("")


SHARED: list[tuple[int, Spoil]] = [
    (1, fell_a_level),
    (2, swap_within),
    (2, swap_across),
    (2, twice),
    (3, empty_leaf),
    (3, crowd),
    (3, orphan_entry),
    (3, bare_root),
    (4, stranger),
    (4, root_with_parent),
]
CASES: dict[str, tuple[Any, list[tuple[int, Spoil]]]] = {
    "btree": (BTree, [*SHARED, (5, agg()), (5, agg(0)), (5, agg(1, 2)), (5, agg(2, 1))]),
    "fiba": (
        Fiba,
        [
            *SHARED,
            (5, flag("left_spine", False, 0)),
            (5, flag("left_spine", False, 0, 0)),
            (5, flag("left_spine", True, 1, 0)),
            (5, flag("right_spine", False, 2, 1)),
            (5, flag("right_spine", True, 0, 2)),
            (5, flag("left_spine", True)),
            (5, finger("left_finger", 1, 0)),
            (5, finger("right_finger", 0, 0)),
            (6, agg(1)),
            (6, agg(0, 1)),
            (6, agg(2, 0)),
            (7, agg()),
            (8, agg(0)),
            (8, agg(0, 0)),
            (9, agg(2)),
            (9, agg(2, 1)),
        ],
    ),
}


@pytest.mark.parametrize(
    ("module", "at"), [(m, i) for m, (_, cases) in CASES.items() for i in range(len(cases))]
)
def test_each_invariant(module: str, at: int) -> None:
    make, cases = CASES[module]
    number, spoil = cases[at]
    tree = plant(FIGURE_1, make)
    spoil(tree)
    with pytest.raises(InvariantError, match=rf"^{make.__name__} breaks I{number}: "):
        tree.check()


@pytest.mark.parametrize("module", CASES)
def test_each_listed_invariant_has_a_case(module: str) -> None:
    assert numbers_of(module) == {number for number, _ in CASES[module][1]}


def test_the_aggregate_is_named_with_its_kind() -> None:
    tree = plant(FIGURE_1)
    tree.left_finger.agg = "ab"
    sentence = r"I8: the left aggregate of the node of \[1, 2\] is wrong \('ab' is not 'abcdef'\)$"
    with pytest.raises(InvariantError, match=sentence):
        tree.check()


def test_check_forgives_only_rounding() -> None:
    tree: Any = Fiba(ops.Sum())
    tree.bulk_insert(range(30), [0.1] * 30)
    tree.check()
    tree.root.agg += 1e-14
    tree.check()
    tree.root.agg += 1e-4
    with pytest.raises(InvariantError, match="Fiba breaks I7"):
        tree.check()
