"""Expressions in files: a small part of Python's grammar, read through `ast` and never run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from re import fullmatch
from typing import Any

from slidefold.definition.expressions.face import Expression, node_of
from slidefold.definition.expressions.nodes import (
    DEEPEST,
    LONGEST,
    Call,
    Column,
    Literal,
    Node,
    require_short,
)
from slidefold.definition.windows.durations import nanoseconds
from slidefold.errors import DefinitionError, SlidefoldError, nearest

_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo",
    ast.BitAnd: "and",
    ast.BitOr: "or",
}
_COMPARED: dict[type[ast.AST], str] = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "at_most",
    ast.Gt: "greater",
    ast.GtE: "at_least",
}
_ONE = ("abs", "log", "is_null")


def _duration(text: str) -> timedelta:
    if fullmatch(r"-?[0-9]{1,20}us", text):  # as `text` writes them; windows are shorter
        return timedelta(microseconds=int(text[:-2]))
    whole, finer = divmod(nanoseconds(text.removeprefix("-"), zero=True), 1000)
    if finer:
        raise ValueError(text)
    return timedelta(microseconds=-whole if text.startswith("-") else whole)


_MADE: dict[str, Callable[[str], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "duration": _duration,
    "decimal": Decimal,
    "float": float,
}
_FUNCTIONS = (*_ONE, "fill_null", "cast", "col", *_MADE)


def parse(text: object) -> Node:
    """Return the tree of an expression in a file.

    >>> parse("status == 'declined' and amount > 100").columns()
    ('status', 'amount')
    >>> parse("amount.real")
    Traceback (most recent call last):
        ...
    slidefold.errors.DefinitionError: the expression 'amount.real' has '.real' at character 1: \
