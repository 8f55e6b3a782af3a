"""The node of a B-tree that keeps entries in all its nodes, each with an aggregate.

Layout: a node of arity a has a - 1 entries, a time and a lifted value each, in time order. A leaf
has no children, any other node has a: child i holds what is younger than entry i - 1 and older than
entry i. The spine flags say whether a node below the root is the first or the last of its level;
only the finger B-tree uses them.

Paper: Tangwongsan, Hirzel, Schneider, "Optimal and General Out-of-Order Sliding-Window
Aggregation", sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic

from slidefold.reference.out_of_order import Time
from slidefold.reference.protocols import S


class Node(Generic[S]):
    """Times, values and children, and the aggregate that fits the node's place in the tree.

    What changes a node changes that node alone: whoever moves children sets their parent.

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
        """The number of children; of a leaf, the number that it would have."""
        return len(self.times) + 1

    @property
    def is_leaf(self) -> bool:
        """Whether there are no children."""
        return not self.children

    @property
    def is_root(self) -> bool:
        """Whether there is no parent."""
        return self.parent is None

    @property
    def has_agg_up(self) -> bool:
        """Whether the aggregate is that of the whole subtree: neither root nor on a spine."""
        return not (self.is_root or self.left_spine or self.right_spine)

    def place(self, child: Node[S]) -> int:
        """Return the number of a child."""
        return next(i for i, each in enumerate(self.children) if each is child)

    def parts(self, *, first: bool = True, last: bool = True) -> list[S]:
        """Return what there is to fold, oldest first, without the first or the last child."""
        if self.is_leaf:
            return list(self.values)
        found: list[S] = []
        for child, value in zip(self.children, self.values, strict=False):
            found += [child.agg, value]
        found.append(self.children[-1].agg)
        return found[not first : len(found) - (not last)]

    def put(self, at: int, time: Time, value: S, child: Node[S] | None = None) -> None:
        """Put an entry in place `at`, and the child that comes right after it."""
        self.times.insert(at, time)
        self.values.insert(at, value)
        if child is not None:
            self.children.insert(at + 1, child)

    def take(self, at: int) -> tuple[Time, S]:
        """Take entry `at` out, and the child right after it; return the entry."""
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
        """Drop the first entries, and as many children."""
        del self.times[:count], self.values[:count], self.children[:count]

    def drop_youngest(self, count: int) -> None:
        """Drop the last entries, and as many children."""
        del self.times[len(self.times) - count :], self.values[len(self.values) - count :]
        del self.children[max(0, len(self.children) - count) :]

    def below(self) -> Iterator[Node[S]]:
        """Yield the nodes of the subtree, each after what is below it."""
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
        """Return a copy of the subtree; states never change and are shared."""
        twin = Node(self.agg, parent)
        twin.times, twin.values = list(self.times), list(self.values)
        twin.left_spine, twin.right_spine = self.left_spine, self.right_spine
        twin.children = [child.clone(twin) for child in self.children]
        return twin

    def saved(self) -> dict[str, Any]:
        """Return all fields as they are now."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {name: list(fields[name]) for name in ("times", "values", "children")}

    def restore(self, saved: dict[str, Any]) -> None:
        """Put all fields back."""
        for name, field in saved.items():
            setattr(self, name, field)
