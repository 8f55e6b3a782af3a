"""Write definitions as plain values, as in JSON and TOML files; `files` reads them."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any

from slidefold.definition.expressions import Column, Node, Result
from slidefold.definition.formula import Formula
from slidefold.definition.operators import (
    NAMED,
    Operator,
    Over,
    PerOperator,
    StructOperator,
    UserOperator,
)
from slidefold.definition.windows import KINDS, WindowKind
from slidefold.definition.windows.closed import UNSAID
from slidefold.definition.windows.durations import duration_text
from slidefold.errors import DefinitionError

if TYPE_CHECKING:
    from slidefold.definition.rolling import Rolling


def to_dict(definition: Rolling) -> dict[str, Any]:
    """Return a definition as plain values, without arguments that have their defaults."""
    saved: dict[str, Any] = {"on": definition.on}
    if definition.by:
        saved["by"] = list(definition.by)
    for name in ("every", "offset"):
        value = getattr(definition, name)
        if value is not None:
            saved[name] = _window_out(value) if isinstance(value, WindowKind) else _length(value)
    if definition.order:
        order = definition.order
        saved["order"] = order if isinstance(order, str) else list(order)
    if definition.closed is not None:
        saved["closed"] = definition.closed
    if definition.zone is not None:
        saved["zone"] = definition.zone
    if definition.fill:
        saved["fill"] = True
    default = definition.default_closed
    saved["columns"] = {
        name: _column_out(item, default)
        if isinstance(item, Over)
        else _formula_out(item, default, definition)
        for name, item in definition.items
    }
    return saved


def _formula_out(formula: Formula, default: str, definition: Rolling) -> dict[str, Any]:
    """Return an expression of results; its windows are named beside it."""
    names: dict[Over, str] = {}
    taken = {*formula.node.columns(), *definition.columns}

    def named(node: Node) -> Node:
        if not isinstance(node, Result):
            return node
        if node.over not in names:
            number = len(names) + 1
            while f"w{number}" in taken:
                number += 1
            names[node.over] = f"w{number}"
            taken.add(f"w{number}")
        return Column(names[node.over])

    saved: dict[str, Any] = {"expr": formula.node.replaced(named).text()}
    if names:
        saved["windows"] = {name: _column_out(over, default) for over, name in names.items()}
    return saved


def _column_out(over: Over, default: str) -> dict[str, Any]:
    saved = _operator_out(over.operator)
    if over.operator.record.own_window:
        return saved
    short_form, closed = over.window.in_file(default)
    if short_form is None:
        short_form = _window_out(over.window, default if over.window.in_time else "right")
    saved["over"] = short_form
    if closed is not None:
        saved["closed"] = closed
    for name in ("min_count", "algorithm"):
        if getattr(over, name) is not None:
            saved[name] = getattr(over, name)
    return saved


def _operator_out(operator: Operator) -> dict[str, Any]:
    if isinstance(operator, UserOperator):
        name = f"{operator.module}:{operator.qualname}"
        return {"operator": name, "columns": _columns_out(operator), **_where_out(operator)}
    if isinstance(operator, PerOperator):
        category = _columns_out(operator)[0]
        inner = {**_operator_out(operator.inner), "per": category, **_where_out(operator)}
        return inner if operator.limit == 1000 else {**inner, "limit": operator.limit}
    if isinstance(operator, StructOperator):
        return {
            "operator": operator.name,
            "parts": {name: _operator_out(part) for name, part in operator.parts},
        }
    saved: dict[str, Any] = {"operator": operator.name}
    if operator.columns:
        saved["columns"] = _columns_out(operator)
    saved.update(_where_out(operator))
    defaults = signature(NAMED[operator.name]).parameters
    params = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in operator.params
        if name not in defaults or defaults[name].default != value
    }
    if params:
        saved["params"] = params
    return saved


def _columns_out(operator: Operator) -> list[Any]:
    """Return the columns of an operator: names, or tables of expressions."""
    return [
        {"expr": column.text()} if isinstance(column, Node) else column
        for column in operator.columns
    ]


def _where_out(operator: Operator) -> dict[str, str]:
    return {} if operator.condition is None else {"where": operator.condition.text()}


def _window_out(window: WindowKind, default: str = "right") -> dict[str, Any]:
    kind = next((name for name, kind in KINDS.items() if type(window) is kind), None)
    if kind is None:
        raise DefinitionError(f"{window} cannot be written to a file: add its class to KINDS")
    saved: dict[str, Any] = {"kind": kind}
    default = "left" if window.ahead and default is UNSAID else default
    for field in fields(window):  # type: ignore[arg-type]
        if not field.compare:
            continue
        value = getattr(window, field.name)
        if field.name in ("delay", "ahead") and not value:
            continue
        if field.name != "closed" or value != default:
            saved[field.name] = _length(value)
    return saved


def _length(value: Any) -> Any:
    """Return a timedelta as a string, and any other value unchanged."""
    return duration_text(value) if isinstance(value, timedelta) else value
