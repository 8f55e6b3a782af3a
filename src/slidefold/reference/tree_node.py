"""The node of a B-tree with entries in all nodes and an aggregate in each node.

Layout: a node of arity a has a - 1 entries in time order; an entry is a time and a lifted value. A
leaf has no children; any other node has a children, and child i holds the entries between its
entries i - 1 and i. The spine flags tell whether a node below the root is the first or the last of
its level. Only the finger B-tree uses them.

Paper: Tangwongsan, Hirzel, Schneider, "Optimal and General Out-of-Order Sliding-Window
Aggregation", sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic

from slidefold.reference.out_of_order import Time
from slidefold.reference.protocols import S


class Node(Generic[S]):
    """Times, values, children, and the aggregate for the node's place in the tree.

    Methods change only this node; a caller that moves children must set their parent.

    >>> leaf = Node("ac")
    >>> leaf.extend([1, 3], ["a", "c"])
    >>> leaf.put(1, 2, "b")
    >>> leaf.times, leaf.parts(), leaf.arity
    ([1, 2, 3], ['a', 'b', 'c'], 4)
    """

    __slots__ = (
        "agg",
        "children",
        "left_spine",
        "parent",
        "right_spine",
        "times",
        "values",
    )

    def __init__(self, agg: S, parent: Node[S] | None = None) -> None:
        self.agg = agg
        self.parent = parent
        self.times: list[Time] = []
        self.values: list[S] = []
        self.children: list[Node[S]] = []
        self.left_spine = False
        self.right_spine = False

    @property
    def arity(self) -> int:
        """Return the number of children, or for a leaf the number that it would have."""
        return len(self.times) + 1

    @property
    def is_leaf(self) -> bool:
        """Tell whether the node has no children."""
        return not self.children

    @property
    def is_root(self) -> bool:
        """Tell whether the node has no parent."""
        return self.parent is None

    @property
    def has_agg_up(self) -> bool:
        """Tell whether the aggregate covers the whole subtree: neither root nor on a spine."""
        return not (self.is_root or self.left_spine or self.right_spine)

    def place(self, child: Node[S]) -> int:
        """Return the index of a child."""
        return next(i for i, other in enumerate(self.children) if other is child)

    def parts(self, *, first: bool = True, last: bool = True) -> list[S]:
        """Return the states to fold, oldest first, optionally without the first or last child."""
        if self.is_leaf:
            return list(self.values)
        states: list[S] = []
        for child, value in zip(self.children, self.values, strict=False):
            states += [child.agg, value]
        states.append(self.children[-1].agg)
        return states[not first : len(states) - (not last)]

    def put(self, at: int, time: Time, value: S, child: Node[S] | None = None) -> None:
        """Insert an entry at index `at`, and the child right after it."""
        self.times.insert(at, time)
        self.values.insert(at, value)
        if child is not None:
            self.children.insert(at + 1, child)

    def take(self, at: int) -> tuple[Time, S]:
        """Remove and return entry `at`; also remove the child right after it."""
        if self.children:
            del self.children[at + 1]
        return self.times.pop(at), self.values.pop(at)

    def extend(
        self, times: Sequence[Time], values: Sequence[S], children: Sequence[Node[S]] = ()
    ) -> None:
        """Add entries and children at the young end."""
        self.times += times
        self.values += values
        self.children += children

    def drop_oldest(self, count: int) -> None:
        """Drop the first `count` entries and as many children."""
        del self.times[:count], self.values[:count], self.children[:count]

    def drop_youngest(self, count: int) -> None:
        """Drop the last `count` entries and as many children."""
        del self.times[len(self.times) - count :], self.values[len(self.values) - count :]
        del self.children[max(0, len(self.children) - count) :]

    def below(self) -> Iterator[Node[S]]:
        """Yield the nodes of the subtree, children before parents."""
        for child in self.children:
            yield from child.below()
        yield self

    def entries(self) -> Iterator[tuple[Time, S]]:
        """Yield the entries of the subtree in time order."""
        for i, entry in enumerate(zip(self.times, self.values, strict=True)):
            if self.children:
                yield from self.children[i].entries()
            yield entry
        if self.children:
            yield from self.children[-1].entries()

    def clone(self, parent: Node[S] | None = None) -> Node[S]:
        """Return a copy of the subtree; states never change, so both share them."""
        twin = Node(self.agg, parent)
        twin.times, twin.values = list(self.times), list(self.values)
        twin.left_spine, twin.right_spine = self.left_spine, self.right_spine
        twin.children = [child.clone(twin) for child in self.children]
        return twin

    def saved(self) -> dict[str, Any]:
        """Return a snapshot of all fields."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {name: list(fields[name]) for name in ("times", "values", "children")}

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore all fields from a snapshot."""
        for name, field in saved.items():
            setattr(self, name, field)
