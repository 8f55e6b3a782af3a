"""Convert watermarks between user values and the engine's steps."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.windows import Clock, Length
from slidefold.errors import ValueTypeError


def lateness_steps(lateness: Length, clock: Clock) -> int:
    """Return a lateness in steps of a clock, rounded up."""
    if lateness == 0:
        return 0
    whole, exact = clock.steps(lateness, f"the lateness {lateness!r}")
    return int(whole) + (not exact)


def steps_of(name: str, value: Any, kind: Any) -> int:
    """Return a time in steps of a column of this type.

    >>> steps_of("t", np.datetime64("1970-01-02"), pa.timestamp("s"))
    86400
    """
    try:
        if pa.types.is_integer(kind):
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise TypeError
            steps = int(value)
        elif isinstance(value, np.datetime64):
            steps = int(value.astype(f"datetime64[{_unit(kind)}]").astype(np.int64))
        else:
            steps = int(pa.scalar(value, kind).value)
    except (TypeError, ValueError, pa.ArrowException):
        raise ValueTypeError(
            f"the watermark must be a time like those of column {name!r} of type {kind}, "
            f"got {value!r}"
        ) from None
    if not -(2**63) <= steps < 2**63:
        raise ValueTypeError(f"the watermark must fit in int64, got {value!r}")
    return steps


def value_of(steps: int, kind: Any) -> Any:
    """Return steps as a number, or as a datetime64 in UTC.

    >>> value_of(86400, pa.timestamp("s"))
    np.datetime64('1970-01-02T00:00:00')
    """
    if pa.types.is_integer(kind):
        return steps
    return np.array(steps).astype(f"datetime64[{_unit(kind)}]")[()]


def _unit(kind: Any) -> str:
    if pa.types.is_timestamp(kind):
        return str(kind.unit)
    return "D" if pa.types.is_date32(kind) else "ms"
