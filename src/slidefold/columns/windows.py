"""Columns of numbers over time and rows windows: all of a definition in one native pass.

The pass goes over the rows block by block, finds where the windows of a block start, all of them in
one loop, and folds each column of the block. Frames are never kept, and results go where the input
has its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from slidefold import _native
from slidefold.columns.grouping import Sorted
from slidefold.columns.reading import retyped
from slidefold.columns.trace import ran
from slidefold.columns.values import Array, real_numbers, to_arrow, whole_numbers
from slidefold.planner import ColumnPlan

# Fewer rows than this are not worth a thread.
_SHARE = 1 << 15
_ROWS = 2**31 - 1  # the pass counts them in half a word


def fold_windows(
    plans: Sequence[ColumnPlan], ordered: Sorted, threads: int = 1
) -> dict[tuple[str, ...], Any]:
    """Return the results of those columns that are planned so, in order of the input."""
    chosen = [plan for plan in plans if plan.kernel == "windows" and _fits(plan, ordered)]
    if not chosen or len(ordered.rows) >= _ROWS:
        return {}
    windows: dict[Any, int] = {}
    values: dict[tuple[str, bool], Array] = {}
    columns = []
    for plan in chosen:
        operator, numbers, record = plan.leaf.operator, None, plan.operator.record
        window = windows.setdefault(plan.leaf.window, len(windows))
        if not record.rows:
            name = operator.columns[0]
            column = ordered.rows.column(name)
            # Logarithms are of floats, whatever the column holds.
            floats = record.as_floats or pa.types.is_floating(column.type)
            if (name, floats) not in values:
                values[name, floats] = real_numbers(column) if floats else whole_numbers(column)
            numbers = values[name, floats]
            operator = retyped(operator, numbers)
        columns.append((window, operator, numbers, plan.leaf.min_count or 0))
        ran("windows", plan.algorithm)
    rules = [window.native_rule(ordered.rows.clock) for window in windows]
    shares = max(1, min(threads, len(ordered.rows) // _SHARE))
    rows = ordered.rows
    folded = _native.fold_time_windows(
        rows.starts, rows.times, ordered.places, rules, columns, shares
    )
    results = {}
    for plan, (data, valid) in zip(chosen, folded, strict=True):
        same = plan.operator.record.same_type
        kind = rows.column(plan.leaf.operator.columns[0]).type if same else None
        results[plan.leaf.path] = to_arrow(data, valid, kind)
    return results


def _fits(plan: ColumnPlan, ordered: Sorted) -> bool:
    columns = [ordered.rows.column(name) for name in plan.leaf.operator.columns]
    return plan.leaf.window.in_time and all(column.null_count == 0 for column in columns)
