"""Expressions that native code runs: over a table, or over one row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from slidefold import _native


@dataclass(frozen=True)
class Compiled:
    """Expressions for columns of given types."""

    inputs: tuple[str, ...]
    kinds: tuple[Any, ...]  # of the inputs
    steps: tuple[dict[str, Any], ...]
    outputs: tuple[tuple[str, int, Any], ...]  # name, register, Arrow type

    @property
    def types(self) -> dict[str, Any]:
        """The Arrow types of the results by name."""
        return {name: kind for name, _, kind in self.outputs}

    def native(self) -> dict[str, Any]:
        """Return the plain values for native code."""
        return {
            "inputs": len(self.inputs),
            "steps": list(self.steps),
            "outputs": [
                {"name": name, "from": register, "type": pa.field("", kind).__arrow_c_schema__()}
                for name, register, kind in self.outputs
            ],
        }

    @cached_property
    def evaluator(self) -> Any:
        """Native code that runs the expressions over columns or over one row."""
        columns = [
            {"name": name, "column": place, "type": pa.field("", kind).__arrow_c_schema__()}
            for place, (name, kind) in enumerate(zip(self.inputs, self.kinds, strict=True))
        ]
        return _native.Expressions({"columns": columns, **self.native()})

    def columns(self, table: Any) -> dict[str, Any]:
        """Return the results over a table as Arrow arrays by name."""
        arrays = [_plain(table[name], kind) for name, kind in zip(*self._read, strict=True)]
        if not arrays:  # only constants: their rows must be counted
            arrays, names = [pa.nulls(len(table))], ["rows"]
        else:
            names = list(self.inputs)
        batch = pa.RecordBatch.from_arrays(arrays, names)
        found = self.evaluator.columns(batch.__arrow_c_array__()[1])
        made = pa.RecordBatch._import_from_c_capsule(*found)
        # Not the names of the batch, which end at a NUL.
        return dict(zip(self.types, made.columns, strict=True))

    @property
    def _read(self) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        return self.inputs, self.kinds


def _plain(column: Any, kind: Any) -> Any:
    """Return a column as one array, without a dictionary."""
    if column.type != kind:
        column = column.cast(kind)
    if isinstance(column, pa.ChunkedArray):
        # Arrow would copy a single chunk too.
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    return column
