"""What the tests of Fiba and BTree share: the oracle, arrivals, and trees planted by hand."""

from __future__ import annotations

from typing import Any

from slidefold.reference import Fiba
from slidefold.reference import operators as ops
from slidefold.reference.tree_node import Node

# A leaf is its times; any other node its times and its children: ([4], [[2], [6]]).
Shape = Any

# Figure 1 of the bulk paper, which is state C of figure 3 of the first: there is no entry at 16.
LEFT: Shape = ([3, 5], [[1, 2], [4], [6]])
MIDDLE: Shape = ([9, 12], [[8], [10, 11], [13, 14]])
FIGURE_1: Shape = ([7, 15], [LEFT, MIDDLE, ([20], [[17, 18, 19], [21, 22]])])


def letter(time: int) -> str:
    """Return the value that the figures have at a time: a at 1, b at 2."""
    return chr(96 + time)


def plant(shape: Shape, make: Any = Fiba, min_arity: int = 2) -> Any:
    """Make a tree of the given shape, with the letters of its times."""
    tree = make(ops.Concat(), min_arity)
    tree.root = _node(shape, None)
    if make is Fiba:
        _mark_spines(tree)
    for node in tree.root.below():
        if node.has_agg_up or not isinstance(tree, Fiba):
            node.agg = tree._aggregate(node)
    tree.root.agg = tree._aggregate(tree.root)
    if isinstance(tree, Fiba):
        tree._repair_left_below(tree.root)
        tree._repair_right_below(tree.root)
    tree.check()
    return tree


def shape_of(tree: Any) -> Shape:
    """Return the shape of a tree, as `plant` takes it."""
    return _shape(tree.root)


def _node(shape: Shape, parent: Node[str] | None) -> Node[str]:
    times, children = shape if isinstance(shape, tuple) else (shape, [])
    node = Node("", parent)
    node.extend(times, [letter(time) for time in times], [])
    node.children = [_node(child, node) for child in children]
    return node


def _mark_spines(tree: Any) -> None:
    left = right = tree.root
    while left.children:
        left, right = left.children[0], right.children[-1]
        left.left_spine = right.right_spine = True


def _shape(node: Node[str]) -> Shape:
    if node.is_leaf:
        return node.times
    return (node.times, [_shape(child) for child in node.children])
