"""Keys as group numbers, and rows in order of group, time and ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slidefold import _native
from slidefold.definition.windows import SortedRows, counted, tie_order
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ValueTypeError

Groups = npt.NDArray[np.int32]
Order = npt.NDArray[np.uint32]
_WIDE = (pa.int64(), pa.float64())
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


@dataclass(frozen=True)
class Sorted:
    """A table in order: the windows' view of it, and where its rows come from and go back to."""

    rows: SortedRows
    order: Order | None
    known_places: Order | None = None  # what `places` gives, if the sort has told

    @cached_property
    def places(self) -> Order | None:
        """Where each row of the input is in order; None if it is where it was."""
        if self.order is None or self.known_places is not None:
            return self.known_places
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(self.order), dtype=self.order.dtype)
        return places

    def back(self, values: Any) -> Any:
        """Return results in order of the input."""
        if self.order is None:
            return values
        if values.null_count == 0 and values.type in _WIDE:
            numbers = values.to_numpy().view(np.int64)
            return pa.array(
                _native.put_back(numbers, self.order).view(values.type.to_pandas_dtype())
            )
        return values.take(pa.array(self.places))


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
    groups, count = group_numbers(table, by)
    by_time, in_order, starts, places = _native.order_rows(groups, count, times, with_places=True)
    in_order = times if by_time is None else in_order
    order = tie_order(by_time, starts, in_order, ties, lambda name: one_chunk(table, name))
    if order is not by_time:
        places = None
    taken: dict[str, Any] = {}
    indices = None if order is None else pa.array(order)

    def column(name: str) -> Any:
        if name not in taken:
            values = one_chunk(table, name)
            if indices is None:
                taken[name] = values
            elif places is not None and values.null_count == 0 and values.type in _WIDE:
                numbers = _native.put_in_order(values.to_numpy().view(np.int64), places)
                taken[name] = pa.array(numbers.view(values.type.to_pandas_dtype()))
            else:
                taken[name] = values.take(indices)
        return taken[name]

    def origin(row: int) -> int:
        row = row if order is None else int(order[row])
        return row if numbers is None else int(numbers[row])

    return Sorted(SortedRows(starts, in_order, clock, column, origin), order, places)


def without_views(table: Any) -> Any:
    """Return a table whose strings lie in one piece: Arrow cannot take rows of string views.

    Nor can it of runs: they are decoded.
    """
    table = without_runs(table)
    for i, field in enumerate(table.schema):
        if field.type in _VIEWS:
            table = table.set_column(i, field.name, table.column(i).cast(_VIEWS[field.type]))
    return table


def no_rows(schema: Any) -> Any:
    """Return a table of a schema without rows; Arrow has no empty arrays of some encodings."""
    return without_runs(pa.Table.from_batches([], schema)).schema.empty_table()


def without_runs(table: Any) -> Any:
    """Return a table whose run-end-encoded columns are decoded."""
    for i, field in enumerate(table.schema):
        if pa.types.is_run_end_encoded(field.type):
            kind = field.type.value_type
            chunks = [_decoded(chunk) for chunk in table.column(i).chunks]
            decoded = pa.chunked_array(chunks, _VIEWS.get(kind, kind))
            table = table.set_column(i, field.with_type(decoded.type), decoded)
    return table


def _decoded(runs: Any) -> Any:
    # Arrow decodes few types, and takes rows of all but views.
    values = runs.values
    if values.type in _VIEWS:
        values = values.cast(_VIEWS[values.type])
    rows = np.arange(runs.offset, runs.offset + len(runs))
    return values.take(pa.array(np.searchsorted(runs.run_ends.to_numpy(), rows, "right")))


def require_movable(schema: Any) -> None:
    """Refuse columns whose rows Arrow cannot put together or take out."""
    for field in schema:
        if pa.types.is_union(field.type):
            raise ValueTypeError(
                f"the column {field.name!r} of type {field.type} cannot be kept for later rows: "
                "drop or cast it"
            )


def one_chunk(table: Any, name: str) -> Any:
    """Return a column as one array."""
    values = table[name]
    if not isinstance(values, pa.ChunkedArray):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.combine_chunks()


def group_numbers(table: Any, by: Sequence[str]) -> tuple[Groups | None, int]:
    """Number the groups from 0 in order of first appearance, and say how many there are.

    Null is a group, NaN one key.
    """
    found, count = None, 0
    for name in by:
        codes, width = _codes(name, one_chunk(table, name))
        if found is None:
            found, count = codes, width
        else:
            # Below 2**31 each, since there are no more groups than rows.
            both = found.astype(np.int64) * width + codes
            found, count = _numbered(pa.array(both))
    return found, count


def _codes(name: str, values: Any) -> tuple[Groups, int]:
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        values = values.storage
    if pa.types.is_floating(values.type):
        values = one_zero(values)
    if pa.types.is_decimal(values.type) and values.type.bit_width < 128:
        values = values.cast(pa.decimal128(values.type.precision, values.type.scale))
    try:
        if pa.types.is_interval(values.type):  # Arrow would count them, and not reliably
            raise pa.ArrowNotImplementedError(str(kind))
        return _numbered(values)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        raise ValueTypeError(f"the column {name!r} of type {kind} cannot be a key") from None


def one_zero(values: Any) -> Any:
    """Return floats whose equals have equal bits: -0.0 is 0.0, and there is one NaN."""
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    kind = values.type
    values = pc.add(values, pa.scalar(0.0, kind))
    return pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), kind), values)


def _numbered(values: Any) -> tuple[Groups, int]:
    if values.null_count == 0 and pa.types.is_signed_integer(values.type):
        close = _native.number_keys(values.cast(pa.int64()).to_numpy())
        if close is not None:
            return close
    encoded = values.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(), len(encoded.dictionary)
