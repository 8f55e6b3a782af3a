"""Numbers of Arrow as numpy arrays and back, over the same bytes.

pyarrow's own conversions import pandas, if it is installed, at the first use: on a Spark worker
that took longer than all of slidefold and the first fold together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_TYPES = {
    pa.from_numpy_dtype(np.dtype(code)): np.dtype(code)
    for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
}


def as_numpy(values: Any) -> npt.NDArray[Any]:
    """Return an array of Arrow as numpy; numbers without nulls are not copied.

    >>> as_numpy(pa.array([1, 2, 3]).slice(1)).tolist()
    [2, 3]
    """
    kind = values.type
    if isinstance(values, pa.Array) and values.null_count == 0 and kind in _TYPES:
        own = _TYPES[kind]
        if len(values) == 0:  # there may be no buffer
            return np.empty(0, own)
        if own == np.bool_:
            return unpacked(values, 1).view(np.bool_)
        return np.frombuffer(values.buffers()[1], own, len(values), values.offset * own.itemsize)
    return values.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def as_arrow(data: npt.NDArray[Any]) -> Any:
    """Return numbers or bools of numpy as an array of Arrow.

    >>> as_arrow(np.array([True, False])).to_pylist()
    [True, False]
    """
    if data.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(data), [None, packed(data)])
    if data.dtype.kind in "iuf" and data.dtype.isnative and data.flags.c_contiguous:
        kind = pa.from_numpy_dtype(data.dtype)
        return pa.Array.from_buffers(kind, len(data), [None, pa.py_buffer(data)])
    return pa.array(data)


def unpacked(values: Any, buffer: int) -> npt.NDArray[np.uint8]:
    """Return bits of a column as bytes: its validity, or its values."""
    bits = np.frombuffer(values.buffers()[buffer], np.uint8)
    end = values.offset + len(values)
    return np.unpackbits(bits, count=end, bitorder="little")[values.offset :]


def packed(flags: npt.NDArray[Any]) -> Any:
    """Return flags as the bits of a column."""
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
