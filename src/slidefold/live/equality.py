"""Compare two columns value by value: null equals null, NaN equals NaN, 0.0 equals -0.0."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.columns.grouping import one_chunk
from slidefold.columns.values import plain
from slidefold.definition.windows.sorted_rows import spread
from slidefold.live.tables import objects

Bools = npt.NDArray[np.bool_]


def same_rows(left: Any, right: Any, names: list[str]) -> Bools:
    """Tell which rows of two tables have equal values in these columns."""
    equal = np.ones(len(left), np.bool_)
    for name in names:
        equal &= same(one_chunk(left, name), one_chunk(right, name))
    return equal


def same(left: Any, right: Any) -> Bools:
    """Tell which values of two arrays are equal.

    >>> same(pa.array([1.0, None, float("nan")]), pa.array([2.0, None, float("nan")])).tolist()
    [False, True, True]
    >>> same(pa.array([[1, 2], [3], []]), pa.array([[1, 2], [4], None])).tolist()
    [True, False, False]
    >>> maps = pa.array([[("a", float("nan"))], [("b", 1.0)]], pa.map_(pa.string(), pa.float64()))
    >>> same(maps, maps.take([0, 0])).tolist()
    [True, False]
    """
    left, right = plain(left), plain(right)
    kind, types = left.type, pa.types
    nulls = _bools(left.is_null()), _bools(right.is_null())
    if types.is_null(kind) or types.is_null(right.type):
        return nulls[0] & nulls[1]
    if types.is_struct(kind):
        same_parts: Bools = nulls[0] == nulls[1]
        for one, other in zip(left.flatten(), right.flatten(), strict=True):
            same_parts &= same(one, other)
        return same_parts
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        return _same_lists(left, right) & ~(nulls[0] ^ nulls[1])
    if types.is_floating(kind):
        a, b = (_reals(values) for values in (left, right))
        equal: Bools = (a == b) | (np.isnan(a) & np.isnan(b))
    else:
        equal = _equal(left, right)
    equal[nulls[0] | nulls[1]] = False
    equal[nulls[0] & nulls[1]] = True
    return equal


def _equal(left: Any, right: Any) -> Bools:
    try:
        return _bools(pc.equal(left, right).fill_null(False)).copy()
    except pa.ArrowNotImplementedError:  # intervals and similar types
        pairs = zip(objects(left), objects(right), strict=True)
        return np.array([a == b for a, b in pairs], np.bool_)


def _same_lists(left: Any, right: Any) -> Bools:
    (first, count), (others_first, others_count) = _extents(left), _extents(right)
    equal: Bools = count == others_count
    common = np.where(equal, count, 0)
    items = same(
        left.values.take(pa.array(spread(first, common))),
        right.values.take(pa.array(spread(others_first, common))),
    )
    differing = np.concatenate(([0], np.cumsum(~items)))
    ends = np.cumsum(common)
    equal &= differing[ends] == differing[ends - common]
    return equal


def _extents(lists: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    offsets = lists.offsets.to_numpy().astype(np.int64)
    # Items under a null are ignored.
    return offsets[:-1], np.where(_bools(lists.is_null()), 0, np.diff(offsets))


def _bools(values: Any) -> Bools:
    return values.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _reals(values: Any) -> npt.NDArray[np.float64]:
    return values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
