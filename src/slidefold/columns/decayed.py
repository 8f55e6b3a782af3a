"""Decayed means in chunks: one row stands for many, at the time at which it weighs as much as they.

Weights are relative, so that a row which is newer than all others by some half lives does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.folds import fold
from slidefold.columns.states import without_nulls
from slidefold.columns.values import (
    Array,
    comparable,
    is_temporal,
    plain,
    real_numbers,
    steps_per_second,
    whole_decimals,
)
from slidefold.definition.operators import Operator
from slidefold.definition.operators.pairs import half_life_of
from slidefold.definition.windows import WindowKind
from slidefold.definition.windows.sorted_rows import Ints

# The newest time, the weight of all rows if that of the newest is 1, their mean, and the half life
# in steps of the times.
Decayed = tuple[Any, float, float, float]


def decayed_parts(
    operator: Operator, columns: tuple[Any, ...], lo: Ints, hi: Ints
) -> list[Decayed | None]:
    """Return what stands for ranges of rows in order; None where there is no value."""
    columns, lo, hi = without_nulls(columns, lo, hi)
    values, times, life = _read(operator, columns)
    ranges = zip(lo.tolist(), hi.tolist(), strict=True)
    return [_part(values[a:b], times[a:b], life) if b > a else None for a, b in ranges]


def _part(values: Array, times: Array, life: float) -> Decayed:
    newest = times.max().item()
    with np.errstate(all="ignore"):
        weights = np.exp2(_less(times, newest) / life)
        total = float(weights.sum())
        return newest, total, float((values * (weights / total)).sum()), life


def merge_decayed(parts: Sequence[Decayed]) -> Decayed:
    """Return what stands for all of them."""
    return reduce(_both, parts)


def _both(one: Decayed, other: Decayed) -> Decayed:
    older, newer = (one, other) if one[0] <= other[0] else (other, one)
    life = newer[3]
    faded = older[1] * 2.0 ** -(float(newer[0] - older[0]) / life)
    weight = faded + newer[1]
    return newer[0], weight, older[2] * (faded / weight) + newer[2] * (newer[1] / weight), life


def fold_decayed(
    operator: Operator,
    window: WindowKind,
    algorithm: str | None,
    columns: tuple[Any, ...],
    frames: tuple[Ints, Ints],
    middle: tuple[int, Decayed],
) -> Any:
    """Fold frames of rows with such a part between them, before the row with the number given."""
    place, (newest, weight, mean, _) = middle
    columns, lo, hi = without_nulls(columns, *frames, place)
    place, lo, hi = int(lo[-1]), lo[:-1], hi[:-1]
    values, times, life = _read(operator, columns)
    apart = _less(times, newest)
    inputs = (
        pa.array(np.insert(values, place, mean), from_pandas=False),
        pa.array(np.insert(apart, place, life * np.log2(weight)), from_pandas=False),
    )
    params = (("half_life", life),)
    numbers = replace(operator, dtype="float64", key_dtype="float64", params=params)
    lo, hi = np.where(lo > place, lo + 1, lo), hi + 1
    return fold(numbers, window, inputs, (lo, hi), None, algorithm)


def _read(operator: Operator, columns: tuple[Any, ...]) -> tuple[Array, Array, float]:
    """Return values, times and the half life, both in steps of the column of times."""
    times = plain(columns[1])
    kind = times.type
    if pa.types.is_null(kind) or pa.types.is_null(columns[0].type):
        return np.empty(0), np.empty(0), 1.0
    life, steps = half_life_of(operator), None
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or is_temporal(kind):
        steps = comparable(times)[0]  # uint64 less 2**63: only differences count
        life *= steps_per_second(kind) if is_temporal(kind) else 1
    elif pa.types.is_decimal(kind) and kind.precision <= 18 and kind.scale >= 0:
        steps = whole_decimals(times)
        life *= 10.0**kind.scale
    return real_numbers(plain(columns[0])), real_numbers(times) if steps is None else steps, life


def _less(times: Array, newest: Any) -> Array:
    """Return times less another as floats; rounded only if they are that far apart."""
    exact = times.dtype == np.int64 and len(times) > 0
    if exact and max(int(times.max()) - newest, newest - int(times.min())) < 2**63:
        times, newest = times - newest, 0
    found: Array = times.astype(np.float64) - float(newest)
    return found
