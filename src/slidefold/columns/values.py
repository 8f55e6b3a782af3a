"""Convert between Arrow columns and what kernels fold: integers, floats, strings.

Values that only need to be compared travel as numbers in the same order, and come back as what they
were; so any type that sorts can be folded by comparing.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.buffers import as_arrow, as_numpy, packed
from slidefold.errors import ValueTypeError

Array = npt.NDArray[Any]
Restore = Callable[[Array, Array], Any]
_TOP = np.uint64(1 << 63)
_EXACT = Context(prec=80)


def is_temporal(kind: Any) -> bool:
    """Tell whether a type is a date, a time or a duration; intervals of months are not."""
    return bool(pa.types.is_temporal(kind) and not pa.types.is_interval(kind))


def steps_per_second(kind: Any) -> float:
    """Return how many units of a temporal type a second has."""
    if pa.types.is_date32(kind):
        return 1 / 86400
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    return {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]


def is_text(kind: Any) -> bool:
    """Tell whether a type holds strings."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def plain(values: Any) -> Any:
    """Return a column without its dictionary, if it has one."""
    kind = values.type
    return values.cast(kind.value_type) if pa.types.is_dictionary(kind) else values


def whole_numbers(values: Any) -> Array:
    """Return integers, bools or temporal values as int64; they must have no nulls and fit."""
    kind = values.type
    if pa.types.is_boolean(kind) or kind.bit_width < 64:
        if is_temporal(kind):
            values = values.cast(pa.int32())
        elif pa.types.is_boolean(kind):
            values = values.cast(pa.int8())
    return as_numpy(values.cast(pa.int64()))


def real_numbers(values: Any) -> Array:
    """Return numbers as float64; they must have no nulls."""
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    if pa.types.is_decimal(values.type):
        return _decimal_floats(values)
    if not pa.types.is_float64(values.type):
        # Integers beyond 2**53 are rounded, as in any float.
        values = values.cast(pa.float64(), safe=False)
    return as_numpy(values)


def _decimal_floats(values: Any) -> Array:
    """Return the floats nearest to decimals; Arrow makes 99.99000000000001 of 99.99."""
    whole, scale = whole_decimals(values), values.type.scale
    # One division of two numbers that floats hold rounds once.
    if whole is not None and 0 <= scale <= 22 and (np.abs(whole) <= 1 << 53).all():
        return whole / 10.0**scale  # type: ignore[no-any-return]
    return np.array([float(value) for value in values.to_pylist()], np.float64)


def decimal_codes(values: Any) -> Any:
    """Return decimals as live windows read them: integers of their last digit, or strings.

    Of more than 18 digits they are strings of digits, one length for all.
    """
    kind = values.type
    if kind.precision <= 18:
        return whole_decimals(values)
    limit = 10**kind.precision
    steps = (value.scaleb(kind.scale, _EXACT) for value in values.to_pylist())
    return [str(int(step) + limit).zfill(39) for step in steps]


def whole_decimals(values: Any) -> Array | None:
    """Return decimals as integers of their last digit, None if they need more than 64 bits."""
    wide = values.cast(pa.decimal256(76, values.type.scale))
    words = np.frombuffer(wide.buffers()[1], np.int64)
    words = words[4 * wide.offset : 4 * (wide.offset + len(wide))].reshape(-1, 4)
    low = np.ascontiguousarray(words[:, 0])
    return low if (words[:, 1:] == (low >> 63)[:, None]).all() else None


def decimal_steps(values: Any) -> tuple[Array | None, int]:
    """Return decimals as integers of their last digit minus an offset, and the offset.

    None if even what is left of them needs more than 64 bits. There must be no nulls.
    """
    whole = whole_decimals(values)
    if whole is not None or len(values) == 0:
        return whole, 0
    wide = pa.decimal256(75, values.type.scale)
    try:
        apart = pc.subtract(values.cast(wide), values[0].cast(wide))
    except pa.ArrowInvalid:
        return None, 0
    first = values[0].as_py().scaleb(values.type.scale, _EXACT)
    return whole_decimals(apart), int(first)


def to_arrow(data: Array, valid: Array | None, kind: Any = None) -> Any:
    """Return numbers as a column, null where they are not valid."""
    present = None if valid is None or valid.all() else valid
    if present is None:
        found = as_arrow(data)
    elif data.dtype.kind in "iuf" and data.flags.c_contiguous:
        # Arrow would copy the numbers to mask them.
        own = pa.from_numpy_dtype(data.dtype)
        found = pa.Array.from_buffers(own, len(data), [packed(present), pa.py_buffer(data)])
    else:
        found = pa.array(data, mask=~present)
    if kind is None or found.type == kind:
        return found
    if is_temporal(kind) and kind.bit_width == 32:
        found = found.cast(pa.int32())
    if pa.types.is_float16(kind):
        found = found.cast(pa.float32())
    # What stands under a null may not fit, and is not looked at.
    return found.cast(kind, safe=present is None)


def comparable(values: Any) -> tuple[Array, Restore]:
    """Return numbers in the order of the values, and a function that restores values.

    >>> numbers, restore = comparable(pa.array(["b", "a", "c"]))
    >>> restore(np.array([numbers.min(), numbers.max()]), np.array([True, True])).to_pylist()
    ['a', 'c']
    """
    kind = values.type
    if pa.types.is_null(kind):
        return np.empty(0), lambda _, valid: pa.nulls(len(valid))
    if pa.types.is_floating(kind):
        return real_numbers(values), lambda data, valid: to_arrow(data, valid, kind)
    if pa.types.is_uint64(kind):
        numbers = (as_numpy(values) ^ _TOP).view(np.int64)
        return numbers, lambda data, valid: to_arrow(data.view(np.uint64) ^ _TOP, valid)
    if pa.types.is_integer(kind) or is_temporal(kind):
        return whole_numbers(values), lambda data, valid: to_arrow(data, valid, kind)
    if pa.types.is_boolean(kind):
        return whole_numbers(values), lambda data, valid: to_arrow(data.astype(np.bool_), valid)
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        values = values.cast(pa.decimal128(kind.precision, kind.scale))
    try:
        found = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        raise ValueTypeError(f"values of type {kind} cannot be compared") from None
    ranks = as_numpy(found).astype(np.int64)
    row_of = np.zeros(int(ranks.max(initial=0)) + 1, np.int64)
    row_of[ranks] = np.arange(len(ranks))

    def restore(data: Array, valid: Array) -> Any:
        rows = row_of[np.where(valid, data, 0)]
        return take(values, rows, valid).cast(kind)

    return ranks, restore


def take(values: Any, rows: Array, valid: Array | None = None) -> Any:
    """Return these rows of a column, null where they are not valid."""
    return values.take(to_arrow(rows, valid))
