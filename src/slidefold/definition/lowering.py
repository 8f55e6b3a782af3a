"""Split a definition into what every engine folds, what comes before it, and what comes after.

The *core* has only operators over named columns. *Derived* columns are computed from a row before
it is folded: expressions that operators fold, and values that a condition lets through. *Formulas*
compute the columns of the definition from a row and the results of the core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slidefold.definition.expressions.nodes import (
    Call,
    Column,
    Literal,
    Node,
    Result,
    ResultColumn,
)
from slidefold.definition.formula import Formula
from slidefold.definition.operators import Operator, Over, PerOperator, StructOperator
from slidefold.errors import ColumnError, DefinitionError

if TYPE_CHECKING:
    from slidefold.definition.rolling import Rolling

Item = Over | Formula


@dataclass(frozen=True)
class Lowered:
    """The parts of a definition; without formulas, the results of the core are its columns."""

    items: tuple[tuple[str, Over], ...]
    derived: tuple[tuple[str, Node], ...] = ()
    formulas: tuple[tuple[str, Node], ...] = ()

    @property
    def row_columns(self) -> tuple[str, ...]:
        """The columns of a row that formulas read."""
        known = {name for name, _ in self.items}
        names = (name for _, node in self.formulas for name in node.columns() if name not in known)
        return tuple(dict.fromkeys(names))


def lower(definition: Rolling) -> Lowered:
    """Split a definition."""
    if not any(_is_made(item) for _, item in definition.items):
        return Lowered(definition.items)  # type: ignore[arg-type]
    return _Lowering(definition).lowered()


def windows_in(item: Item) -> Iterator[Over]:
    """Yield the operators over windows that a column is made of."""
    if isinstance(item, Over):
        yield item
        return
    for node in item.node.walk():
        if isinstance(node, Result):
            yield node.over


def inlined(name: str, definition: Rolling) -> Item:
    """Return a column with the columns that it refers to by name written out."""
    item = definition.columns[name]
    return item if isinstance(item, Over) else Formula(_named(definition, (name,), item.node))


def _named(definition: Rolling, path: tuple[str, ...], node: Node) -> Node:
    columns = definition.columns

    def change(one: Node) -> Node:
        if not isinstance(one, Column) or one.name not in columns:
            return one
        if one.name in path:
            ways = " -> ".join((*path, one.name))
            raise DefinitionError(f"the column {path[0]!r} refers to itself: {ways}")
        item = columns[one.name]
        if isinstance(item, Over):
            return Result(item)
        return _named(definition, (*path, one.name), item.node)

    return node.replaced(change)


def _is_made(item: Item) -> bool:
    """Tell whether a column needs more than a fold of named columns."""
    if isinstance(item, Formula):
        return True
    operators = [operator for _, operator in item.operator.leaves()]
    return any(
        operator.condition is not None
        or operator.record.expands is not None
        or operator.record.reads_row
        or any(isinstance(column, Node) for column in operator.columns)
        for operator in operators
    )


class _Lowering:
    def __init__(self, definition: Rolling) -> None:
        self.definition = definition
        self.items: dict[str, Over] = {}
        self.derived: dict[Node, str] = {}

    def lowered(self) -> Lowered:
        """Return the parts."""
        columns = {
            name: self._resolved(inlined(name, self.definition)) for name in self.definition.columns
        }
        for name, item in columns.items():
            if isinstance(item, Over) and self._expanded(item) is None:
                self.items[name] = self._over(item)
        named = dict(self.items)
        formulas: dict[str, Node] = {}
        in_order: dict[str, Over] = {}  # as the columns first use them
        for name, item in columns.items():
            before = list(self.items)
            if name in named:
                formulas[name] = Column(name)
                in_order[name] = named[name]
                continue
            node = Result(item) if isinstance(item, Over) else item.node
            formulas[name] = self._formula(name, node)
            in_order.update({new: self.items[new] for new in self.items if new not in before})
        derived = tuple((name, node) for node, name in self.derived.items())
        made = len(named) < len(columns)
        return Lowered(tuple(in_order.items()), derived, tuple(formulas.items()) if made else ())

    # ---- formulas

    def _formula(self, name: str, node: Node) -> Node:
        found = node.replaced(self._result)
        slide = self.definition.slide
        allowed = (*self.definition.by, "window_end", *self.items)
        if slide is not None:
            bare = next((column for column in node.columns() if column not in allowed), None)
            if bare is not None:
                raise DefinitionError(
                    f"the column {name!r} reads {bare!r} of a row, but with every= there is no "
                    "row: use an operator over a window, such as sf.last"
                )
        return found

    def _result(self, node: Node) -> Node:
        if not isinstance(node, Result):
            return node
        over = node.over
        expanded = self._expanded(over)
        if expanded is not None:
            return expanded.replaced(self._result)
        for name in list(self.items):
            if self.items[name] == self._over(over):
                return (Column if name in self.definition.columns else ResultColumn)(name)
        name = node.text()
        while name in self.items or name in self.definition.columns:
            name += "'"
        self.items[name] = self._over(over)
        return ResultColumn(name)

    def _resolved(self, item: Item) -> Item:
        """Return an operator that is another one under a different name as that one."""
        while isinstance(item, Over) and isinstance(expanded := self._expanded(item), Result):
            item = expanded.over
        return item

    def _expanded(self, over: Over) -> Node | None:
        """Return an operator as an expression of others; None if it is folded itself."""
        expands = over.operator.record.expands
        return None if expands is None else expands(over, self.definition)

    # ---- operators

    def _over(self, over: Over) -> Over:
        return replace(over, operator=self._operator(over.operator))

    def _operator(self, operator: Operator) -> Operator:
        if isinstance(operator, StructOperator):
            parts = tuple((name, self._operator(part)) for name, part in operator.parts)
            columns = dict.fromkeys(name for _, part in parts for name in part.columns)
            return replace(operator, parts=parts, columns=tuple(columns))
        if isinstance(operator, PerOperator):
            return self._per(operator)
        condition = operator.condition
        given = operator.columns
        if operator.record.reads_row:
            if self.definition.slide is not None:
                raise DefinitionError(f"{operator!r} needs a row, and with every= there is none")
            operator = replace(operator, own=self._derived(given[0]))  # type: ignore[call-arg]
        if condition is not None and not given:
            flag = self._derived(Call("only", (Literal(True), condition)))
            return replace(operator, columns=(flag,), condition=None)
        if condition is not None and operator.keeps_nulls:
            # Nulls are values here, so that the rows to fold need a column of their own.
            flag = self._derived(Call("only", (Literal(True), condition)))
            names = tuple(self._derived(column) for column in given)
            return replace(operator, columns=names, condition=Column(flag))
        if condition is not None:
            first = given[0] if isinstance(given[0], Node) else Column(given[0])
            given = (Call("only", (first, condition)), *given[1:])
        names = tuple(self._derived(column) for column in given)
        return replace(operator, columns=names, condition=None)

    def _per(self, operator: PerOperator) -> Operator:
        """Rows that a condition leaves out have no category."""
        category = operator.category
        if operator.condition is not None:
            node = category if isinstance(category, Node) else Column(category)
            category = Call("only", (node, operator.condition))
        inner = self._operator(operator.inner)
        columns = (self._derived(category), *inner.columns)
        return replace(operator, columns=columns, inner=inner, condition=None)

    def _derived(self, column: str | Node) -> str:
        """Return the name of a column that an operator folds."""
        if isinstance(column, str):
            return column
        if column not in self.derived:
            self.derived[column] = column.text()
        return self.derived[column]


def require_no_clash(definition: Rolling, names: list[str]) -> None:
    """Refuse data that has a column with the name of a derived column."""
    hidden = [name for name, _ in definition.derived]
    hidden += [name for name, _ in definition.core.items if name not in definition.columns]
    clash = next((name for name in hidden if name in names), None)
    if clash is not None:
        raise ColumnError(
            f"the data has a column {clash!r}, which is an expression here: rename it"
        )
