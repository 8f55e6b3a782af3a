"""Read keyed windows that earlier versions saved: a state per key and time, instead of rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from slidefold import _native
from slidefold.definition.operators import Operator, UserOperator
from slidefold.errors import StateError
from slidefold.live.keyed_columns import keys_in, values_in


def rows_of_states(operator: Operator, kind: Any, payload: bytes) -> tuple[Any, int | None, int]:
    """Return rows with the results of such states, None if there are none; watermark; late rows."""
    if isinstance(operator, UserOperator) or not operator.record.refolds:
        raise StateError(
            f"an earlier version saved states of {operator.name}, which have no rows; start "
            "KeyedWindows anew and push the rows of the last window again"
        )
    floats, keys, times, results, bound, late = _native.keyed_entries(operator, payload)
    if floats:
        raise StateError(
            "the bytes hold float times; KeyedWindows takes integers and datetimes now"
        )
    rows = None
    if keys:
        ticks = pa.array(times, pa.int64()).cast(kind)
        rows = pa.table({"key": keys_in(keys), "time": ticks, **values_in(results, operator)})
    return rows, None if bound is None else bound - 1, late
