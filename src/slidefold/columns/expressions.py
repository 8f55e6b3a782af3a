"""Expressions around a run: columns made of rows before the core folds, and of results after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from slidefold.columns.grouping import no_rows, one_chunk
from slidefold.columns.values import is_text
from slidefold.definition.expressions import (
    Call,
    Column,
    Compiled,
    Literal,
    Node,
    compile_expressions,
)
from slidefold.definition.rolling import Rolling
from slidefold.errors import ValueTypeError


def derivation(definition: Rolling, schema: Any) -> Compiled | None:
    """Return the program of the derived columns for rows of a schema; None if there are none."""
    if not definition.derived:
        return None
    return compile_expressions(definition.derived, _kinds(schema))


def with_derived(definition: Rolling, table: Any) -> Any:
    """Return a table with the columns that the core folds."""
    if not definition.derived:
        return table
    for name, values in _derived(definition, table).items():
        table = table.append_column(name, values)
    return table


def core_schema(definition: Rolling, schema: Any) -> Any:
    """Return the schema of the rows that the core folds."""
    if not definition.derived:
        return schema
    return with_derived(definition, no_rows(schema)).schema


def _derived(definition: Rolling, table: Any) -> dict[str, Any]:
    """Return the derived columns; what a condition lets through shares memory with its column."""
    wanted: dict[Node, str] = {}

    def evaluated(node: Node) -> Any:
        """Return a function that gives the values of a node once all are computed."""
        if isinstance(node, Column):
            return lambda _: one_chunk(table, node.name)
        if isinstance(node, Literal):
            return lambda _: pa.repeat(pa.scalar(node.value), len(table))
        name = wanted.setdefault(node, str(len(wanted)))
        return lambda found: found[name]

    parts = {}
    for name, node in definition.derived:
        if isinstance(node, Call) and node.function == "only":
            value, condition = node.given
            if isinstance(condition, Column):
                _require_truth(condition, table)
            parts[name] = evaluated(value), evaluated(condition)
        else:
            parts[name] = evaluated(node), None
    compiled = compile_expressions(
        [(name, node) for node, name in wanted.items()], _kinds(table.schema)
    )
    conditions = [node.arguments[1] for _, node in definition.derived if _is_only(node)]
    for node, name in wanted.items():
        if node in conditions:
            _require_type(node, compiled.types[name])
    found = compiled.columns(table) if wanted else {}
    return {
        name: value(found) if condition is None else _let_through(value(found), condition(found))
        for name, (value, condition) in parts.items()
    }


def _is_only(node: Node) -> bool:
    return isinstance(node, Call) and node.function == "only"


def _require_truth(column: Column, table: Any) -> None:
    if column.name not in table.column_names:
        compile_expressions([("", column)], _kinds(table.schema))  # says which column is missing
    _require_type(column, table.schema.field(column.name).type)


def _require_type(node: Node, kind: Any) -> None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise ValueTypeError(f"where takes a condition, and {node.text()!r} is {kind}")


def _let_through(values: Any, condition: Any) -> Any:
    """Return values that are null where a condition is not true."""
    if pa.types.is_null(condition.type):
        return pa.nulls(len(values), values.type)
    if pa.types.is_dictionary(condition.type):
        condition = condition.cast(condition.type.value_type)
    keep = pc.fill_null(condition, False) if condition.null_count else condition
    if values.null_count:
        keep = pc.and_(keep, values.is_valid())
    flat = pa.types.is_primitive(values.type) or is_text(values.type)
    if not flat or values.offset:
        return pc.if_else(keep, values, pa.scalar(None, values.type))
    if keep.offset:
        keep = pc.and_(keep, keep)  # a copy that starts at its first bit
    buffers = [keep.buffers()[1], *values.buffers()[1:]]
    return pa.Array.from_buffers(values.type, len(values), buffers)


def completion(definition: Rolling, kinds: Mapping[str, Any]) -> Compiled | None:
    """Return the program of the formulas, given the types of row columns and results."""
    if not definition.formulas:
        return None
    made = [(name, node) for name, node in definition.formulas if not _is_own(definition, name)]
    return compile_expressions(made, kinds)


def completed(definition: Rolling, rows: Any, results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a definition: the core's results, and what is made of them.

    `rows` has the columns of each row that formulas read, by name.
    """
    if not definition.formulas:
        return dict(results)
    read = {name: rows[name] for name in definition.row_columns}
    table = pa.table({**read, **results})
    compiled = completion(definition, _kinds(table.schema))
    assert compiled is not None
    made = compiled.columns(table)
    return {name: made.get(name, results.get(name)) for name in definition.columns}


def _is_own(definition: Rolling, name: str) -> bool:
    """Tell whether a column is a result of the core as it is."""
    return name in definition.core.columns


def _kinds(schema: Any) -> dict[str, Any]:
    return dict(zip(schema.names, schema.types, strict=True))
