"""Make the columns of a definition from those of its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from slidefold.definition.operators import Operator, StructOperator
from slidefold.definition.rolling import Rolling
from slidefold.live.program.builder import Join

Joins = Mapping[tuple[str, ...], Join]


def columns_of(definition: Rolling, joins: Joins, arrays: Iterator[Any]) -> dict[str, Any]:
    """Return the columns of a definition, given the arrays of its outputs in order."""
    return {
        name: _column((name,), over.operator, joins, arrays)
        for name, over in definition.overs.items()
    }


def _column(path: tuple[str, ...], operator: Operator, joins: Joins, arrays: Iterator[Any]) -> Any:
    if isinstance(operator, StructOperator):
        parts = [_column((*path, name), part, joins, arrays) for name, part in operator.parts]
        return pa.StructArray.from_arrays(parts, [name for name, _ in operator.parts])
    if path not in joins:
        return next(arrays)
    join = joins[path]
    return join.join([next(arrays) for _ in range(join.outputs)])
