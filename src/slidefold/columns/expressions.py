"""Expressions around a run: columns made of rows before the core folds, and of results after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from slidefold.definition.expressions import Compiled, compile_expressions
from slidefold.definition.rolling import Rolling


def derivation(definition: Rolling, schema: Any) -> Compiled | None:
    """Return the program of the derived columns for rows of a schema; None if there are none."""
    if not definition.derived:
        return None
    return compile_expressions(definition.derived, _kinds(schema))


def with_derived(definition: Rolling, table: Any) -> Any:
    """Return a table with the columns that the core folds."""
    compiled = derivation(definition, table.schema)
    if compiled is None:
        return table
    for name, values in compiled.columns(table).items():
        table = table.append_column(name, values)
    return table


def core_schema(definition: Rolling, schema: Any) -> Any:
    """Return the schema of the rows that the core folds."""
    compiled = derivation(definition, schema)
    if compiled is None:
        return schema
    for name, kind in compiled.types.items():
        schema = schema.append(pa.field(name, kind))
    return schema


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
