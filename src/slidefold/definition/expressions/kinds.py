"""Arrow types as expressions see them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
MOST_DIGITS = 38


def has_own_type(kind: Any) -> bool:
    """Tell whether native code writes numbers of this type, and not only wider ones."""
    return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind))


def is_string(kind: Any) -> bool:
    """Tell whether values are strings."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_text(kind: Any) -> bool:
    """Tell whether values are strings or bytes."""
    types = pa.types
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    return is_string(kind) or bool(binary)


def is_clock_time(kind: Any) -> bool:
    """Tell whether values are times of day."""
    return bool(pa.types.is_time(kind))


def unit_of(kind: Any) -> str:
    """Return the unit in which times are counted; dates count in seconds or milliseconds."""
    if pa.types.is_date32(kind):
        return "s"
    return "ms" if pa.types.is_date64(kind) else str(kind.unit)


def family_of(kind: Any) -> str:
    """Return a word for types whose values can be compared."""
    if pa.types.is_duration(kind):
        return "duration"
    return "time of day" if is_clock_time(kind) else "time"
