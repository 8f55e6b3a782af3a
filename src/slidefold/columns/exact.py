"""Exact sums of what does not fit 64 bits: in pieces of 32 bits that do."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.errors import ResultOverflowError, ValueTypeError

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
    if pa.types.is_decimal256(kind):
        raise ValueTypeError(f"sum takes decimals up to 38 digits, got {kind}")
    wide = pa.decimal128(min(38, kind.precision + 10), kind.scale)
    pieces = decimal_pieces(values.cast(pa.decimal128(38, kind.scale)))
    carry: Any = 0
    limbs = []
    for piece in pieces:
        total, valid = summing(piece)
        total = total + carry
        limbs.append((total & _LOW).astype(np.uint32))
        carry = total >> 32
    # After the last piece, the highest one, only its sign may be left.
    sign = -(limbs[-1] >> 31).astype(np.int64)
    fits = (carry == sign) | ~valid
    words = np.ascontiguousarray(np.stack(limbs, axis=1)).tobytes()
    found = _decimals(words, valid, wide)
    limit = pa.scalar(Decimal(10**wide.precision - 1), pa.decimal128(38, 0))
    unscaled = _decimals(words, valid, pa.decimal128(38, 0))
    beyond = pc.any(pc.greater(pc.abs(unscaled), limit)).as_py()
    if beyond or not fits.all():
        raise ResultOverflowError(f"a sum of {kind} needs more than {wide.precision} digits")
    return found


def decimal_pieces(values: Any) -> list[Array]:
    """Return 32 bits of each decimal at a time, the lowest first; the highest has the sign."""
    words = np.frombuffer(values.buffers()[1], np.uint32)
    words = words[4 * values.offset : 4 * (values.offset + len(values))].reshape(-1, 4)
    low = [np.ascontiguousarray(words[:, i]).astype(np.int64) for i in range(3)]
    return [*low, np.ascontiguousarray(words[:, 3]).view(np.int32).astype(np.int64)]


def _decimals(words: bytes, valid: Array, kind: Any) -> Any:
    mask = None
    if not valid.all():
        mask = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, len(valid), [mask, pa.py_buffer(words)])
