"""Tell apart the types of columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def is_plain(kind: Any) -> bool:
    """Tell whether native code makes Python objects of values of a type, and back."""
    if pa.types.is_list(kind):
        return is_plain(kind.value_type)
    return bool(
        (is_number(kind) and not pa.types.is_float16(kind))
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or is_bytes(kind)
    )


def is_time(kind: Any) -> bool:
    """Tell whether native code gives and takes values of a type as integers of its unit."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_duration(kind))


def is_number(kind: Any) -> bool:
    """Tell whether a type is one of integers, floats or booleans."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def narrow_decimal(kind: Any) -> bool:
    """Tell whether decimals of a type fit in 64 bits, and have no negative scale."""
    return bool(pa.types.is_decimal(kind) and kind.precision <= 18 and kind.scale >= 0)


def is_bytes(kind: Any) -> bool:
    """Tell whether a type is one of bytes."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def wide_decimal(kind: Any) -> bool:
    """Tell whether decimals of a type have more than 18 digits."""
    return bool(pa.types.is_decimal(kind) and kind.precision > 18)
