"""An operator with its columns, and the columns as kernels read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.threads import fold_frames
from slidefold.columns.values import (
    Array,
    Restore,
    comparable,
    decimal_codes,
    decimal_steps,
    is_temporal,
    is_text,
    plain,
    real_numbers,
    steps_per_second,
    whole_numbers,
)
from slidefold.errors import DataError, OperatorError, ValueTypeError
from slidefold.operators import BUILT_IN, Operator, SketchOperator
from slidefold.planner import plan_column
from slidefold.windows import WindowKind
from slidefold.windows.sorted_rows import Ints

_HASHED = ("approx_distinct", "bloom", "count_min")


@dataclass(frozen=True)
class Task:
    """An operator with its columns, without nulls, and the frames to fold."""

    operator: Operator
    window: WindowKind
    algorithm: str | None
    columns: tuple[Any, ...]
    lo: Ints
    hi: Ints
    threads: int = 1

    def kernel(self, operator: Operator, values: Any) -> tuple[Any, Array]:
        """Fold natively: results, and which of them there are."""
        chosen = plan_column(operator, self.window, self.algorithm).algorithm
        if chosen == "register_queues":
            return _native.distinct_frames(operator, values, self.lo, self.hi)
        return fold_frames(chosen, operator, values, self.lo, self.hi, self.threads)

    @property
    def held(self) -> Array:
        """Which frames hold anything."""
        return self.hi > self.lo

    def wrong(self, index: int, takes: str) -> ValueTypeError:
        """Return the error that a column is of a type which the operator does not take."""
        name = self.operator.columns[index]
        return ValueTypeError(
            f"{self.operator.name} takes {takes}, the column {name!r} is {self.columns[index].type}"
        )


def read(task: Task, index: int) -> Any:
    """Return a column as a kernel reads it."""
    values = plain(task.columns[index])
    kind, types = values.type, pa.types
    floats = _takes(task.operator, index, "float64")
    numbers = floats or _takes(task.operator, index, "int64")
    if types.is_null(kind):
        return np.empty(0, np.float64 if floats or not numbers else np.int64)
    hashes = _takes(task.operator, index, "str")
    if not numbers and not is_text(kind):
        raise task.wrong(index, _takes_words(task.operator, index))
    if types.is_uint64(kind):
        return _read_unsigned(task, index, values)
    if task.operator.name in _HASHED and (types.is_binary(kind) or types.is_large_binary(kind)):
        return [value.decode("latin-1") for value in values.to_pylist()]  # as live windows do
    if task.operator.name in _HASHED and types.is_decimal(kind):
        return decimal_codes(values)
    if is_text(kind) and hashes:
        return values.to_pylist()
    if types.is_boolean(kind):
        truths = task.operator.name in ("any", "all") and task.operator.dtype == "bool"
        return values.to_numpy(zero_copy_only=False) if truths else whole_numbers(values)
    if types.is_integer(kind) or (is_temporal(kind) and _counts_time(task, index)):
        return whole_numbers(values)
    if (types.is_floating(kind) or types.is_decimal(kind)) and floats:
        return real_numbers(values)
    raise task.wrong(index, _takes_words(task.operator, index))


def compared(task: Task, index: int) -> tuple[Array, Restore]:
    """Return a column as numbers in its order, and how results become values again."""
    try:
        return comparable(plain(task.columns[index]))
    except ValueTypeError:
        raise task.wrong(index, "values that can be compared") from None


def in_units(task: Task, index: int) -> tuple[Array, float]:
    """Return a column of which only differences matter, and how many of its steps make 1.

    Whole numbers keep all their digits: unsigned ones are shifted, decimals counted in units of
    their last digit. Times beside values count in seconds.
    """
    values = plain(task.columns[index])
    kind = values.type
    if pa.types.is_uint64(kind):
        return comparable(values)[0], 1.0
    if pa.types.is_decimal(kind) and kind.scale >= 0:
        whole, _ = decimal_steps(values)
        return (real_numbers(values), 1.0) if whole is None else (whole, 10.0**kind.scale)
    return read(task, index), steps_per_second(kind) if is_temporal(kind) else 1.0


def _counts_time(task: Task, index: int) -> bool:
    """Tell whether times may be read as numbers: beside values, and to be hashed."""
    if task.operator.name == "naive_bayes":  # labels and values come back
        return False
    return index > 0 or _takes(task.operator, index, "str")


def _read_unsigned(task: Task, index: int, values: Any) -> Array:
    """Return uint64 as int64 where it fits, or as the operator can have it."""
    whole = values.to_numpy(zero_copy_only=False)
    if task.operator.name in ("any", "all", "bit_and", "bit_or", "bit_xor", "theta"):
        return whole.view(np.int64)  # type: ignore[no-any-return]
    if task.operator.name in _HASHED:
        return comparable(values)[0]  # any numbers that differ where they do, as live windows do
    if (whole < 2**63).all():
        return whole.astype(np.int64)  # type: ignore[no-any-return]
    if _takes(task.operator, index, "float64") and not _takes(task.operator, index, "str"):
        return real_numbers(values)
    raise DataError(
        f"{task.operator.name} takes integers below 2**63, the column "
        f"{task.operator.columns[index]!r} has a larger one"
    )


def _takes(operator: Operator, index: int, dtype: str) -> bool:
    """Tell whether the function that makes the operator takes a dtype for this column."""
    if isinstance(operator, SketchOperator):
        return dtype in operator.takes
    return operator.dtype in ("any", "object") or _is_made_with(operator, index, dtype)


# Streams ask the same for each batch, and to make an error takes longer than to fold some rows.
@lru_cache(maxsize=1024)
def _is_made_with(operator: Operator, index: int, dtype: str) -> bool:
    function: Any = BUILT_IN[operator.name]
    known = signature(function).parameters
    said = {name: value for name, value in operator.params if name in known}
    word = "key_dtype" if index > 0 and "key_dtype" in known else "dtype"
    if word not in known:
        return operator.dtype == dtype
    try:
        function(*operator.columns, **{**said, word: dtype})
    except (ValueTypeError, OperatorError):
        return False
    return True


def _takes_words(operator: Operator, index: int) -> str:
    reads = {
        "numbers": _takes(operator, index, "float64"),
        "integers": _takes(operator, index, "int64") and not _takes(operator, index, "float64"),
        "strings": _takes(operator, index, "str"),
    }
    return " or ".join(word for word, fits in reads.items() if fits) or "other values"


def retyped(operator: Operator, *inputs: Any) -> Operator:
    """Return the operator for inputs of these types; those that take one type stay as they are."""
    if operator.dtype in ("any", "object"):
        return operator
    codes = [_code(given) for given in inputs]
    made = replace(operator, dtype=codes[0], key_dtype=codes[-1] if len(codes) > 1 else "float64")
    if codes[0] != "float64" and getattr(operator, "variant", "") == "compensated_sum":
        plain_sum: Any = BUILT_IN["sum"]
        made = plain_sum(*operator.columns, dtype=codes[0])  # exact as it is
    function: Any = BUILT_IN.get(operator.name)
    takes_dtype = function is not None and "dtype" in function.__annotations__
    if not takes_dtype and codes[0] != operator.dtype:
        raise ValueTypeError(
            f"{operator.name} takes {operator.dtype}, "
            f"the column {operator.columns[0]!r} gives {codes[0]}"
        )
    return made


def _code(given: Any) -> str:
    return "str" if isinstance(given, list) else str(given.dtype)
