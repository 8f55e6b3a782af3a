"""How often values occur in frames, and where a frame's own value stands among its values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.reading import Task, compared
from slidefold.columns.trace import ran
from slidefold.columns.values import Array, plain, to_arrow

# Codes count values in 32 bits.
_MOST = 2**31 - 1


def distinct(task: Task) -> Any:
    """Count the distinct values of each frame."""
    codes, _, count = _coded(task)
    return to_arrow(_native.count_codes(codes, count, task.lo, task.hi), task.held)


def entropy(task: Task) -> Any:
    """Return the entropy of each frame."""
    codes, _, count = _coded(task)
    return to_arrow(_native.entropy_frames(codes, count, task.lo, task.hi), task.held)


def mode(task: Task) -> Any:
    """Return the most frequent value of each frame."""
    codes, values, count = _coded(task)
    found = _native.mode_frames(codes, count, task.lo, task.hi)
    return values(found, task.held)


def most_frequent(task: Task) -> Any:
    """Return lists of the most frequent values of each frame, with their counts."""
    codes, values, count = _coded(task)
    k: Any = dict(task.operator.params)["k"]
    found, counts, ends = _native.frequent_frames(codes, count, task.lo, task.hi, k)
    items = values(found, np.ones(len(found), np.bool_))
    return frequent_lists(items, counts, ends, task.held)


def frequent_lists(items: Any, counts: Any, ends: Any, held: Array) -> Any:
    """Return lists of values with their counts; null where a frame holds no value."""
    structs = pa.StructArray.from_arrays([items, pa.array(counts, pa.int64())], ["value", "count"])
    if len(structs) > _MOST:
        raise OverflowError("lists of most frequent values hold more than 2^31 items")
    offsets = pa.array(ends, pa.int32(), mask=np.append(~held, False))
    return pa.ListArray.from_arrays(offsets, structs)


def rank(task: Task) -> Any:
    """Return the rank of each frame's own value among the values of the frame."""
    own = plain(task.own)
    there = own.is_valid().to_numpy(zero_copy_only=False)
    column = plain(task.columns[0])
    some = own.filter(pa.array(there))
    both = pa.concat_arrays([column.cast(some.type), some]) if len(some) else column
    codes, _, count = _coded(replace(task, columns=(both,)))
    asked = np.full(len(task.lo), -1, np.int64)
    asked[there] = 2 * codes[len(column) :].astype(np.int64)
    smaller, equal = _native.rank_frames(codes[: len(column)], count, task.lo, task.hi, asked)
    params: dict[str, Any] = dict(task.operator.params)
    least = smaller + 1.0
    most = np.maximum(least, smaller + equal)
    found = {"min": least, "max": most, "average": (least + most) / 2}[params["method"]]
    valid = there & task.held
    if params["pct"]:
        found = found / np.maximum(task.hi - task.lo, 1)
    return to_arrow(found, valid)


def _coded(task: Task) -> tuple[Array, Any, int]:
    """Return values as codes in their order, a function that restores values, and their number."""
    ran(task.algorithm, task.algorithm)
    numbers, restore = compared(task, 0)
    distinct, codes = np.unique(numbers, return_inverse=True)

    def values(found: Array, valid: Array) -> Any:
        taken = distinct[np.maximum(found, 0)] if len(distinct) else np.zeros(0, numbers.dtype)
        if len(distinct) == 0:
            taken = np.zeros(len(found), numbers.dtype)
        return restore(taken, valid)

    return codes.astype(np.int32).reshape(-1), values, len(distinct)
