"""An operator with its columns, and the columns as kernels read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native, planner
from slidefold.columns.threads import fold_frames
from slidefold.columns.trace import ran
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
from slidefold.definition.operators import Operator
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import DataError, ValueTypeError


@dataclass(frozen=True)
class Task:
    """An operator with its columns, without nulls, and the frames to fold."""

    operator: Operator
    algorithm: str
    columns: tuple[Any, ...]
    lo: Ints
    hi: Ints
    threads: int = 1
    more: int = 0  # values that every frame holds beside its rows
    own: Any = None  # the value of each frame's own row, for operators that read it

    def kernel(self, operator: Operator, values: Any) -> tuple[Any, Array]:
        """Fold natively; return the results and a mask of those that are not null."""
        if self.algorithm == "register_queues":
            ran("register_queues", self.algorithm)
            return _native.distinct_frames(operator, values, self.lo, self.hi)
        ran("python" if operator.calls_python else "frames", self.algorithm)
        return fold_frames(self.algorithm, operator, values, self.lo, self.hi, self.threads)

    @property
    def held(self) -> Array:
        """Which frames hold a value."""
        return self.hi + self.more > self.lo

    def wrong(self, index: int, takes: str) -> ValueTypeError:
        """Return the error for a column of a type that the operator does not take."""
        name = self.operator.columns[index]
        return ValueTypeError(
            f"{self.operator.name} takes {takes}, the column {name!r} is {self.columns[index].type}"
        )


def read(task: Task, index: int) -> Any:
    """Return a column as a kernel reads it."""
    values = plain(task.columns[index])
    kind, types = values.type, pa.types
    record = task.operator.record
    takes = record.key_types if index > 0 and record.pair else record.types
    floats = "float64" in takes
    numbers = floats or "int64" in takes
    if types.is_null(kind):
        return np.empty(0, np.float64 if floats or not numbers else np.int64)
    if not numbers and not is_text(kind):
        raise task.wrong(index, _words(takes))
    if types.is_uint64(kind):
        return _read_unsigned(task, index, values)
    hashed = record.reads == "hashed"
    if hashed and (types.is_binary(kind) or types.is_large_binary(kind)):
        return [value.decode("latin-1") for value in values.to_pylist()]  # as live windows do
    if hashed and types.is_decimal(kind):
        return decimal_codes(values)
    if is_text(kind) and "str" in takes:
        return values.to_pylist()
    if types.is_boolean(kind):
        truths = record.reads == "truths" and task.operator.dtype == "bool"
        return values.to_numpy(zero_copy_only=False) if truths else whole_numbers(values)
    counts = is_temporal(kind) and takes_times(task.operator, index)
    if types.is_integer(kind) or counts:
        return whole_numbers(values)
    if (types.is_floating(kind) or types.is_decimal(kind)) and floats:
        return real_numbers(values)
    raise task.wrong(index, _words(takes))


def takes_times(operator: Operator, index: int) -> bool:
    """Tell whether times count as numbers: beside values, and where they are only hashed."""
    record = operator.record
    if record.reads == "labels":
        return False
    if index > 0 and record.pair:
        return record.travel("timestamp", True) is not None
    return index > 0 or "str" in record.types


def compared(task: Task, index: int) -> tuple[Array, Restore]:
    """Return a column as numbers in the same order, and a function that restores values."""
    try:
        return comparable(plain(task.columns[index]))
    except ValueTypeError:
        raise task.wrong(index, "values that can be compared") from None


def in_units(task: Task, index: int) -> tuple[Array, float]:
    """Return a column for an operator that uses only differences, and how many steps make 1.

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


def _read_unsigned(task: Task, index: int, values: Any) -> Array:
    """Return uint64 in the form that the operator reads."""
    whole = values.to_numpy(zero_copy_only=False)
    record = task.operator.record
    if record.reads in ("truths", "bits"):
        return whole.view(np.int64)  # type: ignore[no-any-return]
    if record.reads == "hashed":
        return comparable(values)[0]  # any numbers that differ where they do, as live windows do
    if record.reads == "numbers" and "float64" in record.types:
        return real_numbers(values)
    if (whole < 2**63).all():
        return whole.astype(np.int64)  # type: ignore[no-any-return]
    raise DataError(
        f"{task.operator.name} takes integers below 2**63, the column "
        f"{task.operator.columns[index]!r} has a larger one"
    )


def _words(takes: tuple[str, ...]) -> str:
    """Return the types that an operator takes, in words."""
    reads = {
        "numbers": "float64" in takes,
        "integers": "int64" in takes and "float64" not in takes,
        "strings": "str" in takes,
    }
    return " or ".join(word for word, fits in reads.items() if fits) or "other values"


def retyped(operator: Operator, *inputs: Any) -> Operator:
    """Return the operator for inputs of these types."""
    codes = ("str" if isinstance(given, list) else str(given.dtype) for given in inputs)
    return planner.retyped(operator, *codes)