use names, constants, + - * / // %, comparisons, and, or, not, in, and the functions abs, log, \
is_null, fill_null, cast, col, datetime, date, duration, decimal, float
    """
    if not isinstance(text, str) or not text.strip():
        raise DefinitionError(f"an expression must be a text such as 'amount > 100', got {text!r}")
    if len(text) > LONGEST:
        raise DefinitionError(f"an expression must not have more than {LONGEST:,} characters")
    shown = text if len(text) <= 60 else text[:57] + "..."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        place = f" at character {error.offset}" if error.offset else ""
        raise DefinitionError(f"the expression {shown!r} cannot be read{place}") from None
    except (ValueError, RecursionError, MemoryError):
        raise DefinitionError(f"the expression {shown!r} cannot be read") from None
    try:
        node = _Reader(shown).read(tree, 0)
    except RecursionError:
        raise DefinitionError(f"the expression {shown!r} is nested too deep") from None
    require_short(node)  # as it will be written: with spaces, and without chains
    return node


class _Reader:
    def __init__(self, shown: str) -> None:
        self.shown = shown

    def read(self, tree: ast.AST, depth: int) -> Node:
        """Return the tree of an expression."""
        if depth > DEEPEST:
            raise DefinitionError(f"the expression {self.shown!r} is nested too deep")
        deeper = depth + 1
        if isinstance(tree, ast.Name):
            return Column(tree.id)
        if isinstance(tree, ast.Constant):
            return self._checked(tree, tree.value)
        if isinstance(tree, ast.BinOp) and type(tree.op) in _BINARY:
            both = self.read(tree.left, deeper), self.read(tree.right, deeper)
            return Call(_BINARY[type(tree.op)], both)
        if isinstance(tree, ast.BoolOp):
            function = "and" if isinstance(tree.op, ast.And) else "or"
            found = self.read(tree.values[0], deeper)
            for value in tree.values[1:]:
                found = Call(function, (found, self.read(value, deeper)))
            return found
        if isinstance(tree, ast.UnaryOp):
            return self._unary(tree, deeper)
        if isinstance(tree, ast.Compare):
            return self._compare(tree, deeper)
        if isinstance(tree, ast.Call):
            return self._call(tree, deeper)
        raise self._wrong(tree)

    def _unary(self, tree: ast.UnaryOp, deeper: int) -> Node:
        if isinstance(tree.op, ast.Not | ast.Invert):
            return Call("not", (self.read(tree.operand, deeper),))
        constant = tree.operand.value if isinstance(tree.operand, ast.Constant) else None
        if isinstance(tree.op, ast.USub) and type(constant) is int:  # -(2**63) fits, 2**63 does not
            return self._checked(tree, -constant)
        inner = self.read(tree.operand, deeper)
        if isinstance(tree.op, ast.UAdd):
            return inner
        number = isinstance(inner, Literal) and isinstance(inner.value, int | float)
        if number and not isinstance(inner.value, bool):  # type: ignore[attr-defined]
            return self._checked(tree, -inner.value)  # type: ignore[attr-defined]
        return Call("negate", (inner,))

    def _compare(self, tree: ast.Compare, deeper: int) -> Node:
        found: Node | None = None
        left = tree.left
        for operator, right in zip(tree.ops, tree.comparators, strict=True):
            one = self._compare_two(tree, left, operator, right, deeper)
            found = one if found is None else Call("and", (found, one))
            left = right
        assert found is not None
        return found

    def _compare_two(
        self, tree: ast.AST, left: ast.AST, operator: ast.AST, right: ast.AST, deeper: int
    ) -> Node:
        if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, ast.List | ast.Tuple):
            values = [self.read(item, deeper) for item in right.elts]
            found = self._made(tree, lambda: Expression(self.read(left, deeper)).is_in(values))
            return Call("not", (found,)) if isinstance(operator, ast.NotIn) else found
        none = isinstance(right, ast.Constant) and right.value is None
        if isinstance(operator, ast.Is | ast.IsNot) and none:
            found = Call("is_null", (self.read(left, deeper),))
            return Call("not", (found,)) if isinstance(operator, ast.IsNot) else found
        if type(operator) not in _COMPARED:
            raise self._wrong(tree)
        if none or (isinstance(left, ast.Constant) and left.value is None):
            raise DefinitionError(
                f"the expression {self.shown!r} compares with None, which is always null: write "
                "'is None'"
            )
        return Call(_COMPARED[type(operator)], (self.read(left, deeper), self.read(right, deeper)))

    def _call(self, tree: ast.Call, deeper: int) -> Node:
        name = tree.func.id if isinstance(tree.func, ast.Name) else None
        if name not in _FUNCTIONS or tree.keywords:
            if name is None or tree.keywords:
                raise self._wrong(tree)
            hint = nearest(name[:40], _FUNCTIONS) or f"; choose one of {', '.join(_FUNCTIONS)}"
            raise DefinitionError(
                f"the expression {self.shown!r} calls {name[:40]!r}, which does not exist{hint}"
            )
        given = tree.args
        takes = 2 if name in ("fill_null", "cast") else 1
        if len(given) != takes:
            raise DefinitionError(
                f"the expression {self.shown!r} calls {name} with {len(given)} arguments, it takes "
                f"{takes}"
            )
        if name in _ONE:
            return Call(name, (self.read(given[0], deeper),))
        if name == "fill_null":
            return Call(name, (self.read(given[0], deeper), self.read(given[1], deeper)))
        last = given[-1].value if isinstance(given[-1], ast.Constant) else None
        if not isinstance(last, str):
            raise DefinitionError(f"the expression {self.shown!r} needs a text in {name}(...)")
        if name == "cast":
            inner = self.read(given[0], deeper)
            return self._made(tree, lambda: Expression(inner).cast(last))
        if name == "col":
            return Column(last)
        try:
            return self._checked(tree, _MADE[str(name)](last))
        except (ValueError, OverflowError, InvalidOperation, SlidefoldError):
            raise DefinitionError(
                f"the expression {self.shown!r} has {name}({last[:40]!r}), which is not one"
            ) from None

    def _checked(self, tree: ast.AST, value: Any) -> Node:
        if value is Ellipsis or isinstance(value, complex):
            raise self._wrong(tree)
        return self._made(tree, lambda: value)

    def _made(self, tree: ast.AST, make: Callable[[], Any]) -> Node:
        try:
            return node_of(make())
        except SlidefoldError as error:
            raise DefinitionError(f"the expression {self.shown!r}: {error}") from None

    def _wrong(self, tree: ast.AST) -> DefinitionError:
        place = getattr(tree, "col_offset", 0) + 1
        if isinstance(tree, ast.Attribute):
            shown = f"'.{tree.attr[:40]}'"
        else:
            try:
                shown = repr(ast.unparse(tree)[:40])
            except (RecursionError, ValueError):  # integers of more digits than Python writes
                shown = "a part that is too large"
        return DefinitionError(
            f"the expression {self.shown!r} has {shown} at character {place}: use names, "
            "constants, + - * / // %, comparisons, and, or, not, in, and the functions "
            f"{', '.join(_FUNCTIONS)}"
        )
