"""A column that is made of results: an expression of windows and of the row's own columns."""

from __future__ import annotations

from dataclasses import dataclass

from slidefold.definition.expressions.nodes import Node, Result, Written


@dataclass(frozen=True, repr=False)
class Formula:
    """An expression of results. Create one with operators over windows and `slidefold.col`."""

    node: Node

    def settle(self, closed: str) -> Formula:
        """Set `closed` of its windows, unless the user has set it."""

        def settled(node: Node) -> Node:
            return Result(node.over.settle(closed)) if isinstance(node, Result) else node

        return Formula(self.node.replaced(settled))

    def text(self, default: str | None = None) -> str:
        """Return the expression as source code, without `closed` if it equals the default."""
        if default is None:
            return self.node.code()

        def written(node: Node) -> Node:
            return Written(node.over.text(default)) if isinstance(node, Result) else node

        return self.node.replaced(written).code()

    def __repr__(self) -> str:
        return self.text()
