"""Columns of numbers over time windows: all of a definition in one native pass.

The pass goes over the rows block by block, finds where the windows of a block start, all of them in
one loop, and folds each column of the block. Frames are never kept, and results go where the input
has its rows.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa

from slidefold import _native
from slidefold.columns.compute import Definition
from slidefold.columns.grouping import Sorted
from slidefold.columns.leaves import Leaf, Path, leaves_of, whole_column
from slidefold.columns.reading import retyped
from slidefold.columns.values import Array, real_numbers, to_arrow, whole_numbers
from slidefold.operators import UserOperator
from slidefold.windows import Time

_NUMBERS = ("sum", "mean", "min", "max", "var", "std", "geomean")
_PICKS = ("min", "max")  # whose results are of the type of their values
# Fewer rows than this are not worth a thread.
_SHARE = 1 << 15
_ROWS = 2**31 - 1  # the pass counts them in half a word


def fold_together(definition: Definition, ordered: Sorted, threads: int = 1) -> dict[str, Any]:
    """Return those columns of a definition that are folded so, in order of the input."""
    leaves: dict[str, list[Leaf]] = defaultdict(list)
    for leaf in leaves_of(definition):
        leaves[leaf.path[0]].append(leaf)
    chosen = {
        name: parts for name, parts in leaves.items() if all(_fits(leaf, ordered) for leaf in parts)
    }
    if not chosen or len(ordered.rows) >= _ROWS:
        return {}
    found = _fold([leaf for parts in chosen.values() for leaf in parts], ordered, threads)
    return {name: whole_column(name, definition.columns[name].operator, found) for name in chosen}


def _fits(leaf: Leaf, ordered: Sorted) -> bool:
    """Tell whether a native operator folds a column of numbers without nulls over time."""
    operator = leaf.operator
    if not isinstance(leaf.window, Time) or leaf.algorithm is not None:
        return False
    if isinstance(operator, UserOperator) or operator.variant:
        return False
    if operator.name == "count":
        return all(ordered.rows.column(name).null_count == 0 for name in operator.columns)
    if operator.name not in _NUMBERS:
        return False
    column = ordered.rows.column(operator.columns[0])
    kind = column.type
    number = pa.types.is_floating(kind) or pa.types.is_integer(kind)
    return number and not pa.types.is_uint64(kind) and column.null_count == 0


def _fold(leaves: list[Leaf], ordered: Sorted, threads: int) -> dict[Path, Any]:
    windows: dict[Any, int] = {}
    values: dict[tuple[str, bool], Array] = {}
    columns = []
    for leaf in leaves:
        assert isinstance(leaf.window, Time)
        window = windows.setdefault(leaf.window, len(windows))
        operator, numbers = leaf.operator, None
        if operator.name != "count":
            name = operator.columns[0]
            column = ordered.rows.column(name)
            # Logarithms are of floats, whatever the column holds.
            floats = operator.name == "geomean" or pa.types.is_floating(column.type)
            if (name, floats) not in values:
                values[name, floats] = real_numbers(column) if floats else whole_numbers(column)
            numbers = values[name, floats]
            operator = retyped(operator, numbers)
        columns.append((window, operator, numbers, leaf.min_count or 0))
    rules = [window.native_rule(ordered.rows.clock) for window in windows]
    shares = max(1, min(threads, len(ordered.rows) // _SHARE))
    rows = ordered.rows
    results = _native.fold_time_windows(
        rows.starts, rows.times, ordered.places, rules, columns, shares
    )
    found = {}
    for leaf, (data, valid) in zip(leaves, results, strict=True):
        picks = leaf.operator.name in _PICKS
        kind = ordered.rows.column(leaf.operator.columns[0]).type if picks else None
        found[leaf.path] = to_arrow(data, valid, kind)
    return found
