"""Stands in for the native kernels over frames until the compiled module has them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from slidefold import _native
from slidefold.algorithms import REGISTRY


def sort_rows(groups: Any, times: Any) -> Any:
    """Return the stable order by group and time, None if rows are in it already."""
    order = np.lexsort((times,) if groups is None else (times, groups))
    return None if np.array_equal(order, np.arange(len(times))) else order


def time_frames(
    starts: Any, times: Any, span: int, keeps_start: bool, keeps_end: bool
) -> tuple[Any, Any]:
    """Return each row's window, a group at a time; whole numbers of any size."""
    lo, hi = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    for first, past in pairwise(starts):
        own = times[first:past]
        oldest = np.maximum(own.astype(object) - span, -(2**63)).astype(np.int64)
        beyond = own.astype(object) - span < -(2**63)
        start = np.searchsorted(own, oldest, "left" if keeps_start else "right")
        hi[first:past] = first + np.searchsorted(own, own, "right" if keeps_end else "left")
        lo[first:past] = first + np.where(beyond, 0, start)
    return np.minimum(lo, hi), hi


def fold_frames(algorithm: str, operator: Any, values: Any, lo: Any, hi: Any) -> tuple[Any, Any]:
    """Fold the frames one after the other, with insert, evict and query."""
    columns = [list(c) for c in (values if isinstance(values, tuple) else (values,))]
    rows = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    window = REGISTRY[algorithm](operator)
    results, oldest, newest = [], 0, 0
    for first, past in zip(lo.tolist(), hi.tolist(), strict=True):
        assert oldest <= first <= past, "lo must not fall, nor pass hi"
        assert newest <= past, "hi must not fall"
        while oldest < min(first, newest):
            window.evict()
            oldest += 1
        oldest = first
        for row in range(max(newest, first), past):
            window.insert(_plain(rows[row]))
        newest = max(newest, past)
        results.append(window.query())
    valid = np.array([result is not None for result in results], np.bool_)
    return _column(operator, results), valid


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return value.item() if isinstance(value, np.generic) else value


FLOATS = ("mean", "geomean", "var", "std")  # results are floats, whatever the values are


def _column(operator: Any, results: list[Any]) -> Any:
    kinds = {type(result) for result in results if result is not None}
    if not kinds:  # the native kernel knows the type, also where there is no result at all
        kinds = {float if operator.name in FLOATS or operator.dtype == "float64" else int}
    for kind, dtype in ((bool, np.bool_), (int, np.int64), (float, np.float64)):
        if kinds <= {kind}:
            return np.array([kind() if r is None else r for r in results], dtype)
    return results


def install() -> None:
    """Put them where the compiled ones will be, unless those are there."""
    for function in (sort_rows, time_frames, fold_frames):
        if not hasattr(_native, function.__name__):
            setattr(_native, function.__name__, function)
