"""Counts and moments of two sets of rows, merged: for operators that no few rows can stand for.

Each is an array with one item a window, or a single number; `n` counts the values.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.exact import carried, mean_of
from slidefold.columns.values import (
    Array,
    comparable,
    decimal_steps,
    is_temporal,
    plain,
    real_numbers,
    steps_per_second,
    whole_numbers,
)
from slidefold.definition.operators import BUILT_IN, Operator

Moments = dict[str, Any]
# Folds an operator over columns by their place: 0 and 1.
Folding = Callable[[Operator, int], Any]


def mergeable(operator: Operator) -> bool:
    """Tell whether results over two sets of rows can be merged by a formula."""
    return operator.name in _FINISH


def centred(operator: Operator) -> bool:
    """Tell whether an operator wants its columns less a value of theirs, as `less_pivot` has it."""
    return operator.name in ("var", "std", "covariance", "correlation", "trend")


def exact_mean(operator: Operator, columns: tuple[Any, ...]) -> bool:
    """Tell whether an operator is the mean of values whose sums are exact."""
    if operator.name != "mean":
        return False
    kind, types = plain(columns[0]).type, pa.types
    whole = types.is_integer(kind) or types.is_boolean(kind) or types.is_duration(kind)
    return bool(whole or types.is_decimal(kind))


def less_pivot(column: Any) -> tuple[Any, int | float | Fraction]:
    """Return a column less one of its values, and that value.

    Times since 1970 and values far from zero keep their digits so, and the mean of a column that
    does not vary is exact: a spread of rounding errors would be taken for one.
    """
    values = plain(column)
    kind = values.type
    if pa.types.is_null(kind):
        return pa.array([], pa.float64()), 0.0
    counts = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or is_temporal(kind)
    if counts:
        whole = comparable(values)[0] if pa.types.is_uint64(kind) else whole_numbers(values)
        pivot = int(whole[0]) if len(whole) else 0
        if len(whole) == 0 or max(int(whole.max()) - pivot, pivot - int(whole.min())) < 2**63:
            return pa.array(whole - pivot), pivot
        return pa.array(whole.astype(np.float64) - pivot), pivot
    decimal = pa.types.is_decimal(kind) and kind.scale >= 0
    exact, less = decimal_steps(values) if decimal else (None, 0)
    if exact is not None and len(exact):
        pivot = int(exact[0])
        if max(int(exact.max()) - pivot, pivot - int(exact.min())) < 2**63:
            apart = (exact - pivot) / 10.0**kind.scale
            return pa.array(apart), Fraction(less + pivot, 10**kind.scale)
    numbers = real_numbers(values)
    finite = np.flatnonzero(np.isfinite(numbers))
    start = float(numbers[finite[0]]) if len(finite) else 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        return pa.array(numbers - start), start


def time_steps(column: Any) -> float:
    """Return how many units of a column make one of the results: a second, or one."""
    kind = plain(column).type
    return steps_per_second(kind) if is_temporal(kind) else 1.0


def part_of(moments: Moments, place: int) -> Moments:
    """Return the moments of one set of rows."""
    return {
        word: items if word in _SHARED else items[place : place + 1]
        for word, items in moments.items()
    }


# The pivots of all columns, the unit of time and a type, the same for all sets of rows.
_SHARED = ("pivots", "steps", "kind")


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
    made: dict[str, Any] = dict(BUILT_IN)
    found["x"] = _zeros(folding(made["mean"](operator.columns[0]), 0))
    if not centred(operator):
        return found
    words = ["xx"]
    if len(operator.columns) == 2:
        found["y"] = _zeros(folding(made["mean"](operator.columns[1]), 1))
        joint = made["covariance"](*operator.columns, ddof=0)
        found["xy"] = _zeros(folding(joint, -1)) * found["n"]
        words = [] if operator.name == "covariance" else ["xx", "yy"]
    for word in words:
        place = "xy".index(word[0])
        spread = made["var"](operator.columns[place], ddof=0)
        found[word] = _zeros(folding(spread, place)) * found["n"]
        if "xy" in found:  # what is not finite in one column leaves no spread in the other either
            found[word] = np.where(np.isnan(found["xy"]), np.nan, found[word])
    return found


def _zeros(values: Any, empty: float = 0.0) -> Array:
    return values.fill_null(empty).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def merge(older: Moments, newer: Moments) -> Moments:
    """Return the moments of both together."""
    if "pivots" in older:
        return _merge_centred(older, newer)
    n = older["n"] + newer["n"]
    found: Moments = {"n": n}
    if "limbs" in older:
        found |= {"limbs": carried(older["limbs"] + newer["limbs"]), "kind": older["kind"]}
    if "bins" in older:
        found["bins"] = older["bins"] + newer["bins"]
    if "x" not in older:
        return found
    share = newer["n"] / np.maximum(n, 1)
    with np.errstate(invalid="ignore", over="ignore"):
        found["x"] = _weighted(older, newer, "x", share)
    return found


def _merge_centred(older: Moments, newer: Moments) -> Moments:
    """Return both together (Chan's pairwise formula), around the pivots of the older one.

    That is one set of rows, the newer one may be many.
    """
    if not older["n"].any():
        return newer
    found: Moments = {"n": older["n"] + newer["n"]}
    found |= {word: older[word] for word in ("pivots", "steps")}
    names = "xy"[: len(older["pivots"])]
    share = newer["n"] / found["n"]
    apart = {}
    with np.errstate(invalid="ignore", over="ignore"):
        for word, from_here, to_there in zip(names, older["pivots"], newer["pivots"], strict=True):
            apart[word] = float(to_there - from_here) + (newer[word] - older[word])
            found[word] = older[word] + apart[word] * share
        for word in ("xx", "xy", "yy"):
            if word not in older:
                continue
            crossed = apart[word[0]] * apart[word[1]] * (older["n"] * share)
            found[word] = older[word] + newer[word] + crossed
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
    if "limbs" in moments:
        return mean_of(moments["limbs"], moments["n"], moments["kind"])
    return pa.array(moments["x"], mask=moments["n"] == 0)


def _geomean(_: Operator, moments: Moments) -> Any:
    return pa.array(np.exp(moments["x"]), mask=moments["n"] == 0)


def _spread(word: str) -> Callable[[Operator, Moments], Any]:
    def finished(operator: Operator, moments: Moments) -> Any:
        ddof: Any = dict(operator.params)["ddof"]
        rest = moments["n"] - ddof
        found = moments[word] / np.maximum(rest, 1)
        if word == "xy":
            found = found / moments["steps"]
        if operator.name == "std":
            found = np.sqrt(found)
        return pa.array(found, mask=(rest <= 0) | (moments["n"] == 0))

    return finished


def _correlation(_: Operator, moments: Moments) -> Any:
    xx, yy, xy = moments["xx"], moments["yy"], moments["xy"]
    with np.errstate(all="ignore"):
        scale = np.sqrt(xx * yy)
        # The product of the sums of squares may leave the range of floats.
        normal = np.isfinite(scale) & (scale >= np.finfo(np.float64).tiny)
        scale = np.where(normal, scale, np.sqrt(xx) * np.sqrt(yy))
        found = np.clip(xy / scale, -1.0, 1.0)
    return pa.array(found, mask=(moments["n"] < 2) | (xx == 0) | (yy == 0), from_pandas=False)


def _trend(_: Operator, moments: Moments) -> Any:
    with np.errstate(all="ignore"):
        found = moments["xy"] / moments["yy"] * moments["steps"]
    return pa.array(found, mask=(moments["n"] < 2) | (moments["yy"] == 0), from_pandas=False)


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
    "correlation": _correlation,
    "trend": _trend,
    "histogram": _histogram,
}
