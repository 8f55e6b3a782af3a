"""The order of peers: by `order=`, then by the columns that the definition uses.

Nulls come first and NaN last, so results depend only on the rows and not on their arrival order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import DataError

Order = npt.NDArray[np.uint32]


def tie_order(
    order: Order | None,
    starts: Ints,
    times: Ints,
    columns: Sequence[str],
    column: Callable[[str], Any],
) -> Order | None:
    """Sort peers by these columns, in rows that are already sorted by group and time.

    `order` lists the rows; None means input order. `starts` are the starts of the groups, `times`
    the sorted times. `column` returns a column in input order. Only rows with peers are read.
    """
    if len(times) < 2 or not columns:
        return order
    tied = np.zeros(len(times), np.bool_)
    tied[1:] = times[1:] == times[:-1]
    tied[starts[:-1]] = False
    run = np.cumsum(~tied)
    tied[:-1] |= tied[1:]
    places = np.flatnonzero(tied)
    if len(places) == 0:
        return order
    rows = places if order is None else order[places]
    keys: list[npt.NDArray[Any]] = [run[places]]
    for name in columns:
        keys.extend(sort_keys(name, column(name).take(pa.array(rows))))
    permutation = np.lexsort(keys[::-1])  # its last key is the primary one; it is stable
    if np.array_equal(permutation, np.arange(len(permutation))):
        return order
    result = np.arange(len(times), dtype=np.uint32) if order is None else order.copy()
    result[places] = rows[permutation]
    return result


def sort_keys(name: str, values: Any) -> list[npt.NDArray[Any]]:
    """Return the sort keys of a column, primary key first, for nulls first and NaN last."""
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


def _validity(values: Any) -> npt.NDArray[Any]:
    return values.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
