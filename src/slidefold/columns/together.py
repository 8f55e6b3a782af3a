"""Columns over time and rows windows: all of a definition in one native pass.

The pass goes over the rows once for all columns. It finds where time windows start block by block,
so that frames are never kept, folds nulls as if they were not there, and puts results where the
input has its rows. Operators that pick a row (first, max_by, ...) give its number, and the result
is taken from the column: so any type works and stays what it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.compute import Definition
from slidefold.columns.grouping import Sorted, present_rows, take_rows
from slidefold.columns.leaves import Leaf, Path, leaves_of, whole_column
from slidefold.columns.reading import retyped
from slidefold.columns.values import (
    Array,
    comparable,
    is_temporal,
    real_numbers,
    steps_per_second,
    to_arrow,
    whole_numbers,
)
from slidefold.operators import Operator, UserOperator
from slidefold.windows import Rows, Time

_ADDS = ("sum", "mean", "var", "std", "geomean")
_EXTREMES = ("min", "max")
_PICKS = ("first", "last", "nth")
_ARGUMENTS = ("max_by", "min_by")
_PAIRS = ("covariance", "correlation", "trend")
# Fewer rows than this are not worth a thread.
_SHARE = 1 << 15
_ROWS = 2**31 - 1  # the pass counts them in half a word

Finish = Callable[[Array, Array | None], Any]


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
    """Tell whether the pass folds an operator over columns of these types."""
    operator = leaf.operator
    if not isinstance(leaf.window, Time | Rows) or leaf.algorithm is not None:
        return False
    if isinstance(operator, UserOperator) or operator.variant:
        return False
    if operator.keeps_nulls and leaf.min_count is not None:
        return False  # which counts the values that are not null
    name = operator.name
    if name == "count" or name in _PICKS:
        return True
    kinds = [ordered.rows.column(column).type for column in operator.columns]
    if name in _ADDS:
        return _is_number(kinds[0])
    if name in _EXTREMES or name in _ARGUMENTS:
        return _is_ordered(kinds[-1])
    return (
        name in _PAIRS and _is_number(kinds[0]) and (_is_number(kinds[1]) or is_temporal(kinds[1]))
    )


def _is_number(kind: Any) -> bool:
    whole = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
    return bool(whole or pa.types.is_floating(kind))


def _is_ordered(kind: Any) -> bool:
    """Tell whether values are numbers, or travel as numbers in their order."""
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or is_temporal(kind)
    return bool(whole or pa.types.is_floating(kind))


def _fold(leaves: list[Leaf], ordered: Sorted, threads: int) -> dict[Path, Any]:
    windows: dict[Any, int] = {}
    inputs = _Inputs(ordered)
    columns, finishes = [], []
    for leaf in leaves:
        window = windows.setdefault(leaf.window, len(windows))
        operator, values, finish = _read(leaf.operator, inputs)
        valid = None if leaf.operator.keeps_nulls else inputs.valid(leaf.operator.columns)
        columns.append((window, operator, values, valid, leaf.min_count or 0))
        finishes.append(finish)
    rows, placing = ordered.rows, ordered.placing
    results = _native.fold_windows(
        rows.starts,
        rows.times,
        [_rule(window, ordered) for window in windows],
        columns,
        places=placing.places,
        order=placing.order if placing.places is None else None,
        moved=placing.moved,
        threads=max(1, min(threads, len(rows) // _SHARE)),
    )
    together = zip(leaves, finishes, results, strict=True)
    return {leaf.path: finish(*result) for leaf, finish, result in together}


def _rule(window: Any, ordered: Sorted) -> Any:
    """Return a window as the pass takes it."""
    if isinstance(window, Rows):
        return window.n, window.closed == "right"
    return window.native_rule(ordered.rows.clock)


@dataclass(frozen=True)
class _Inputs:
    """Columns as the pass reads them, each once."""

    ordered: Sorted
    read: dict[Any, Any] = field(default_factory=dict)

    def column(self, name: str) -> Any:
        """Return a column in order."""
        return self.ordered.rows.column(name)

    def once(self, key: Any, read: Callable[[], Any]) -> Any:
        """Return what is known by a key, or read it."""
        if key not in self.read:
            self.read[key] = read()
        return self.read[key]

    def numbers(self, name: str, floats: bool = False) -> Array:
        """Return whole numbers or floats; anything where the column is null."""
        values = _without_nulls(self.column(name))
        floats = floats or pa.types.is_floating(values.type)
        read = real_numbers if floats else whole_numbers
        found: Array = self.once((name, floats), lambda: read(values))
        return found

    def compared(self, name: str) -> tuple[Array, Finish]:
        """Return numbers in the order of a column, and how results become values again."""
        values = _without_nulls(self.column(name))
        found: tuple[Array, Finish] = self.once((name, "order"), lambda: comparable(values))
        return found

    def valid(self, names: tuple[str, ...]) -> Array | None:
        """Return which rows have no null in any column, None if all."""
        columns = [self.column(name) for name in names]
        found: Array | None = self.once(("valid", *names), lambda: present_rows(columns))
        return found


def _without_nulls(values: Any) -> Any:
    """Return a column of numbers whose nulls are forgotten: anything may stand there."""
    if not values.null_count:
        return values
    return pa.Array.from_buffers(
        values.type, len(values), [None, values.buffers()[1]], 0, values.offset
    )


def _read(operator: Operator, inputs: _Inputs) -> tuple[Operator, Any, Finish]:
    """Return an operator for the types of its columns, these, and what makes a column of results.

    An operator that picks a row gets no values, or the keys by which it picks.
    """
    name, columns = operator.name, operator.columns
    if name == "count":
        return operator, None, to_arrow
    if name in _PICKS:
        values = inputs.column(columns[0])
        return operator, None, lambda rows, valid: take_rows(values, rows, valid)
    if name in _ARGUMENTS:
        values = inputs.column(columns[0])
        keys, _ = inputs.compared(columns[1])
        operator = retyped(operator, np.empty(0, np.int64), keys)
        return operator, keys, lambda rows, valid: take_rows(values, rows, valid)
    if name in _EXTREMES:
        numbers, restore = inputs.compared(columns[0])
        return retyped(operator, numbers), numbers, restore
    if name in _PAIRS:
        pair = tuple(inputs.numbers(column) for column in columns)
        kind = inputs.column(columns[1]).type
        steps = steps_per_second(kind) if is_temporal(kind) else 1.0
        scale = {"covariance": steps, "trend": 1 / steps}.get(name, 1.0)
        return retyped(operator, *pair), pair, _scaled(scale)
    # Logarithms are of floats, whatever the column holds.
    numbers = inputs.numbers(columns[0], floats=name == "geomean")
    return retyped(operator, numbers), numbers, to_arrow


def _scaled(scale: float) -> Finish:
    """Return what divides results: those of times come in their steps, and count in seconds."""
    return lambda data, valid: to_arrow(data if scale == 1 else data / scale, valid)
