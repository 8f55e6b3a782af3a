"""Results that are lists: flat values and offsets, without a Python object per row."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.reading import Task, compared, read, retyped
from slidefold.columns.trace import ran
from slidefold.columns.values import Array, comparable, plain
from slidefold.definition.windows.sorted_rows import spread

_BLOCK = 1 << 20  # values gathered at a time


def collect(task: Task) -> Any:
    """Return the values of each frame, oldest first."""
    ran("bounds", task.algorithm)
    count = task.hi - task.lo
    return _lists(task, _gathered(task.columns[0], task.lo, count), count)


def _gathered(column: Any, first: Array, count: Array) -> Any:
    """Return the values of each range of rows, one range after the other.

    The values of overlapping windows take far more room than the column. They are gathered in
    blocks: Ctrl-C stops the loop, and only one block of row numbers exists at a time.
    """
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    if total <= _BLOCK:
        return column.take(pa.array(spread(first, count)))
    cuts = np.searchsorted(ends, np.arange(_BLOCK, total, _BLOCK)).tolist()
    bounds = list(pairwise(np.unique([0, *cuts, len(count)]).tolist()))
    if column.null_count or not _of_whole_bytes(column.type):
        return pa.concat_arrays(
            [column.take(pa.array(spread(first[a:b], count[a:b]))) for a, b in bounds]
        )
    raw = np.dtype(f"u{column.type.bit_width // 8}")
    values = np.frombuffer(column.buffers()[1], raw)[column.offset :][: len(column)]
    flat = np.empty(total, raw)
    for a, b in bounds:
        start, stop = int(ends[a] - count[a]), int(ends[b - 1])
        flat[start:stop] = values[spread(first[a:b], count[a:b])]
    return pa.Array.from_buffers(column.type, total, [None, pa.py_buffer(flat)])


def _of_whole_bytes(kind: Any) -> bool:
    return pa.types.is_primitive(kind) and kind.bit_width in (8, 16, 32, 64)


def collect_distinct(task: Task) -> Any:
    """Return the distinct values of each frame, in the order of their first rows.

    A row is the first of its value in a frame if the row before it of that value lies before the
    frame.
    """
    ran("bounds", task.algorithm)
    numbers = compared(task, 0)[0]
    rows, ends = _native.distinct_rows(_rows_before(numbers), task.lo, task.hi)
    return _lists(task, task.columns[0].take(pa.array(rows)), np.diff(ends))


def _rows_before(numbers: Array) -> Array:
    """Return for each row the previous row with an equal value; -1 if there is none."""
    if numbers.dtype.kind == "f":
        numbers = np.where(np.isnan(numbers), np.nan, np.where(numbers == 0, 0.0, numbers))
    order = np.argsort(numbers, kind="stable")
    inside = numbers[order]
    same = inside[1:] == inside[:-1]
    if numbers.dtype.kind == "f":
        same |= np.isnan(inside[1:]) & np.isnan(inside[:-1])  # NaN is one key
    found = np.full(len(numbers), -1)
    found[order[1:][same]] = order[:-1][same]
    return found


def top_k(task: Task) -> Any:
    """Return the k largest values of each frame, the largest first."""
    numbers, restore = compared(task, 0)
    if task.algorithm == "top_values":
        ran(task.algorithm, task.algorithm)
        k: Any = dict(task.operator.params)["k"]
        flat, ends = _native.top_frames(numbers, task.lo, task.hi, k)
    else:
        found, _ = task.kernel(retyped(task.operator, numbers), numbers)
        lists = pa.array(found, pa.list_(pa.from_numpy_dtype(numbers.dtype)))
        flat, ends = lists.flatten().to_numpy(zero_copy_only=False), lists.offsets.to_numpy()
    return _lists(task, restore(flat, np.ones(len(flat), np.bool_)), np.diff(ends))


def histogram(task: Task) -> Any:
    """Return how many values of each frame fall into each bin."""
    column = plain(task.columns[0])
    if task.algorithm != "bins":
        return _folded_bins(task)
    ran(task.algorithm, task.algorithm)
    unsigned = pa.types.is_uint64(column.type)
    values = column.to_numpy(zero_copy_only=False) if unsigned else read(task, 0)
    edges: Any = dict(task.operator.params)["edges"]
    bins = len(edges) - 1
    found = _native.count_frames(_bins(values, edges), task.lo, task.hi, bins)
    if not task.held.all():
        found = found.reshape(-1, bins)[task.held].ravel()
    return _lists(task, pa.array(found), task.held * bins)


def _folded_bins(task: Task) -> Any:
    """Return the same counts, folded by the algorithm of the plan."""
    column = plain(task.columns[0])
    operator = task.operator
    if pa.types.is_uint64(column.type):
        values, _ = comparable(column)
        operator = replace(retyped(operator, values), variant="unsigned_histogram")
    else:
        values = read(task, 0)
        operator = retyped(operator, values)
    found, _ = task.kernel(operator, values)
    return pa.array(found, pa.list_(pa.int64()))


def _bins(values: Array, edges: tuple[float, ...]) -> Array:
    """Return the bin of each value, -1 if it is in none; integers are not rounded."""
    if values.dtype.kind in "iu":
        # A whole number is at or above an edge if it is at or above the next whole number.
        whole = [_clipped(np.ceil(edge)) for edge in edges[:-1]]
        last = _clipped(np.floor(edges[-1]))
        least, most = (int(end) for end in (np.iinfo(values.dtype).min, np.iinfo(values.dtype).max))
        found = np.full(len(values), -1, np.int64)
        for start in whole:
            if start <= most:
                found += values >= max(start, least)
        if last < least:
            return np.full(len(values), -1, np.int64)
        return np.where(values > last, -1, found) if last < most else found
    found = np.searchsorted(np.asarray(edges[:-1]), values, side="right") - 1
    return np.where(values <= edges[-1], found, -1)  # NaN is in none


def _clipped(edge: float) -> int:
    return int(min(max(edge, -(2.0**100)), 2.0**100))


def _lists(task: Task, values: Any, count: Array) -> Any:
    """Return lists with these lengths; null where a frame holds no value."""
    ends = np.concatenate(([0], np.cumsum(count)))
    mask = None if task.held.all() else pa.array(~task.held)
    if ends[-1] < 2**31:
        return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), values, mask=mask)
    return pa.LargeListArray.from_arrays(pa.array(ends), values, mask=mask)
