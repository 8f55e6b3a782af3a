"""Results per category: the rows of each category are folded apart, over the same frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.reading import Task, compared
from slidefold.columns.trace import ran
from slidefold.columns.values import is_temporal, is_text, plain
from slidefold.definition.operators import PerOperator
from slidefold.definition.rolling import Leaf
from slidefold.definition.windows import Rows
from slidefold.errors import DataError
from slidefold.planner import plan_leaf


def per_category(task: Task, fold: Callable[..., Any]) -> Any:
    """Return one map per frame; `fold` folds an operator over frames."""
    operator = task.operator
    assert isinstance(operator, PerOperator)
    ran("per", task.algorithm)
    category = plain(task.columns[0])
    require_category(task, category.type)
    present = category.is_valid().to_numpy(zero_copy_only=False)
    before = np.concatenate(([0], np.cumsum(present)))
    lo, hi = before[task.lo], before[task.hi]
    keep = pa.array(present)
    rows = Task(operator, task.algorithm, (category.filter(keep),), lo, hi)
    numbers, restore = compared(rows, 0)
    distinct, inverse = np.unique(numbers, return_inverse=True)
    codes = inverse.astype(np.int32).reshape(-1)
    found = _native.code_frames(codes, len(distinct), lo, hi, operator.limit)
    if isinstance(found, int):
        raise DataError(
            f"a window has more than {operator.limit} categories of {operator.category!r}: raise "
            "limit= of per"
        )
    which, first, end, offsets = found
    starts = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(distinct)))))
    together = np.argsort(codes, kind="stable")  # the rows of a category one after the other
    by_category = np.argsort(which, kind="stable")
    places = starts[which[by_category]]
    columns = tuple(column.filter(keep).take(pa.array(together)) for column in task.columns[1:])
    kinds = [column.type for column in columns]
    leaf = Leaf(("per",), operator.inner, Rows(1))
    frames = places + first[by_category], places + end[by_category]
    results = fold(plan_leaf(leaf, kinds), columns, frames, task.threads)
    back = np.empty(len(which), np.int64)
    back[by_category] = np.arange(len(which))
    values = distinct[which] if len(which) else np.zeros(0, numbers.dtype)
    keys = restore(values, np.ones(len(which), np.bool_))
    return maps_of(offsets, keys, results.take(pa.array(back)))


def maps_of(offsets: Any, keys: Any, values: Any) -> Any:
    """Return maps; null where a frame has no category."""
    none = np.append(np.diff(offsets) == 0, False)
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32(), mask=none), keys, values)


def require_category(task: Task, kind: Any) -> None:
    """Refuse categories whose equality is not plain."""
    types = pa.types
    whole = types.is_integer(kind) or types.is_boolean(kind) or is_temporal(kind)
    text = is_text(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    if not (whole or text or types.is_null(kind)):
        raise task.wrong(0, "categories of strings, bytes, integers, bools, dates or times")
