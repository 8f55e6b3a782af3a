"""Fold one operator over the frames of sorted rows.

Rows with nulls are dropped first and the frames move with them, so kernels never see a null.
Operators that pick a row (first, max_by, ...) fold row numbers, and the result is taken from the
column. This keeps the type of the column, whatever it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.buffers import as_arrow, as_numpy
from slidefold.columns import exact, tally
from slidefold.columns.lists import collect, collect_distinct, histogram, top_k
from slidefold.columns.objects import (
    bayes_counts,
    frequent_structs,
    moment_structs,
    sketch_bytes,
)
from slidefold.columns.order import quantiles
from slidefold.columns.per import per_category
from slidefold.columns.reading import Task, compared, in_units, read, retyped
from slidefold.columns.trace import ran
from slidefold.columns.users import read_inputs, user_column
from slidefold.columns.values import (
    Array,
    comparable,
    is_temporal,
    is_text,
    plain,
    steps_per_second,
    take,
    to_arrow,
    whole_decimals,
    whole_numbers,
)
from slidefold.definition import operators
from slidefold.definition.operators import Operator, QuantileOperator, UserOperator
from slidefold.definition.operators.pairs import half_life_of
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import DataError, ResultOverflowError, ValueTypeError
from slidefold.planner import ColumnPlan


def fold(
    plan: ColumnPlan,
    columns: tuple[Any, ...],
    frames: tuple[Ints, Ints],
    threads: int = 1,
    flags: Any = None,
    own: Any = None,
) -> Any:
    """Fold sorted columns over frames of rows, and return an Arrow array: one result per frame.

    `flags` is null in rows that are not folded; `own` is the value of each frame's own row.
    """
    lo, hi = frames
    if flags is not None:
        columns, lo, hi = _rows_kept(columns, lo, hi, present_rows((flags,)))
    enough = None
    least = plan.leaf.min_count
    if least is not None:  # the other frames are null, whatever they would give
        enough = count_values(columns, lo, hi) >= least
        lo, hi = lo[enough], hi[enough]
        own = None if own is None else own.filter(as_arrow(enough))
    operator = plan.leaf.operator
    if not keeps_nulls(operator):
        columns, lo, hi = without_nulls(columns, lo, hi)
    task = Task(operator, plan.algorithm, columns, lo, hi, threads, own=own)
    try:
        results = FOLDS[operator.record.column](task)
    except ResultOverflowError as error:
        if enough is None or error.row is None:
            raise
        row = int(np.flatnonzero(enough)[error.row])
        raise ResultOverflowError(error.sentence).at(row) from None
    return results if enough is None else spread_results(results, enough)


def without_nulls(
    columns: tuple[Any, ...], lo: Ints, hi: Ints
) -> tuple[tuple[Any, ...], Ints, Ints]:
    """Drop rows with a null in any column, and move the frames with them."""
    return _rows_kept(columns, lo, hi, present_rows(columns))


def _rows_kept(
    columns: tuple[Any, ...], lo: Ints, hi: Ints, present: Array | None
) -> tuple[tuple[Any, ...], Ints, Ints]:
    if present is None:
        return columns, lo, hi
    before = np.concatenate(([0], np.cumsum(present)))
    kept = tuple(column.filter(as_arrow(present)) for column in columns)
    return kept, before[lo], before[hi]


def spread_results(found: Any, places: Array) -> Any:
    """Put results at the places that are true, and nulls at the others."""
    if places.all():
        return found
    return take(found, np.maximum(np.cumsum(places) - 1, 0), places)


def keeps_nulls(operator: Operator) -> bool:
    """Tell whether the operator folds nulls as values."""
    return operator.keeps_nulls or not operator.columns


def present_rows(columns: tuple[Any, ...]) -> Array | None:
    """Return which rows have no null in any column; None if all rows do."""
    found = None
    for column in columns:
        if column.null_count:
            valid = as_numpy(column.is_valid())
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
    ran("bounds", task.algorithm)
    return as_arrow(task.hi - task.lo + task.more)


def _first(task: Task) -> Any:
    ran("bounds", task.algorithm)
    return take(task.columns[0], task.lo, task.held)


def _last(task: Task) -> Any:
    ran("bounds", task.algorithm)
    return take(task.columns[0], task.hi - 1, task.held)


def _nth(task: Task) -> Any:
    ran("bounds", task.algorithm)
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
    ran(task.algorithm, task.algorithm)
    ordered = compared(task, 0)
    found = quantiles(operator, plain(task.columns[0]), ordered, task.lo, task.hi)
    if found is None:
        raise task.wrong(0, f"numbers or times with interpolation={operator.interpolation!r}")
    return found


def _m4(task: Task) -> Any:
    """Return first, last, min and max, each folded by itself over the same frames."""
    ends = operators.min, operators.max
    least, most = (end(*task.operator.columns) for end in ends)
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
    if pa.types.is_decimal(kind) and kind.precision <= 18 and kind.scale >= 0:
        whole = whole_decimals(values)
        assert whole is not None
        params = (("unit", 10**kind.scale),)
        operator = replace(retyped(task.operator, whole), variant="decimal_mean", params=params)
        return to_arrow(*task.kernel(operator, whole))
    adding = operators.sum(*task.operator.columns, dtype="int64")

    def summing(whole: Array) -> tuple[Array, Array]:
        return task.kernel(adding, whole)

    limbs, valid = exact.limb_sums(values, summing)
    count, _ = summing(np.ones(len(values), np.int64))
    return exact.mean_of(limbs, np.where(valid, count, 0), kind)


def _maybe_unsigned(task: Task) -> Any:
    """Fold numbers. uint64 is folded exactly, as int64 shifted by 2**63; floats would round it."""
    values = plain(task.columns[0])
    if not pa.types.is_uint64(values.type):
        return fold_numbers(task)
    codes, _ = comparable(values)
    coding = task.operator.record.travel("uint64", False)
    assert coding is not None
    operator = replace(retyped(task.operator, codes), variant=coding.variant)
    return to_arrow(*task.kernel(operator, codes))


def _range(task: Task) -> Any:
    """Return the largest value minus the smallest: times give durations, decimals are exact."""
    kind = plain(task.columns[0]).type
    if not (is_temporal(kind) or pa.types.is_decimal(kind) or pa.types.is_uint64(kind)):
        return fold_numbers(task)
    ends = (end(*task.operator.columns) for end in (operators.max, operators.min))
    most, least = (_extreme(replace(task, operator=end)) for end in ends)
    try:
        if not pa.types.is_decimal(kind):
            return pc.subtract_checked(most, least)
        # One digit more than the values have, as far as the type goes. Arrow does not subtract
        # decimals of a negative scale, so their digits are subtracted.
        wide, whole = pa.decimal256(75, kind.scale), pa.decimal256(75, 0)
        ends = (values.cast(wide).view(whole) for values in (most, least))
        apart = pc.subtract(*ends).view(pa.decimal256(76, kind.scale))
        digits = min(kind.precision + 1, 76 if pa.types.is_decimal256(kind) else 38)
        made = pa.decimal256 if pa.types.is_decimal256(kind) else pa.decimal128
        return apart.cast(made(digits, kind.scale))
    except pa.ArrowInvalid:
        raise ResultOverflowError(f"a range needs more than {kind} holds") from None


def _bits(task: Task) -> Any:
    found = fold_numbers(task)
    if not pa.types.is_uint64(plain(task.columns[0]).type):
        return found
    valid = found.is_valid().to_numpy(zero_copy_only=False)
    return to_arrow(found.fill_null(0).to_numpy().view(np.uint64), valid)


def _decayed(task: Task) -> Any:
    """Fold a decayed mean. The half-life is in seconds, whatever unit a column of times has."""
    if isinstance(dict(task.operator.params)["half_life"], str) and not is_temporal(
        plain(task.columns[1]).type
    ):
        raise task.wrong(1, "datetimes or durations beside a half_life that is a duration")
    values = read(task, 0)
    times, steps = in_units(task, 1)
    half_life = half_life_of(task.operator) * steps
    operator = replace(task.operator, params=(("half_life", half_life),))
    return to_arrow(*task.kernel(retyped(operator, values, times), (values, times)))


def _spreads(task: Task) -> Any:
    """Fold spreads. A shift does not change them, so whole numbers are folded in whole units."""
    inputs, units = zip(*(in_units(task, i) for i in range(len(task.columns))), strict=True)
    operator = retyped(task.operator, *inputs)
    data, valid = task.kernel(operator, inputs[0] if len(inputs) == 1 else inputs)
    scale = operator.record.unit(units[0], units[-1])
    return to_arrow(np.asarray(data) if scale == 1 else np.asarray(data) / scale, valid)


def fold_numbers(task: Task) -> Any:
    """Fold numbers or strings as they are: int64, float64, bool or str."""
    inputs = [read(task, i) for i in range(len(task.columns))]
    operator = retyped(task.operator, *inputs)
    data, valid = task.kernel(operator, inputs[0] if len(inputs) == 1 else tuple(inputs))
    if not isinstance(data, list):
        return to_arrow(np.asarray(data), valid)
    try:
        return pa.array(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise ValueTypeError(
            f"the results of {operator.name} are objects that do not fit a column: use sf.Window"
        ) from None


def _listed(task: Task) -> list[Any]:
    """Return results that are Python objects."""
    inputs = [read(task, i) for i in range(len(task.columns))]
    operator = retyped(task.operator, *inputs)
    data, _ = task.kernel(operator, inputs[0] if len(inputs) == 1 else tuple(inputs))
    return data  # type: ignore[no-any-return]


def _reals(task: Task) -> Any:
    return pa.array(_listed(task), pa.float64())  # also where all of them are null


def _moment_sketch(task: Task) -> Any:
    return moment_structs(_listed(task))


def _frequent(task: Task) -> Any:
    return frequent_structs(_listed(task))


def _theta(task: Task) -> Any:
    return sketch_bytes(_listed(task))


def _naive_bayes(task: Task) -> Any:
    codes = ["str" if is_text(plain(column).type) else "int64" for column in task.columns]
    return bayes_counts(codes[0], codes[-1], task.operator.columns[1:], _listed(task))


def _sketches(task: Task) -> Any:
    """Return the bytes of sketches, all of one size."""
    size = task.operator.record.result_bytes(dict(task.operator.params))
    if size * len(task.lo) >= 2**31:  # before they take that room
        raise DataError(
            f"{task.operator.name} takes {size} bytes per row, and a binary column holds 2 GB: "
            f"run fewer than {2**31 // size} rows at a time, or ask for a smaller sketch"
        )
    sketches = _listed(task)
    return pa.array([None if each is None else each.to_bytes() for each in sketches], pa.binary())


def _per(task: Task) -> Any:
    return per_category(task, fold)


def _gap(task: Task) -> Any:
    """Return the longest gap between neighbours: a duration, or a number if times are numbers."""
    values = plain(task.columns[0])
    if pa.types.is_null(values.type):
        values = values.cast(pa.int64())
    if not (is_temporal(values.type) or pa.types.is_integer(values.type)):
        raise task.wrong(0, "times or integers")
    whole = whole_numbers(values)
    found, valid = task.kernel(retyped(task.operator, whole), whole)
    if pa.types.is_integer(values.type):
        return to_arrow(found, valid)
    empty = pa.array([], values.type)
    kind = pc.subtract(empty, empty).type
    per_step = round(steps_per_second(kind) / steps_per_second(values.type))
    return to_arrow(np.asarray(found) * per_step, valid, kind)


def _user(task: Task) -> Any:
    assert isinstance(task.operator, UserOperator)
    operator = task.operator.for_columns([column.type for column in task.columns])
    inputs = read_inputs(operator, task.columns)
    return user_column(operator, *task.kernel(operator, inputs))


# By the word that the record of an operator has for its fold.
FOLDS: dict[str, Callable[[Task], Any]] = {
    "bits": _bits,
    "collect": collect,
    "collect_distinct": collect_distinct,
    "concat": _concat,
    "count": _count,
    "decayed": _decayed,
    "extreme": _extreme,
    "extreme_by": _extreme_by,
    "extreme_count": _extreme_count,
    "first": _first,
    "distinct": tally.distinct,
    "entropy": tally.entropy,
    "frequent_items": _frequent,
    "gap": _gap,
    "mode": tally.mode,
    "most_frequent": tally.most_frequent,
    "rank": tally.rank,
    "histogram": histogram,
    "last": _last,
    "m4": _m4,
    "mean": _mean,
    "moments": _moment_sketch,
    "naive_bayes": _naive_bayes,
    "nth": _nth,
    "per": _per,
    "numbers": fold_numbers,
    "quantile": _quantile,
    "range": _range,
    "reals": _reals,
    "sketch": _sketches,
    "spread": _spreads,
    "sum": _sum,
    "theta": _theta,
    "top_k": top_k,
    "unsigned": _maybe_unsigned,
    "user": _user,
}
