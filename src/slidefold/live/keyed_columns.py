"""The columns of `KeyedWindows.push` as Arrow arrays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.operators import Operator, UserOperator
from slidefold.errors import ValueTypeError, first_line

_TIMES = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp[UTC]": pa.timestamp("us", "UTC"),
    "duration": pa.duration("us"),
}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")


def keys_in(keys: Any) -> Any:
    """Return keys as an array; all integers are int64, and all strings are one type."""
    array = _array(keys, None, "keys must be values of one type")
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.cast(kind.value_type), kind.value_type
    if pa.types.is_integer(kind):
        return _array(array, pa.int64(), "integer keys must fit in int64")
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.string())
    return array


def times_in(times: Any, kind: Any) -> Any:
    """Return times as an array of int64 or of datetimes in microseconds."""
    if pa.types.is_integer(kind):
        array = _array(times, None, "times must be integers")
        if len(array) and not pa.types.is_integer(array.type):
            raise ValueTypeError(f"times must be integers, got {array.type}")
        array = _array(array, kind, "times must fit in int64")
    else:
        message = "the window is a duration, so times must be datetimes in whole microseconds"
        if isinstance(times, np.ndarray) and times.dtype.kind == "O":
            times = times.tolist()
        if isinstance(times, list | tuple):
            number = next((time for time in times if isinstance(time, int | float)), None)
            if number is not None:
                raise ValueTypeError(f"{message}, got {number!r}")
        else:
            times = _array(times, None, message)
            if len(times) and not pa.types.is_temporal(times.type):
                raise ValueTypeError(f"{message}, got {times.type}")
        array = _array(times, kind, message)
    if array.null_count:
        row = array.is_null().to_pylist().index(True)
        raise ValueTypeError(f"expected a time, got None at row {row}")
    return array


def values_in(values: Any, operator: Operator) -> dict[str, Any]:
    """Return the columns that an operator folds, of the types that it declares."""
    if isinstance(operator, UserOperator):
        dtypes: tuple[str, ...] = ("any",) * len(operator.definition.inputs.names)
    elif operator.record.pair:
        dtypes = (operator.dtype, operator.key_dtype)
    else:
        dtypes = (operator.dtype,)
    columns = values if len(dtypes) > 1 else (values,)
    if not isinstance(columns, tuple) or len(columns) != len(dtypes):
        raise ValueTypeError(f"expected a tuple of {len(dtypes)} columns for {operator}")
    arrays = {}
    for at, (column, dtype) in enumerate(zip(columns, dtypes, strict=True)):
        kind = _kind_of(dtype)
        what = "values of one type" if kind is None else f"{kind}"
        arrays[f"value {at}" if at else "value"] = _array(column, kind, f"values must be {what}")
    return arrays


def _kind_of(dtype: str) -> Any:
    if dtype == "any":
        return None
    digits = _DECIMAL.fullmatch(dtype)
    if digits is not None:
        return pa.decimal128(*map(int, digits.groups()))
    return _TIMES.get(dtype) or pa.type_for_alias(dtype)


def _array(values: Any, kind: Any, message: str) -> Any:
    """Return values as one Arrow array of a type; raise an error with this message."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueTypeError(f"columns must be one-dimensional, got {values.ndim} dimensions")
    try:
        if hasattr(values, "to_arrow"):
            values = values.to_arrow()
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if isinstance(values, list | tuple | range):
            return pa.array(values, kind)
        array = values if isinstance(values, pa.Array) else pa.array(values)
        return array if kind is None or array.type == kind else array.cast(kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ValueTypeError(f"{message}: {first_line(error)}") from None
