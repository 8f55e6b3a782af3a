"""Find late rows: rows at or before the watermark, and rows without a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidefold.columns.grouping import one_chunk, without_views
from slidefold.definition.windows import counted
from slidefold.definition.windows.sorted_rows import Ints

OLDEST, NEWEST = -(2**63), 2**63 - 1  # times
REASON = "late_reason"
NULL_TIME = "null time"
TOO_LATE = "at or before the watermark"


def judge(rows: Any, on: str, watermark: int | None) -> tuple[Any, Any]:
    """Split a table into accepted rows and late rows.

    The watermark counts in steps of the column `on`; None is before all times. Late rows have an
    additional column `late_reason`. String views become large strings, which Arrow can filter.

    >>> rows = pa.table({"t": [5, 3, None]})
    >>> accepted, late = judge(rows, "t", 3)
    >>> accepted["t"].to_pylist(), late["late_reason"].to_pylist()
    ([5], ['at or before the watermark', 'null time'])
    """
    rows = without_views(rows)
    column = one_chunk(rows, on)
    unknown = column.is_null().to_numpy(zero_copy_only=False)
    if unknown.any():
        known = rows.filter(pa.array(~unknown))
        late = unknown.copy()
        late[~unknown] = past_rows(known, on, watermark)
    else:
        late = past_rows(rows, on, watermark)
    if not late.any():
        accepted, rejected = rows, rows.slice(0, 0)
    else:
        accepted, rejected = rows.filter(pa.array(~late)), rows.filter(pa.array(late))
    reasons = pa.array(np.where(unknown[late], NULL_TIME, TOO_LATE).tolist(), pa.string())
    return accepted, rejected.append_column(REASON, reasons)


def times_of(rows: Any, on: str) -> Ints:
    """Return the times of rows in steps of their clock."""
    return counted(on, one_chunk(rows, on))[1]


def past_rows(rows: Any, on: str, watermark: int | None) -> npt.NDArray[np.bool_]:
    """Tell which rows are at or before a watermark."""
    times = times_of(rows, on)
    return np.zeros(len(times), np.bool_) if watermark is None else times <= watermark
