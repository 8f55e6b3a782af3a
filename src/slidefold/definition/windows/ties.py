"""The order of peers: by `order=`, then by the columns that the definition uses.

Nulls come first and NaN last, so results depend only on the rows and not on their arrival order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidefold import _native
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import DataError

Order = npt.NDArray[np.uint32]


def tie_order(
    order: Order | None,
    ties: tuple[Order, Order],
    columns: Sequence[str],
    column: Callable[[str], Any],
) -> tuple[Order, Order] | None:
    """Sort peers by these columns, in rows that are already sorted by group and time.

    `order` lists the rows; None means input order. `ties` are the places of the rows that have
    peers, and where their runs start and end. `column` returns a column in input order. Return the
    rows that moved and their new places; None if no row moved. Only rows with peers are read, and a
    column only if some of them are equal in the columns before it.
    """
    places, runs = ties
    before = places if order is None else order[places]
    rows = before.copy()
    equal: Any = slice(None)  # rows that are equal in all columns so far
    for name in columns:
        if len(runs) < 2:
            break
        keys = sort_keys(name, column(name).take(pa.array(rows[equal])))
        while keys and len(runs) > 1:
            permutation, still, runs = _native.order_ties(keys.pop(0), runs)
            if permutation is not None:
                rows[equal] = rows[equal][permutation]
                keys = [key[permutation] for key in keys]
            equal = still if isinstance(equal, slice) else equal[still]
            keys = [key[still] for key in keys]
    moved = np.flatnonzero(rows != before)
    return (rows[moved], places[moved]) if len(moved) else None


def sort_keys(name: str, values: Any) -> list[npt.NDArray[Any]]:
    """Return the sort keys of a column (int64 or float64), primary key first.

    Nulls sort first and NaN last.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return sort_keys(name, values.cast(kind.value_type))
    if isinstance(kind, pa.BaseExtensionType):
        return sort_keys(name, values.storage)
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return sort_keys(name, values.cast(pa.decimal128(kind.precision, kind.scale)))
    if pa.types.is_struct(kind):
        keys = [_validity(values)] if values.null_count else []
        for field in values.flatten():
            keys.extend(sort_keys(name, field))
        return keys
    keys = [_validity(values)] if values.null_count else []
    if pa.types.is_null(kind):
        return keys
    if pa.types.is_floating(kind):
        numbers = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        return [*keys, numbers]
    whole = _whole(values)
    if whole is not None:
        return [*keys, whole]
    import pyarrow.compute as pc  # slow to import, and few definitions need it

    try:
        # Equal values get equal ranks, so the next column decides.
        ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        raise DataError(
            f"rows of equal time cannot be sorted by the column {name!r} of type {kind}: "
            "use order='input'"
        ) from None
    return [*keys, ranks.to_numpy().astype(np.int64)]


def _whole(values: Any) -> Ints | None:
    """Return what is counted in whole steps as int64 in the same order, None if it is not."""
    kind, types = values.type, pa.types
    if types.is_uint64(kind):
        words: Ints = (values.fill_null(0).to_numpy() ^ np.uint64(1 << 63)).view(np.int64)
        return words
    if types.is_date32(kind) or types.is_time32(kind):
        values = values.cast(pa.int32())
    elif types.is_interval(kind) or not (
        types.is_integer(kind) or types.is_boolean(kind) or types.is_temporal(kind)
    ):
        return None
    numbers: Ints = values.cast(pa.int64()).fill_null(0).to_numpy()
    return numbers


def _validity(values: Any) -> Ints:
    valid: Ints = values.is_valid().cast(pa.int64()).to_numpy()
    return valid
