"""What stands for the middle of a chunk: the rows that all its windows hold.

Most operators fold the middle to a *state*, which travels as the bytes of the operator's archive.
Operators that pick a row keep the few *rows* that matter, so that values of any type stay what they
are. The others need the *whole* middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.folds import FOLDS, fold, keeps_nulls, present_rows, without_nulls
from slidefold.columns.reading import Task
from slidefold.columns.trace import ran
from slidefold.columns.values import Array, comparable, is_temporal, plain
from slidefold.definition.operators import Operator
from slidefold.definition.rolling import Leaf
from slidefold.definition.windows import rows as rows_window
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.planner import ColumnPlan, plan_leaf

# Folds the states of a range; any algorithm would do, since no frame is asked for.
_ALGORITHM = "two_stacks_lite"
States = tuple[bytes, ...]  # one for each kernel that the fold of an operator calls


def mode_of(operator: Operator, kinds: Sequence[Any]) -> str:
    """Say what stands for a middle over columns of these types: "state", "rows" or "whole".

    >>> import slidefold as sf
    >>> [mode_of(op, [pa.int64()]) for op in (sf.max("x"), sf.sum("x"), sf.collect("x"))]
    ['rows', 'state', 'whole']
    """
    record = operator.record
    if operator.flag is not None:
        return "whole"
    if record.column == "extreme_count" and all(map(_has_order, kinds)):
        return "state"  # a number, where the rows could be all of them
    if record.column in ("spread", "decayed") and any(map(_is_wide, kinds)):
        return "whole"  # these are counted from the first row, another one in each partition
    return record.middle


def _has_order(kind: Any) -> bool:
    """Tell whether values of a type are compared as numbers that do not depend on other rows."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    return bool(number or is_temporal(kind))


def _is_wide(kind: Any) -> bool:
    return bool(pa.types.is_decimal(kind) and (kind.precision > 18 or kind.scale < 0))


# ---- states -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StatesTask(Task):
    """A task that folds ranges of rows to states, and notes which operators its kernels fold."""

    states: list[list[bytes | None]] = field(default_factory=list)
    folded: list[Operator] = field(default_factory=list)

    def kernel(self, operator: Operator, values: Any) -> tuple[Any, Array]:
        """Note the state of each range; the results, which nobody reads, are of empty frames."""
        self.folded.append(operator)
        self.states.append(_native.fold_states(operator, values, self.lo, self.hi))
        empty = np.zeros(len(self.lo), np.int64)
        return _native.fold_frames(_ALGORITHM, operator, values, empty, empty)


@dataclass(frozen=True)
class AroundTask(Task):
    """A task whose frames hold a state between the rows before `place` and those from it on."""

    place: int = 0
    states: States = ()
    called: list[int] = field(default_factory=list)

    def kernel(self, operator: Operator, values: Any) -> tuple[Any, Array]:
        """Fold frames around the state of this kernel."""
        ran("around", self.algorithm)
        state = self.states[len(self.called)]
        self.called.append(1)
        return _native.fold_around(operator, values, self.place, state, self.lo, self.hi)


def states_of(
    operator: Operator, columns: tuple[Any, ...], lo: Ints, hi: Ints
) -> list[States | None]:
    """Return the states of ranges of rows in order; None where there is no value."""
    if not keeps_nulls(operator):
        columns, lo, hi = without_nulls(columns, lo, hi)
    task = StatesTask(operator, _ALGORITHM, columns, lo, hi)
    FOLDS[operator.record.column](task)
    held = (hi > lo).tolist()
    return [
        tuple(states[i] or b"" for states in task.states) if some else None
        for i, some in enumerate(held)
    ]


def kernels_of(operator: Operator, kinds: Sequence[Any]) -> list[Operator]:
    """Return the operators that the fold of an operator hands to kernels, for columns of types."""
    none = np.empty(0, np.int64)
    columns = tuple(pa.array([], kind) for kind in kinds)
    task = StatesTask(operator, _ALGORITHM, columns, none, none)
    FOLDS[operator.record.column](task)
    return task.folded


def combine_states(kernels: Sequence[Operator], given: Sequence[States | None]) -> States | None:
    """Return the states of all ranges together, which are in the order of their rows."""
    states = [each for each in given if each is not None]
    if len(states) < 2:
        return states[0] if states else None
    return tuple(
        _native.combine_states(folded, [each[i] for each in states])
        for i, folded in enumerate(kernels)
    )


