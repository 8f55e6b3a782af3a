"""One column of results: an operator over the frames of sorted rows.

Nulls are dropped first and the frames moved with them, so that kernels never see one. Operators
that pick a row (first, max_by, ...) run over row numbers, and the result is taken from the column:
so any type works and stays what it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.columns import exact
from slidefold.columns.lists import collect, collect_distinct, histogram, top_k
from slidefold.columns.objects import (
    bayes_counts,
    frequent_structs,
    moment_structs,
    sketch_bytes,
)
from slidefold.columns.order import quantiles
from slidefold.columns.reading import Task, compared, in_units, read, retyped
from slidefold.columns.users import fold_user
from slidefold.columns.values import (
    Array,
    comparable,
    is_temporal,
    is_text,
    plain,
    take,
    to_arrow,
    whole_decimals,
    whole_numbers,
)
from slidefold.errors import DataError, ResultOverflowError, ValueTypeError
from slidefold.operators import Operator, QuantileOperator, UserOperator
from slidefold.operators.pairs import half_life_of
from slidefold.planner import plan_column
from slidefold.windows import WindowKind
from slidefold.windows.sorted_rows import Ints


def fold(
    operator: Operator,
    window: WindowKind,
    columns: tuple[Any, ...],
    frames: tuple[Ints, Ints],
    min_count: int | None,
    algorithm: str | None,
    threads: int = 1,
) -> Any:
    """Fold sorted columns over frames of rows; an Arrow array with one result a frame."""
    parts = getattr(operator, "parts", None)
    if parts is not None:
        place = {name: i for i, name in enumerate(operator.columns)}
        arrays = []
        for _, part in parts:
            own = tuple(columns[place[name]] for name in part.columns)
            arrays.append(fold(part, window, own, frames, min_count, algorithm, threads))
        return pa.StructArray.from_arrays(arrays, [name for name, _ in parts])
    lo, hi = frames
    if min_count is not None:
        return _fold_enough(operator, window, columns, frames, min_count, algorithm, threads)
    present = None if keeps_nulls(operator) else present_rows(columns)
    if present is not None:
        before = np.concatenate(([0], np.cumsum(present)))
        lo, hi = before[lo], before[hi]
        columns = tuple(column.filter(pa.array(present)) for column in columns)
    task = Task(operator, window, algorithm, columns, lo, hi, threads)
    if isinstance(operator, UserOperator):
        return fold_user(operator, columns, task.kernel, len(lo))
    return FOLDS.get(operator.name, fold_numbers)(task)


def _fold_enough(
    operator: Operator,
    window: WindowKind,
    columns: tuple[Any, ...],
    frames: tuple[Ints, Ints],
    min_count: int,
    algorithm: str | None,
    threads: int,
) -> Any:
    """Fold the frames with enough values; the others are null, whatever they would give."""
    lo, hi = frames
    enough = count_values(columns, lo, hi) >= min_count
    frames = lo[enough], hi[enough]
    try:
        found = fold(operator, window, columns, frames, None, algorithm, threads)
    except ResultOverflowError as error:
        rows = np.flatnonzero(enough)
        told = re.sub(r"(?<= at row )\d+", lambda row: str(rows[int(row[0])]), str(error))
        raise ResultOverflowError(told) from None
    return spread_results(found, enough)


def spread_results(found: Any, places: Array) -> Any:
    """Return results with nulls between them: they are those of the places that are true."""
    if places.all():
        return found
    return take(found, np.maximum(np.cumsum(places) - 1, 0), places)


def keeps_nulls(operator: Operator) -> bool:
    """Tell whether null is a value like others."""
    return operator.keeps_nulls or not operator.columns


def present_rows(columns: tuple[Any, ...]) -> Array | None:
    """Return which rows have no null in any column, None if all."""
    found = None
    for column in columns:
        if column.null_count:
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            found = valid if found is None else found & valid
    return found


def count_values(columns: tuple[Any, ...], lo: Ints, hi: Ints) -> Ints:
    """Return how many rows of each frame have no null in any column."""
    present = present_rows(columns)
    if present is None:
        return hi - lo
    before = np.concatenate(([0], np.cumsum(present)))
    found: Ints = before[hi] - before[lo]
    return found


# ---- the bounds are the answer ------------------------------------------------------------------


def _count(task: Task) -> Any:
    return pa.array(task.hi - task.lo)


def _first(task: Task) -> Any:
    return take(task.columns[0], task.lo, task.held)


def _last(task: Task) -> Any:
    return take(task.columns[0], task.hi - 1, task.held)


def _nth(task: Task) -> Any:
    n: Any = dict(task.operator.params)["n"]
    row = task.hi - n
    return take(task.columns[0], row, row >= task.lo)


def _concat(task: Task) -> Any:
    texts = plain(task.columns[0])
    if pa.types.is_null(texts.type):
        texts = texts.cast(pa.string())
    if not is_text(texts.type):
        raise task.wrong(0, "strings")
    lists = collect(replace(task, columns=(texts.cast(pa.large_string()),)))
    return pc.binary_join(lists, pa.scalar("", pa.large_string())).cast(texts.type)


# ---- comparing ----------------------------------------------------------------------------------


def _extreme(task: Task) -> Any:
    numbers, restore = compared(task, 0)
    return restore(*task.kernel(retyped(task.operator, numbers), numbers))


def _extreme_count(task: Task) -> Any:
    numbers, _ = compared(task, 0)
    return to_arrow(*task.kernel(retyped(task.operator, numbers), numbers))


def _extreme_by(task: Task) -> Any:
    keys, _ = compared(task, 1)
    rows = np.arange(len(keys))
    found, valid = task.kernel(retyped(task.operator, rows, keys), (rows, keys))
    return take(task.columns[0], found, valid)


def _quantile(task: Task) -> Any:
    operator = task.operator
    assert isinstance(operator, QuantileOperator)
    plan_column(operator, task.window, task.algorithm)  # refuses algorithms
    ordered = compared(task, 0)
    found = quantiles(operator, plain(task.columns[0]), ordered, task.lo, task.hi)
    if found is None:
        raise task.wrong(0, f"numbers or times with interpolation={operator.interpolation!r}")
    return found


def _m4(task: Task) -> Any:
    """Return first, last, min and max: each as an operator of its own, over the same frames."""
    least, most = (replace(task.operator, name=name, params=()) for name in ("min", "max"))
    arrays = [_first(task), _last(task)]
    arrays += [_extreme(replace(task, operator=operator)) for operator in (least, most)]
    names = ["first", "last", "min", "max"]
    mask = None if task.held.all() else pa.array(~task.held)
    kind = plain(task.columns[0]).type
    return pa.StructArray.from_arrays([a.cast(kind) for a in arrays], names, mask=mask)


# ---- adding -------------------------------------------------------------------------------------


def _sum(task: Task) -> Any:
    values = plain(task.columns[0])
    kind = values.type

    def summing(whole: Array) -> tuple[Array, Array]:
        return task.kernel(retyped(task.operator, whole), whole)

    if pa.types.is_uint64(kind):
        return exact.sum_uint64(values, summing)
    if pa.types.is_decimal256(kind):
        raise task.wrong(0, "decimals of up to 38 digits")
    if pa.types.is_decimal(kind):
        return exact.sum_decimal(values, summing)
    if pa.types.is_duration(kind):
        return to_arrow(*summing(whole_numbers(values)), kind)
    return fold_numbers(task)


def _mean(task: Task) -> Any:
    values = plain(task.columns[0])
    kind = values.type
    if not (pa.types.is_duration(kind) or pa.types.is_decimal(kind)):
        return _maybe_unsigned(task)
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= 18:
        whole = whole_decimals(values)
        if whole is not None:
            params = (("unit", 10**kind.scale),)
            operator = replace(retyped(task.operator, whole), variant="decimal_mean", params=params)
            return to_arrow(*task.kernel(operator, whole))
    adding = replace(task.operator, name="sum", dtype="int64")

    def summing(whole: Array) -> tuple[Array, Array]:
        return task.kernel(adding, whole)

    limbs, valid = exact.limb_sums(values, summing)
    count, _ = summing(np.ones(len(values), np.int64))
    return exact.mean_of(limbs, np.where(valid, count, 0), kind)


def _maybe_unsigned(task: Task) -> Any:
    """Fold numbers, those of uint64 less 2**63 by an operator that knows it: floats would round."""
    values = plain(task.columns[0])
    if not pa.types.is_uint64(values.type):
        return fold_numbers(task)
    codes, _ = comparable(values)
    operator = replace(retyped(task.operator, codes), variant=f"unsigned_{task.operator.name}")
    return to_arrow(*task.kernel(operator, codes))


def _range(task: Task) -> Any:
    """Return how far apart values are: those of times as durations, of decimals exactly."""
    kind = plain(task.columns[0]).type
    if not (is_temporal(kind) or pa.types.is_decimal(kind) or pa.types.is_uint64(kind)):
        return fold_numbers(task)
    ends = (replace(task.operator, name=name) for name in ("max", "min"))
    most, least = (_extreme(replace(task, operator=end)) for end in ends)
    try:
        if not pa.types.is_decimal(kind):
            return pc.subtract_checked(most, least)
        # One digit more than the values have, as far as the type goes.
        wide = pa.decimal256(75, kind.scale)
        apart = pc.subtract(most.cast(wide), least.cast(wide))
        digits = min(kind.precision + 1, 76 if pa.types.is_decimal256(kind) else 38)
        made = pa.decimal256 if pa.types.is_decimal256(kind) else pa.decimal128
        return apart.cast(made(digits, kind.scale))
    except pa.ArrowInvalid:
        raise ResultOverflowError(f"a range needs more than {kind} has room for") from None


def _bits(task: Task) -> Any:
    found = fold_numbers(task)
    if not pa.types.is_uint64(plain(task.columns[0]).type):
        return found
    valid = found.is_valid().to_numpy(zero_copy_only=False)
    return to_arrow(found.fill_null(0).to_numpy().view(np.uint64), valid)


def _decayed(task: Task) -> Any:
    """Fold values that fade: by seconds, whatever unit a column of datetimes counts in."""
    said = dict(task.operator.params)["half_life"]
    if isinstance(said, str) and not is_temporal(plain(task.columns[1]).type):
        raise task.wrong(1, "datetimes or durations beside a half_life that is a duration")
    values = read(task, 0)
    times, steps = in_units(task, 1)
    half_life = half_life_of(task.operator) * steps
    operator = replace(task.operator, params=(("half_life", half_life),))
    return to_arrow(*task.kernel(retyped(operator, values, times), (values, times)))


def _moments(task: Task) -> Any:
    """Fold spreads, which no shift changes: in units of whole numbers where there are some."""
    inputs, units = zip(*(in_units(task, i) for i in range(len(task.columns))), strict=True)
    operator = retyped(task.operator, *inputs)
    data, valid = task.kernel(operator, inputs[0] if len(inputs) == 1 else inputs)
    name, first, last = operator.name, units[0], units[-1]
    per = {"var": first * first, "std": first, "covariance": first * last, "trend": first / last}
    scale = per.get(name, 1.0)
    return to_arrow(np.asarray(data) if scale == 1 else np.asarray(data) / scale, valid)


def fold_numbers(task: Task) -> Any:
    """Fold numbers or strings as they are: int64, float64, bool or str."""
    inputs = [read(task, i) for i in range(len(task.columns))]
    operator = retyped(task.operator, *inputs)
    data, valid = task.kernel(operator, inputs[0] if len(inputs) == 1 else tuple(inputs))
    if not isinstance(data, list):
        return to_arrow(np.asarray(data), valid)
    return _objects(replace(task, operator=operator), data)


def _objects(task: Task, data: list[Any]) -> Any:
    known = {
        "moments": moment_structs,
        "frequent_items": frequent_structs,
        "theta": sketch_bytes,
    }
    if task.operator.name in known:
        return known[task.operator.name](data)
    if task.operator.name == "naive_bayes":
        return bayes_counts(task.operator, data)
    if task.operator.name in ("bloom", "count_min"):
        return pa.array([None if item is None else item.to_bytes() for item in data], pa.binary())
    if task.operator.name == "approx_quantile":
        return pa.array(data, pa.float64())  # also where all of them are null
    try:
        return pa.array(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise ValueTypeError(
            f"the results of {task.operator.name} are objects that no column holds: use sf.Window"
        ) from None


def _sketches(task: Task) -> Any:
    """Return the bytes of sketches, all of one size."""
    said: Any = dict(task.operator.params)
    if task.operator.name == "bloom":
        size = -(-said["bits"] // 64) * 8
    else:
        depth = math.ceil(-math.log1p(-said["confidence"]))
        size = 8 * math.ceil(math.e / said["epsilon"]) * depth
    if size * len(task.lo) >= 2**31:  # before they take that room
        raise DataError(
            f"{task.operator.name} takes {size} bytes a row, and a column of binary holds 2 GB: "
            f"run fewer than {2**31 // size} rows at a time, or ask for a smaller sketch"
        )
    return fold_numbers(task)


_ADDING = (
    "sum",
    "mean",
    "range",
    "histogram",
    "bloom",
    "count_min",
    "bit_and",
    "bit_or",
    "bit_xor",
    "var",
    "std",
    "covariance",
    "correlation",
    "trend",
    "decayed_mean",
    "relative_variation",
    "concat",
)  # no comparing, so no ranks
FOLDS: dict[str, Callable[[Task], Any]] = {
    "count": _count,
    "first": _first,
    "last": _last,
    "nth": _nth,
    "collect": collect,
    "concat": _concat,
    "min": _extreme,
    "max": _extreme,
    "max_count": _extreme_count,
    "min_count": _extreme_count,
    "max_by": _extreme_by,
    "min_by": _extreme_by,
    "median": _quantile,
    "quantile": _quantile,
    "top_k": top_k,
    "collect_distinct": collect_distinct,
    "histogram": histogram,
    "m4": _m4,
    "bloom": _sketches,
    "count_min": _sketches,
    "sum": _sum,
    "mean": _mean,
    "relative_variation": _maybe_unsigned,
    "range": _range,
    "var": _moments,
    "std": _moments,
    "covariance": _moments,
    "correlation": _moments,
    "trend": _moments,
    "decayed_mean": _decayed,
    "bit_and": _bits,
    "bit_or": _bits,
    "bit_xor": _bits,
}


def column_operator(operator: Operator, kinds: tuple[Any, ...]) -> Operator:
    """Return the operator that runs over columns of these Arrow types, as far as types tell."""
    if operator.name in ("struct", "count") or isinstance(operator, UserOperator) or not kinds:
        return operator
    samples = [_sample(operator, kind) for kind in kinds]
    if operator.name in ("max_by", "min_by"):
        samples[0] = np.empty(0, np.int64)  # a row number
    return retyped(operator, *samples)


def _sample(operator: Operator, kind: Any) -> Any:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    compares = operator.name in FOLDS and operator.name not in _ADDING
    if pa.types.is_floating(kind) or pa.types.is_null(kind):
        return np.empty(0)
    if pa.types.is_decimal(kind) and not compares:
        return np.empty(0, np.int64 if operator.name in ("sum", "mean") else np.float64)
    if pa.types.is_boolean(kind) and operator.dtype == "bool":
        return np.empty(0, np.bool_)
    return [] if is_text(kind) and not compares else np.empty(0, np.int64)
