"""Keys as group numbers, and rows in order of group, time and ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold import _native
from slidefold.errors import ValueTypeError
from slidefold.windows import SortedRows, counted, tie_order
from slidefold.windows.sorted_rows import Ints


@dataclass(frozen=True)
class Sorted:
    """A table in order: the windows' view of it, and where its rows come from and go back to."""

    rows: SortedRows
    order: Ints | None

    @cached_property
    def inverse(self) -> Any:
        """Where each row of the input is in order."""
        assert self.order is not None
        inverse = np.empty_like(self.order)
        inverse[self.order] = np.arange(len(self.order))
        return pa.array(inverse)

    def back(self, values: Any) -> Any:
        """Return results in order of the input."""
        return values if self.order is None else values.take(self.inverse)


def sort_table(
    table: Any,
    on: str,
    by: Sequence[str],
    ties: Sequence[str],
    numbers: Ints | None = None,
) -> Sorted:
    """Put a table in order of group, time and ties; what is in order stays as it is.

    `numbers` are those of the rows in a larger input, for messages.
    """
    clock, times = counted(on, one_chunk(table, on))
    groups = group_numbers(table, by)
    order = _native.sort_rows(groups, times)
    order = tie_order(order, groups, times, ties, lambda name: one_chunk(table, name))
    if groups is None:
        starts = np.array([0, len(times)] if len(times) else [0])
    else:
        of = groups if order is None else groups[order]
        fresh = np.flatnonzero(np.diff(of, prepend=-1))
        starts = np.append(fresh, len(of))
    taken: dict[str, Any] = {}
    indices = None if order is None else pa.array(order)

    def column(name: str) -> Any:
        if name not in taken:
            values = one_chunk(table, name)
            taken[name] = values if indices is None else values.take(indices)
        return taken[name]

    def origin(row: int) -> int:
        row = row if order is None else int(order[row])
        return row if numbers is None else int(numbers[row])

    in_order = times if order is None else times[order]
    return Sorted(SortedRows(starts, in_order, clock, column, origin), order)


def without_views(table: Any) -> Any:
    """Return a table whose strings lie in one piece: Arrow cannot take rows of string views."""
    wide = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    for i, field in enumerate(table.schema):
        if field.type in wide:
            table = table.set_column(i, field.name, table.column(i).cast(wide[field.type]))
    return table


def one_chunk(table: Any, name: str) -> Any:
    """Return a column as one array."""
    values = table[name]
    if not isinstance(values, pa.ChunkedArray):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.combine_chunks()


def group_numbers(table: Any, by: Sequence[str]) -> Ints | None:
    """Number the groups from 0 in order of first appearance; null is a group, NaN one key."""
    found: Ints | None = None
    for name in by:
        codes = _codes(name, one_chunk(table, name))
        if found is None:
            found = codes
        else:
            width = int(codes.max(initial=0)) + 1
            # Below 2**31 each, since numbers of groups do not exceed those of rows.
            found = _dense(found * width + codes)
    return found


def _codes(name: str, values: Any) -> Ints:
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    if pa.types.is_floating(values.type):
        values = pc.add(values, pa.scalar(0.0, values.type))  # -0.0 is 0.0
    try:
        encoded = values.dictionary_encode(null_encoding="encode")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        raise ValueTypeError(f"the column {name!r} of type {kind} cannot be a key") from None
    return encoded.indices.to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _dense(codes: Ints) -> Ints:
    return pa.array(codes).dictionary_encode().indices.to_numpy().astype(np.int64)  # type: ignore[no-any-return]
