"""Fold the time and rows windows of a definition in one native pass.

The pass goes over the rows once for all columns. It finds where time windows start block by block,
so it never stores frames. Nulls fold to the identity, and results go to the places of the input
rows. Operators that pick a row (first, max_by, ...) return row numbers, and the result is taken
from the column. This keeps the type of the column, whatever it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.grouping import Sorted, from_words, present_rows, take_rows
from slidefold.columns.reading import retyped
from slidefold.columns.trace import ran
from slidefold.columns.values import (
    Array,
    comparable,
    is_temporal,
    real_numbers,
    steps_per_second,
    to_arrow,
    whole_numbers,
)
from slidefold.definition.operators import Operator
from slidefold.definition.windows import WindowKind
from slidefold.definition.windows.clock import Clock
from slidefold.planner import ColumnPlan

# Fewer rows than this are not worth a thread.
_SHARE = 1 << 15
_ROWS = 2**31 - 1  # the pass counts rows in 32 bits

# Makes a column of the results and their validity mask.
Finish = Callable[[Array, Array | None], Any]


def fold_windows(
    plans: Sequence[ColumnPlan], ordered: Sorted, threads: int = 1
) -> dict[tuple[str, ...], Any]:
    """Return the results of the columns that are planned for the pass, in order of the input."""
    chosen = [plan for plan in plans if plan.kernel == "windows"]
    if not chosen or len(ordered.rows) >= _ROWS:
        return {}
    windows: dict[WindowKind, int] = {}
    inputs = _Inputs(ordered)
    columns, finishes = [], []
    for plan in chosen:
        operator = plan.leaf.operator
        window = windows.setdefault(plan.leaf.window, len(windows))
        typed, values, finish = _READS[operator.record.one_pass](operator, inputs)
        valid = None if operator.keeps_nulls else inputs.valid(operator.columns)
        columns.append((window, typed, values, valid, plan.leaf.min_count or 0))
        finishes.append(finish)
        ran("windows", plan.algorithm)
    rows, placing = ordered.rows, ordered.placing
    results = _native.fold_windows(
        rows.starts,
        rows.times,
        [_rule(window, rows.clock) for window in windows],
        columns,
        places=placing.places,
        order=placing.order if placing.places is None else None,
        moved=placing.moved,
        threads=max(1, min(threads, len(rows) // _SHARE)),
    )
    finished = zip(chosen, finishes, results, strict=True)
    return {plan.leaf.path: finish(*result) for plan, finish, result in finished}


def _rule(window: Any, clock: Clock) -> Any:
    """Return a window as the pass takes it."""
    if window.last_rows:
        return window.last_rows, window.closed == "right"
    return window.native_rule(clock)


@dataclass(frozen=True)
class _Inputs:
    """Columns as the pass reads them, each converted once."""

    ordered: Sorted
    read: dict[Any, Any] = field(default_factory=dict)

    def column(self, name: str) -> Any:
        """Return a column in order."""
        return self.ordered.rows.column(name)

    def once(self, key: Any, read: Callable[[], Any]) -> Any:
        """Return the value of a key; compute it at the first call."""
        if key not in self.read:
            self.read[key] = read()
        return self.read[key]

    def numbers(self, name: str, floats: bool = False) -> Array:
        """Return integers or floats; the values of null rows are arbitrary."""
        values = _without_mask(self.column(name))
        floats = floats or pa.types.is_floating(values.type)
        read = real_numbers if floats else whole_numbers
        numbers: Array = self.once((name, floats), lambda: read(values))
        return numbers

    def compared(self, name: str) -> tuple[Array, Any]:
        """Return numbers in the order of a column, and a function that restores values."""
        values = _without_mask(self.column(name))
        found: tuple[Array, Any] = self.once((name, "order"), lambda: comparable(values))
        return found

    def valid(self, names: tuple[str, ...]) -> Array | None:
        """Return which rows have no null in any column; None if all rows do."""
        some = tuple(name for name in names if self.ordered.has_nulls(name))
        if not some:
            return None
        mask: Array = self.once(("valid", *some), lambda: present_rows(map(self.column, some)))
        return mask

    def words(self, name: str, widths: tuple[int, ...], keeps_nulls: bool) -> Array | None:
        """Return a column as words of its width; None if it has others, or nulls that count."""
        kind = self.ordered.kind(name)
        if not pa.types.is_primitive(kind) or kind.bit_width // 8 not in widths:
            return None
        if keeps_nulls and self.ordered.has_nulls(name):
            return None
        values, width = self.column(name), kind.bit_width // 8
        if len(values) == 0:
            return None
        data = values.buffers()[1]
        return np.frombuffer(data, f"u{width}", len(values), width * values.offset)


def _without_mask(values: Any) -> Any:
    """Return a column of numbers without its validity mask."""
    if not values.null_count:
        return values
    buffers = [None, values.buffers()[1]]
    return pa.Array.from_buffers(values.type, len(values), buffers, 0, values.offset)


# ---- the operator for the types of its columns, these columns, and what makes a column of results


def _count(operator: Operator, inputs: _Inputs) -> tuple[Operator, Any, Finish]:
    return operator, None, to_arrow


def _pick(operator: Operator, inputs: _Inputs) -> tuple[Operator, Any, Finish]:
    words = inputs.words(operator.columns[0], (4, 8), operator.keeps_nulls)
    return operator, words, _picked(operator, inputs, words)


def _by(operator: Operator, inputs: _Inputs) -> tuple[Operator, Any, Finish]:
    keys, _ = inputs.compared(operator.columns[1])
    typed = retyped(operator, np.empty(0, np.int64), keys)
    words = inputs.words(operator.columns[0], (8,), operator.keeps_nulls)
    given = keys if words is None else (words, keys)
    return typed, given, _picked(operator, inputs, words)


def _picked(operator: Operator, inputs: _Inputs, words: Array | None) -> Finish:
    """Return what makes a column of picked words, or of the numbers of picked rows."""
    name = operator.columns[0]
    if words is None:
        return lambda rows, valid: take_rows(inputs.column(name), rows, valid)
    return lambda data, valid: from_words(inputs.ordered.kind(name), data, valid)


def _compared(operator: Operator, inputs: _Inputs) -> tuple[Operator, Any, Finish]:
    numbers, restore = inputs.compared(operator.columns[0])
    return retyped(operator, numbers), numbers, restore


def _pair(operator: Operator, inputs: _Inputs) -> tuple[Operator, Any, Finish]:
    pair = tuple(inputs.numbers(name) for name in operator.columns)
    kind = inputs.column(operator.columns[1]).type
    # Times are folded in their own steps, and results count in seconds.
    scale = operator.record.unit(1.0, steps_per_second(kind) if is_temporal(kind) else 1.0)
    typed = retyped(operator, *pair)
    return typed, pair, lambda data, valid: to_arrow(data if scale == 1 else data / scale, valid)


def _numbers(operator: Operator, inputs: _Inputs) -> tuple[Operator, Any, Finish]:
    # Logarithms are of floats, whatever the column holds.
    numbers = inputs.numbers(operator.columns[0], floats=operator.record.as_floats)
    return retyped(operator, numbers), numbers, to_arrow


# By the word that the record of an operator has.
_READS: dict[str, Callable[[Operator, _Inputs], tuple[Operator, Any, Finish]]] = {
    "by": _by,
    "compared": _compared,
    "count": _count,
    "numbers": _numbers,
    "pair": _pair,
    "pick": _pick,
}
ONE_PASS = tuple(_READS)
