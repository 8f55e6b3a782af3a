"""Compile expressions for columns of given types into the steps that native code runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slidefold.definition.expressions.arithmetic import Arithmetic
from slidefold.definition.expressions.compiled import Compiled
from slidefold.definition.expressions.conditions import COMPARISONS, Conditions
from slidefold.definition.expressions.kinds import has_own_type
from slidefold.definition.expressions.nodes import Call, Column, Literal, Node
from slidefold.definition.expressions.registers import Value

_ARITHMETIC = ("add", "subtract", "multiply", "divide", "floor_divide", "modulo")


def compile_expressions(
    expressions: Sequence[tuple[str, Node]], kinds: Mapping[str, Any]
) -> Compiled:
    """Compile named expressions for columns of the given Arrow types; raise if they do not fit."""
    builder = _Builder(kinds)
    outputs = []
    for name, node in expressions:
        builder.whole = node
        value = builder.value(node)
        if not (_is_filtered(node) and has_own_type(value.kind)):
            value = builder.output(value)
        outputs.append((name, value.register, value.kind))
    return builder.compiled(outputs)


class _Builder(Arithmetic, Conditions):
    def value(self, node: Node) -> Value:
        """Return the register of a node."""
        if isinstance(node, Column):
            return self._input(node.name)
        if isinstance(node, Literal):
            return self._literal(node)
        assert isinstance(node, Call)
        function = node.function
        if function in _ARITHMETIC:
            return self._arithmetic(node)
        if function in COMPARISONS:
            return self._compared(node)
        return getattr(self, f"_{function}")(node)  # type: ignore[no-any-return]


def _is_filtered(node: Node) -> bool:
    """Tell whether this is a column of which a condition lets some values through."""
    return isinstance(node, Call) and node.function == "only" and isinstance(node.given[0], Column)
