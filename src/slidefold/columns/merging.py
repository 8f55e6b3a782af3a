"""Counts and moments of two sets of rows, merged: for operators that no few rows can stand for.

Each is an array with one item a window, or a single number; `n` counts the values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.values import Array
from slidefold.operators import BUILT_IN, Operator

Moments = dict[str, Any]
# Folds an operator over columns by their place: 0 and 1.
Folding = Callable[[Operator, int], Any]


def mergeable(operator: Operator) -> bool:
    """Tell whether results over two sets of rows can be merged by a formula."""
    return operator.name in _FINISH


def moments_of(operator: Operator, count: Any, folding: Folding) -> Moments:
    """Return the moments that an operator needs, each folded by the kernel that there is for it."""
    found: Moments = {"n": np.asarray(count, np.int64)}
    if operator.name == "count":
        return found
    if operator.name == "histogram":
        bins = len(dict(operator.params)["edges"]) - 1  # type: ignore[arg-type]
        lists = folding(operator, 0)
        full = lists.fill_null(pa.scalar([0] * bins, lists.type)) if lists.null_count else lists
        found["bins"] = full.flatten().to_numpy().reshape(-1, bins)
        return found
    if operator.name == "geomean":
        with np.errstate(divide="ignore"):
            found["x"] = np.log(_zeros(folding(operator, 0), 1.0))
        return found
    plain: dict[str, Any] = dict(BUILT_IN)
    found["x"] = _zeros(folding(plain["mean"](operator.columns[0]), 0))
    if operator.name in ("var", "std"):
        spread = plain["var"](operator.columns[0], ddof=0)
        found["xx"] = _zeros(folding(spread, 0)) * found["n"]
    if operator.name == "covariance":
        found["y"] = _zeros(folding(plain["mean"](operator.columns[1]), 1))
        joint = replace(operator, params=(("ddof", 0),))
        found["xy"] = _zeros(folding(joint, -1)) * found["n"]
    return found


def _zeros(values: Any, empty: float = 0.0) -> Array:
    return values.fill_null(empty).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def merge(older: Moments, newer: Moments) -> Moments:
    """Return the moments of both together (Chan's pairwise formula)."""
    n = older["n"] + newer["n"]
    found: Moments = {"n": n}
    if "bins" in older:
        found["bins"] = older["bins"] + newer["bins"]
    if "x" not in older:
        return found
    share = newer["n"] / np.maximum(n, 1)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = newer["x"] - older["x"]
        found["x"] = _weighted(older, newer, "x", share)
        if "xx" in older:
            found["xx"] = older["xx"] + newer["xx"] + apart * apart * (older["n"] * share)
        if "y" in older:
            found["y"] = _weighted(older, newer, "y", share)
            crossed = apart * (newer["y"] - older["y"]) * (older["n"] * share)
            found["xy"] = older["xy"] + newer["xy"] + crossed
    return found


def _weighted(older: Moments, newer: Moments, name: str, share: Any) -> Any:
    """Return the mean of both; that of nothing has no weight, also if the other is infinite."""
    a, b = older[name], newer[name]
    mixed = a * (1 - share) + b * share
    # Equal means stay as they are: a spread of 0 must not become one of rounding.
    return np.where(newer["n"] == 0, a, np.where(older["n"] == 0, b, np.where(a == b, a, mixed)))


def finish(operator: Operator, moments: Moments) -> Any:
    """Return the results of an operator from moments of whole windows."""
    return _FINISH[operator.name](operator, moments)


def _count(_: Operator, moments: Moments) -> Any:
    return pa.array(moments["n"])


def _mean(_: Operator, moments: Moments) -> Any:
    return pa.array(moments["x"], mask=moments["n"] == 0)


def _geomean(_: Operator, moments: Moments) -> Any:
    return pa.array(np.exp(moments["x"]), mask=moments["n"] == 0)


def _spread(word: str) -> Callable[[Operator, Moments], Any]:
    def finished(operator: Operator, moments: Moments) -> Any:
        ddof: Any = dict(operator.params)["ddof"]
        rest = moments["n"] - ddof
        found = moments[word] / np.maximum(rest, 1)
        if operator.name == "std":
            found = np.sqrt(found)
        return pa.array(found, mask=(rest <= 0) | (moments["n"] == 0))

    return finished


def _histogram(_: Operator, moments: Moments) -> Any:
    bins = moments["bins"]
    offsets = np.arange(len(bins) + 1) * bins.shape[1]
    mask = moments["n"] == 0
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()),
        pa.array(np.ascontiguousarray(bins).ravel()),
        mask=pa.array(mask) if mask.any() else None,
    )


_FINISH: dict[str, Callable[[Operator, Moments], Any]] = {
    "count": _count,
    "mean": _mean,
    "geomean": _geomean,
    "var": _spread("xx"),
    "std": _spread("xx"),
    "covariance": _spread("xy"),
    "histogram": _histogram,
}
