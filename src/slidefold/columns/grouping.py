"""Keys as group numbers, and rows in order of group, time and ties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slidefold import _native
from slidefold.buffers import as_arrow, as_numpy, packed, unpacked
from slidefold.definition.windows import SortedRows, counted, tie_order
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ValueTypeError

Groups = npt.NDArray[np.int32]
Order = npt.NDArray[np.uint32]
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


@dataclass(frozen=True)
class Placing:
    """Where the rows of an input are in order: all as they were if there is nothing here."""

    order: Order | None = None  # the row that is at each place
    places: Order | None = None  # the place of each row; not needed if rows are nearly in order
    moved: tuple[Order, Order] | None = None  # a few rows, and their places; others stayed

    def put_in_order(self, values: Any) -> Any:
        """Return a column of the input in order."""
        if self.moved is not None:
            return _move(values, self.as_order, _native.move_rows, *self.moved)
        if self.order is None:
            return values
        if self.places is not None:
            # To write each row to its place is faster than to look for the row of each place.
            return _move(values, self.as_order, _native.place_rows, self.places)
        return _move(values, self.as_order, _native.take_rows, self.order)

    def put_back(self, values: Any) -> Any:
        """Return results in order of the input."""
        if self.moved is not None:
            rows, places = self.moved
            return _move(values, self.as_places, _native.move_rows, places, rows)
        if self.order is None:
            return values
        if self.places is None:
            return _move(values, self.as_places, _native.place_rows, self.order)
        return _move(values, self.as_places, _native.take_rows, self.places)

    def as_order(self, count: int) -> Order | None:
        """Return the row that is at each of so many places, None if all are as they were."""
        if self.moved is None:
            return self.order
        order = np.arange(count, dtype=np.uint32)
        rows, places = self.moved
        order[places] = rows
        return order

    def as_places(self, count: int) -> Order | None:
        """Return the place of each of so many rows, None if all are as they were."""
        order = self.as_order(count)
        if order is None or self.places is not None:
            return self.places
        places = np.empty_like(order)
        places[order] = np.arange(count, dtype=np.uint32)
        return places


@dataclass(frozen=True)
class Sorted:
    """A table in order: the windows' view of it, and where its rows come from and go back to."""

    rows: SortedRows
    given: Any  # the table as it came
    placing: Placing = Placing()

    @cached_property
    def order(self) -> Order | None:
        """The row of the input at each place; None if all are where they were."""
        return self.placing.as_order(len(self.rows))

    def kind(self, name: str) -> Any:
        """Return the type of a column, without putting it in order."""
        return self.given.schema.field(name).type

    def has_nulls(self, name: str) -> bool:
        """Tell whether a column has nulls, without putting it in order."""
        return bool(self.given[name].null_count)

    def back(self, values: Any) -> Any:
        """Return results in order of the input."""
        return self.placing.put_back(values)


def sort_table(
    table: Any,
    on: str,
    by: Sequence[str],
    ties: Sequence[str],
    numbers: Ints | None = None,
) -> Sorted:
    """Put a table in order of group, time and ties; do not move rows that are in order.

    `numbers` are those of the rows in a larger input, for messages.
    """
    clock, times = counted(on, one_chunk(table, on))
    groups, count = group_numbers(table, by)
    order, in_order, starts, places, tied = _native.order_rows(groups, count, times, bool(ties))
    in_order = times if order is None else in_order
    placing = Placing(order, places)
    if tied is not None:
        moved = tie_order(order, tied, ties, lambda name: one_chunk(table, name))
        placing = _with_moved(placing, moved, len(times))
    taken: dict[str, Any] = {}

    def column(name: str) -> Any:
        if name not in taken:
            taken[name] = placing.put_in_order(one_chunk(table, name))
        return taken[name]

    def origin(row: int) -> int:
        order = placing.as_order(len(times))
        row = row if order is None else int(order[row])
        return row if numbers is None else int(numbers[row])

    return Sorted(SortedRows(starts, in_order, clock, column, origin), table, placing)


def _with_moved(placing: Placing, moved: tuple[Order, Order] | None, count: int) -> Placing:
    """Return where rows are after a few of them have moved."""
    if moved is None:
        return placing
    rows, at = moved
    if placing.order is None:
        few = Placing(moved=moved)
        return few if len(rows) < count // 4 else Placing(few.as_order(count))
    placing.order[at] = rows
    if placing.places is not None:
        placing.places[rows] = at
    return placing


def _move(
    values: Any, order: Callable[[int], Order | None], move: Callable[..., Any], *where: Order
) -> Any:
    """Return a column whose rows are moved natively; those of no fixed width in this order."""
    found = _moved_values(values, len(values), move, *where)
    if found is None:
        rows = order(len(values))
        assert rows is not None
        found = values.take(as_arrow(rows))
    return found


def _moved_values(values: Any, count: int, move: Callable[..., Any], *where: Order) -> Any:
    """Return `count` values of a column that are moved, with their nulls.

    None if they are not all of one width.
    """
    kind, length = values.type, len(values)
    if not (pa.types.is_primitive(kind) or pa.types.is_decimal128(kind)) or length == 0:
        return None
    buffers = [None, None]
    if values.null_count:
        buffers[0] = packed(move(unpacked(values, 0), 1, *where))
    if pa.types.is_boolean(kind):
        buffers[1] = packed(move(unpacked(values, 1), 1, *where))
    else:
        width = kind.bit_width // 8
        data = np.frombuffer(values.buffers()[1], np.uint8)[values.offset * width :]
        buffers[1] = pa.py_buffer(move(data[: length * width], width, *where))
    return pa.Array.from_buffers(kind, count, buffers)


def from_words(kind: Any, data: Any, valid: npt.NDArray[Any] | None) -> Any:
    """Return words as a column of a type of their width, null where they are not valid."""
    bits = None if valid is None else packed(valid)
    return pa.Array.from_buffers(kind, len(data), [bits, pa.py_buffer(data)])


def present_rows(columns: Iterable[Any]) -> npt.NDArray[np.bool_] | None:
    """Return which rows have no null in any column, None if all."""
    found = None
    for column in columns:
        if column.null_count:
            valid = unpacked(column, 0) if column.buffers()[0] else np.zeros(len(column), np.uint8)
            found = valid if found is None else found & valid
    return None if found is None else found.view(np.bool_)


def take_rows(values: Any, rows: Order, valid: npt.NDArray[np.bool_] | None) -> Any:
    """Return these rows of a column, null where they are not valid."""
    found = _moved_values(values, len(rows), _native.take_rows, rows)
    if found is None:
        return values.take(from_words(pa.from_numpy_dtype(rows.dtype), rows, valid))
    if valid is None:
        return found
    if found.null_count:
        valid = valid & unpacked(found, 0).view(np.bool_)
    bits = packed(valid)
    return pa.Array.from_buffers(found.type, len(rows), [bits, found.buffers()[1]])


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
            found, count = _numbered(as_arrow(both))
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
        close = _native.number_keys(as_numpy(values.cast(pa.int64())))
        if close is not None:
            return close
    encoded = values.dictionary_encode(null_encoding="encode")
    return as_numpy(encoded.indices), len(encoded.dictionary)
