"""Exact sums and means of values that do not fit 64 bits, in limbs of 32 bits.

A sum is a row of limbs: 32 bits each, the lowest first, and all that is above them in the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.columns.values import whole_numbers
from slidefold.errors import ResultOverflowError

Array = npt.NDArray[Any]
# Folds a column of int64 and returns the sums; the frames are the caller's.
Summing = Callable[[Array], tuple[Array, Array]]
_LOW = (1 << 32) - 1


def sum_uint64(values: Any, summing: Summing) -> Any:
    """Sum unsigned integers of 64 bits."""
    whole = values.to_numpy(zero_copy_only=False)
    low, valid = summing((whole & np.uint64(_LOW)).astype(np.int64))
    high, _ = summing((whole >> np.uint64(32)).astype(np.int64))
    high = high + (low >> 32)
    if (high[valid] > _LOW).any():
        raise ResultOverflowError("a sum needs more than 64 bits")
    total = (high.astype(np.uint64) << np.uint64(32)) | (low & _LOW).astype(np.uint64)
    return pa.array(total, mask=~valid)


def sum_decimal(values: Any, summing: Summing) -> Any:
    """Sum decimals, with 10 more digits in the result (at most 38), as Spark has them."""
    kind = values.type
    wide = pa.decimal128(min(38, kind.precision + 10), kind.scale)
    limbs, valid = limb_sums(values.cast(pa.decimal128(38, kind.scale)), summing)
    # Above the last piece, the highest one, only its sign may be left.
    fits = (limbs[:, -1] == limbs[:, -1].astype(np.int32)) | ~valid
    words = np.ascontiguousarray((limbs & _LOW).astype(np.uint32)).tobytes()
    found = _decimals(words, valid, wide)
    limit = pa.scalar(Decimal(10**wide.precision - 1), pa.decimal128(38, 0))
    unscaled = _decimals(words, valid, pa.decimal128(38, 0))
    beyond = pc.any(pc.greater(pc.abs(unscaled), limit)).as_py()
    if beyond or not fits.all():
        raise ResultOverflowError(f"a sum of {kind} needs more than {wide.precision} digits")
    return found


def limb_sums(values: Any, summing: Summing) -> tuple[Array, Array]:
    """Sum integers, or decimals in units of their last digit; return limbs and a validity mask."""
    sums, valid = zip(*(summing(piece) for piece in _pieces(values)), strict=True)
    return carried(np.stack(sums, axis=1)), valid[0]


def _pieces(values: Any) -> list[Array]:
    kind = values.type
    if pa.types.is_decimal(kind):
        narrow = kind.bit_width < 128
        wide = pa.decimal128(kind.precision, kind.scale) if narrow else kind
        return decimal_pieces(values.cast(wide))
    if pa.types.is_uint64(kind):
        whole = values.to_numpy(zero_copy_only=False)
        return [
            (whole & np.uint64(_LOW)).astype(np.int64),
            (whole >> np.uint64(32)).astype(np.int64),
        ]
    whole = whole_numbers(values)
    return [whole & _LOW, whole >> 32]


def decimal_pieces(values: Any) -> list[Array]:
    """Return 32 bits of each decimal at a time, the lowest first; the highest has the sign."""
    count = values.type.bit_width // 32
    words = np.frombuffer(values.buffers()[1], np.uint32)
    words = words[count * values.offset : count * (values.offset + len(values))].reshape(-1, count)
    low = [np.ascontiguousarray(words[:, i]).astype(np.int64) for i in range(count - 1)]
    return [*low, np.ascontiguousarray(words[:, -1]).view(np.int32).astype(np.int64)]


def carried(limbs: Array) -> Array:
    """Return limbs of 32 bits each: the excess of a limb is carried into the next one."""
    found = limbs.copy()
    for i in range(found.shape[1] - 1):
        found[:, i + 1] += found[:, i] >> 32
        found[:, i] &= _LOW
    return found


def mean_of(limbs: Array, count: Array, kind: Any) -> Any:
    """Return means from exact sums: rounded once, null where there is no value.

    Those of durations are durations, all others floats.

    >>> mean_of(np.array([[10, 0], [0, 0]]), np.array([4, 0]), pa.decimal128(9, 1)).to_pylist()
    [0.25, None]
    """
    if pa.types.is_duration(kind):
        return pa.array(_whole_means(limbs, count), mask=count == 0).cast(kind)
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    unit, factor = 10 ** max(scale, 0), 10 ** max(-scale, 0)
    # Up to 2**53 floats hold every integer, so that dividing them rounds once.
    sign = limbs[:, -1] >> 63
    high = limbs[:, 1] if limbs.shape[1] == 2 else limbs[:, 1] + (sign << 32)
    short = (high >= -(1 << 20)) & (high < 1 << 20) & (count <= (1 << 53) // unit) & (factor == 1)
    for limb in limbs.T[2:-1]:
        short &= limb == sign & _LOW
    if limbs.shape[1] > 2:
        short &= limbs[:, -1] == sign
    total = (np.where(short, high, 0) << 32) + limbs[:, 0]
    found = total / (np.where(short, np.maximum(count, 1), 1) * float(unit))
    rest = ~short & (count > 0)
    found[rest] = [
        total * factor / (parts * unit) for total, parts in _rows(limbs[rest], count[rest])
    ]
    return pa.array(found, mask=count == 0)


def _rows(limbs: Array, count: Array) -> Iterator[tuple[int, int]]:
    """Yield sums and counts as Python's integers."""
    for row, parts in zip(limbs.tolist(), count.tolist(), strict=True):
        yield sum(limb << (32 * i) for i, limb in enumerate(row)), parts


def _whole_means(limbs: Array, count: Array) -> Array:
    """Return means rounded to integers, half to even."""
    short = limbs[:, 1] == limbs[:, 1].astype(np.int32)
    total = (np.where(short, limbs[:, 1], 0) << 32) + limbs[:, 0]
    parts = np.maximum(count, 1)
    found, rest = np.divmod(total, parts)
    found += (2 * rest > parts) | ((2 * rest == parts) & (found % 2 == 1))
    # round() of a fraction does the same for what 64 bits do not hold.
    found[~short] = [round(Fraction(*row)) for row in _rows(limbs[~short], parts[~short])]
    return found


def _decimals(words: bytes, valid: Array, kind: Any) -> Any:
    mask = None
    if not valid.all():
        mask = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, len(valid), [mask, pa.py_buffer(words)])
