"""Choose what the engine stores of a column for an operator."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from slidefold.columns.reading import takes_times
from slidefold.columns.values import is_temporal, is_text, steps_per_second
from slidefold.definition.operators import Operator
from slidefold.definition.rolling import Leaf
from slidefold.live.program.builder import Builder, Finish, UnsupportedError
from slidefold.live.program.types import is_bytes, is_number, narrow_decimal, wide_decimal


def compared(build: Builder, name: str) -> tuple[int, str]:
    """Return a column in a form that is compared, and the native type of that form."""
    kind = build.kind(name)
    types = pa.types
    if types.is_floating(kind):
        return build.stored(name), "float64"
    if types.is_uint64(kind):
        return build.stored(name, "shifted"), "int64"
    if types.is_integer(kind) or types.is_boolean(kind) or is_temporal(kind):
        return build.stored(name), "int64"
    if types.is_null(kind) or (types.is_decimal(kind) and kind.precision <= 18):
        return build.stored(name), "int64"
    if wide_decimal(kind):
        return build.stored(name, "ordered"), "str"
    if is_text(kind):
        return build.stored(name), "str"
    if is_bytes(kind) or types.is_fixed_size_binary(kind):
        return build.stored(name, "latin"), "str"
    raise UnsupportedError


def form_of(kind: Any) -> dict[str, bool]:
    """Return how an output makes values of a column from what is compared."""
    return {
        "shifted": bool(pa.types.is_uint64(kind)),
        "ordered": wide_decimal(kind),
        "latin": bool(is_bytes(kind) or pa.types.is_fixed_size_binary(kind)),
    }


def read_by(build: Builder, operator: Operator, index: int) -> tuple[int, str]:
    """Return a column as `columns.reading.read` gives it to kernels, and its native type."""
    name = operator.columns[index]
    kind, types = build.kind(name), pa.types
    record = operator.record
    takes = record.key_types if index > 0 and record.pair else record.types
    floats = "float64" in takes
    numbers = floats or "int64" in takes
    hashed = record.reads == "hashed"
    if types.is_uint64(kind):
        if record.reads in ("truths", "bits"):
            return build.stored(name), "int64"
        if hashed:
            return build.stored(name, "shifted"), "int64"
        if record.reads == "numbers" and "float64" in record.types:
            return build.stored(name, "real"), "float64"
        raise UnsupportedError
    if hashed and is_bytes(kind):
        return build.stored(name, "latin"), "str"
    if hashed and narrow_decimal(kind):
        return build.stored(name), "int64"
    if hashed and wide_decimal(kind):
        return build.stored(name, "digits"), "str"
    if is_text(kind) and "str" in takes:
        return build.stored(name), "str"
    if not numbers:
        raise UnsupportedError
    if types.is_boolean(kind):
        return build.stored(name), "bool" if _takes_truths(operator) else "int64"
    counts = is_temporal(kind) and takes_times(operator, index)
    if types.is_integer(kind) or counts:
        return build.stored(name), "int64"
    if types.is_floating(kind) and floats:
        return build.stored(name), "float64"
    if (narrow_decimal(kind) or wide_decimal(kind)) and floats:
        return build.stored(name, "real"), "float64"
    raise UnsupportedError


def _takes_truths(operator: Operator) -> bool:
    return operator.record.reads == "truths" and operator.dtype == "bool"


def in_units(build: Builder, operator: Operator, index: int) -> tuple[int, str, float]:
    """Return a column for an operator that uses only differences, and how many steps make 1."""
    name = operator.columns[index]
    kind = build.kind(name)
    if pa.types.is_uint64(kind):
        return build.stored(name, "shifted"), "int64", 1.0
    if narrow_decimal(kind):
        return build.stored(name), "int64", 10.0**kind.scale
    if pa.types.is_decimal(kind):
        raise UnsupportedError
    column, code = read_by(build, operator, index)
    return column, code, steps_per_second(kind) if is_temporal(kind) else 1.0


def export_type(kind: Any) -> Any:
    """Return the type in which native code returns values of a column."""
    types = pa.types
    if types.is_dictionary(kind):
        return export_type(kind.value_type)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if isinstance(kind, pa.BaseExtensionType):
        return export_type(kind.storage_type)
    return pa.float32() if types.is_float16(kind) else kind


def restoring(kind: Any) -> Finish | None:
    """Return a function that gives results the type of their column; None if they have it."""
    if export_type(kind) == kind and not kind.num_fields:
        return None
    return lambda values: restored(kind, values)


def restored(kind: Any, values: Any) -> Any:
    """Return values that native code gave back in the type of their column."""
    if values.type == kind:
        return values
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, restored(kind.storage_type, values))
    encoded = values.dictionary_encode() if pa.types.is_dictionary(kind) else values
    return encoded.cast(kind)


def in_lists(finish: Finish | None) -> Finish | None:
    """Return a function that completes the items of lists."""
    if finish is None:
        return None
    return lambda lists: pa.ListArray.from_arrays(
        lists.offsets, finish(lists.values), mask=lists.is_null()
    )


def value(build: Builder, leaf: Leaf, name: str) -> tuple[list[int], int]:
    """Return the stored words of a column, with flags if nulls are kept, and the presence."""
    flag = leaf.operator.flag
    if leaf.operator.keeps_nulls:
        presence = -1 if flag is None else build.presence((flag,))
        return [build.stored(name), build.stored(name, "flag")], presence
    return [build.stored(name)], build.presence((name,))


def _outlives(build: Builder, leaf: Leaf, name: str) -> bool:
    """Tell whether states hold bytes longer than any row does, so that they need copies."""
    kind = build.kind(name)
    slide = build.definition.slide if build.slices else None
    sliced = slide is not None and slide.in_time and (is_text(kind) or is_bytes(kind))
    if not (leaf.window.forever or sliced):
        return False
    if is_number(kind) or is_temporal(kind) or pa.types.is_null(kind):
        return False
    if pa.types.is_decimal(kind) and not wide_decimal(kind):
        return False
    if leaf.operator.keeps_nulls:
        if leaf.window.forever:
            raise UnsupportedError
        return False
    return True


def copied(build: Builder, leaf: Leaf, name: str) -> tuple[int, str, bool]:
    """Return a column for states that pick its values, its native type, and whether it is latin."""
    if not _outlives(build, leaf, name):
        return build.stored(name), "int64", False
    if is_text(build.kind(name)):
        return build.stored(name), "str", False
    return build.stored(name, "latin"), "str", True


def use_own(
    build: Builder, leaf: Leaf, part: int, presence: int, source: str, name: str, **more: Any
) -> None:
    """Add an output whose values are those of a column."""
    kind = build.schema.field(name).type
    build.use(leaf, part, presence, source, export_type(kind), finish=restoring(kind), **more)