def fold_around(
    plan: ColumnPlan, columns: tuple[Any, ...], lo: Ints, hi: Ints, place: int, states: States
) -> Any:
    """Fold frames of rows with states between them, before the row with this number."""
    operator = plan.leaf.operator
    if not keeps_nulls(operator):
        frames = np.append(lo, place), np.append(hi, place)
        columns, lo, hi = without_nulls(columns, *frames)
        place, lo, hi = int(lo[-1]), lo[:-1], hi[:-1]
    algorithm = _ALGORITHM if operator.record.algorithm == "bins" else plan.algorithm
    task = AroundTask(operator, algorithm, columns, lo, hi, more=1, place=place, states=states)
    return FOLDS[operator.record.column](task)


def fold_counted(plan: ColumnPlan, columns: tuple[Any, ...], lo: Ints, hi: Ints, more: int) -> Any:
    """Count frames that hold more values beside their rows."""
    operator = plan.leaf.operator
    if not keeps_nulls(operator):
        columns, lo, hi = without_nulls(columns, lo, hi)
    task = Task(operator, plan.algorithm, columns, lo, hi, more=more)
    return FOLDS[operator.record.column](task)


# ---- rows that are picked -----------------------------------------------------------------------


def picked(operator: Operator, columns: tuple[Any, ...], lo: Ints, hi: Ints) -> list[Ints]:
    """Return the rows that stand for each range of rows in order; columns may have nulls."""
    valid = None if operator.keeps_nulls else present_rows(columns)
    kept = np.arange(len(columns[0]))
    if valid is not None:
        kept = np.flatnonzero(valid)
        columns, lo, hi = without_nulls(columns, lo, hi)
    word = operator.record.picks
    if word == "by":
        # Ties and NaN are for the kernel to decide.
        rows = pa.array(np.arange(len(kept)))
        leaf = Leaf((), operator, rows_window(1))  # frames are given: any window will do
        plan = plan_leaf(leaf, [rows.type, columns[1].type])
        found = fold(plan, (rows, columns[1]), (lo, hi))
        return [kept[[] if row is None else [row]] for row in found.to_pylist()]
    read = _READS.get(word)
    numbers = None if read is None else read(columns[0])
    pick = _PICKS[word]
    params: dict[str, Any] = dict(operator.params)
    return [
        kept[a + np.unique(pick(params, b - a, None if numbers is None else numbers[a:b]))]
        if b > a
        else kept[:0]
        for a, b in zip(lo.tolist(), hi.tolist(), strict=True)
    ]


def _compared(values: Any) -> Array:
    return comparable(plain(values))[0]


def _codes(values: Any) -> Array:
    return plain(values).dictionary_encode().indices.to_numpy()  # type: ignore[no-any-return]


def _most(numbers: Array) -> int:
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else None
    if missing is not None and missing.any():  # the largest of all
        return int(np.argmax(missing))
    return int(np.argmax(numbers))


def _least(numbers: Array) -> int:
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else None
    if missing is not None and missing.any():
        return 0 if missing.all() else int(np.nanargmin(numbers))
    return int(np.argmin(numbers))


def _equal_to(numbers: Array, row: int) -> Array:
    best = numbers[row]
    same = np.isnan(numbers) if best != best else numbers == best
    return np.flatnonzero(same)


def _top(params: dict[str, Any], rows: int, numbers: Array) -> Array:
    # NaN is last, the largest.
    return np.argsort(numbers, kind="stable")[max(0, rows - params["k"]) :]


# By the word that the record of an operator has: which rows of a range it picks, given how many
# there are and what it looks at.
_PICKS: dict[str, Callable[[dict[str, Any], int, Any], Any]] = {
    "first": lambda _, rows, __: [0],
    "last": lambda _, rows, __: [rows - 1],
    "youngest": lambda params, rows, _: np.arange(max(0, rows - params["n"]), rows),
    "least": lambda _, __, x: [_least(x)],
    "most": lambda _, __, x: [_most(x)],
    "least and most": lambda _, __, x: [_least(x), _most(x)],
    "four": lambda _, rows, x: [0, rows - 1, _least(x), _most(x)],
    "top": _top,
    "all_least": lambda _, __, x: _equal_to(x, _least(x)),
    "all_most": lambda _, __, x: _equal_to(x, _most(x)),
    "distinct": lambda _, __, x: np.unique(x, return_index=True)[1],
}
_ORDERED = ("least", "most", "least and most", "four", "top", "all_least", "all_most")
_READS: dict[str, Callable[[Any], Array]] = {
    **dict.fromkeys(_ORDERED, _compared),
    "distinct": _codes,
}
PICKS = (*_PICKS, "by")
