"""Read columns of datetimes, dates and numbers as whole steps of a clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidefold.buffers import as_numpy
from slidefold.definition.windows.clock import Clock
from slidefold.errors import DataError, ValueTypeError

_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 24 * 3600 * 10**9


def counted(
    name: str, values: Any, origin: Callable[[int], int] = int, *, floats: bool = False
) -> tuple[Clock, npt.NDArray[Any]]:
    """Read a column of times or numbers: return its clock, and its values in steps as int64.

    The column may hold datetimes of any unit and zone, dates or integers; with `floats=True` also
    floats, which stay floats.

    >>> clock, days = counted("day", pa.array([0, 1], pa.date32()))
    >>> clock.unit, days.tolist()
    (86400000000000, [0, 1])
    """
    kind = values.type
    if values.null_count:
        row = origin(int(values.is_valid().to_numpy(zero_copy_only=False).argmin()))
        raise DataError(f"the column {name!r} is null").at(row)
    if pa.types.is_floating(kind) and floats:
        array = as_numpy(values.cast(pa.float64()))
        if np.isnan(array).any():
            row = origin(int(np.flatnonzero(np.isnan(array))[0]))
            raise DataError(f"the column {name!r} is NaN").at(row)
        return Clock(name, "double", None), array
    unit: int | None
    if pa.types.is_timestamp(kind):
        unit, whole = _UNITS[kind.unit], values.cast(pa.int64())
    elif pa.types.is_date32(kind):
        unit, whole = _DAY, values.cast(pa.int32()).cast(pa.int64())
    elif pa.types.is_date64(kind):
        unit, whole = _UNITS["ms"], values.cast(pa.int64())
    elif pa.types.is_integer(kind):
        unit = None
        try:
            whole = values.cast(pa.int64())
        except pa.ArrowInvalid:
            raise DataError(
                f"the column {name!r} has values that do not fit in a signed 64-bit integer"
            ) from None
    else:
        also = ", integers or floats" if floats else " or integers"
        raise ValueTypeError(f"the column {name!r} must hold datetimes, dates{also}, got {kind}")
    return Clock(name, str(kind), unit), as_numpy(whole)
