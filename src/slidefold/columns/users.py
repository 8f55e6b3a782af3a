"""Users' operators over columns: compiled over arrays, or in Python over lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.values import Array, is_temporal, plain, whole_numbers
from slidefold.definition.operators import UserOperator
from slidefold.errors import ValueTypeError, first_line


def read_inputs(operator: UserOperator, columns: tuple[Any, ...]) -> Any:
    """Return columns as a user's operator reads them; they have no nulls."""
    definition = operator.definition
    if definition.state is None:
        lists = [column.to_pylist() for column in columns]
        return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))
    arrays = tuple(
        _as_code(operator, name, column, code)
        for name, column, code in zip(
            operator.columns, columns, definition.inputs.codes, strict=True
        )
    )
    return arrays[0] if len(arrays) == 1 else arrays


def user_column(operator: UserOperator, data: Any, valid: Array) -> Any:
    """Return the results of a user's operator as a column."""
    if isinstance(data, list):
        try:
            return pa.array(data)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise ValueTypeError(
                f"the results of {operator.name} do not fit a column: {first_line(error)}"
            ) from None
    mask = None if valid.all() else pa.array(~valid)
    if data.dtype.names is None:
        return pa.array(data, mask=None if mask is None else ~valid)
    fields = [pa.array(np.ascontiguousarray(data[name])) for name in data.dtype.names]
    return pa.StructArray.from_arrays(fields, list(data.dtype.names), mask=mask)


def _as_code(operator: UserOperator, name: str, column: Any, code: str) -> Array:
    """Return a column in the type that the operator declares."""
    column = plain(column)
    kind, expected = column.type, np.dtype(code)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    fits = pa.types.is_boolean(kind) if code == "b1" else number or pa.types.is_boolean(kind)
    if pa.types.is_null(kind):
        return np.empty(0, expected)
    if is_temporal(kind) and code == "i8":
        return whole_numbers(column)
    try:
        if not fits:
            raise pa.ArrowInvalid("another kind")
        if code[0] == "f":  # integers beyond the digits of a float are rounded
            column = column.cast(pa.from_numpy_dtype(expected), safe=False)
        elif code != "b1":
            column = column.cast(pa.from_numpy_dtype(expected))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueTypeError(
            f"{operator.name} takes {expected.name}, the column {name!r} is {kind}"
        ) from None
    return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
