"""The columns of a definition over rows in order, as its plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.folds import fold
from slidefold.columns.grouping import Sorted
from slidefold.columns.windows import fold_windows
from slidefold.definition.operators import Operator, StructOperator
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Frames, SortedRows, WindowKind
from slidefold.planner import ColumnPlan, plan_table

Path = tuple[str, ...]


def filled_columns(definition: Rolling, given: frozenset[str]) -> frozenset[str]:
    """Return the columns of a result that are never null, if those `given` of the input are not."""
    filled = {
        name
        for name, over in definition.overs.items()
        if name in definition.columns and over.operator.record.never_null and over.min_count is None
    }
    slide = definition.slide
    if slide is None:
        filled |= given
    else:
        filled |= {"window_end", *(given & {*definition.by})}
        # At every n-th row no window may hold a row, and so none has a start.
        if not slide.counted:
            filled.add("window_start")
    return frozenset(filled)


class FramesOf(dict[WindowKind, Frames]):
    """The frames of each window over rows in order, found when they are asked for."""

    def __init__(self, rows: SortedRows) -> None:
        super().__init__()
        self.rows = rows

    def __missing__(self, window: WindowKind) -> Frames:
        self[window] = found = window.frames(self.rows)
        return found


def row_columns(definition: Rolling, ordered: Sorted, threads: int = 1) -> dict[str, Any]:
    """Return the new columns with one result per input row, in order of the input."""
    plans = _plan_rows(definition, ordered)
    results = fold_windows(plans, ordered, threads)
    rest = [plan for plan in plans if plan.leaf.path not in results]
    frames = FramesOf(ordered.rows)
    for path, values in fold_leaves(rest, ordered, frames, threads).items():
        results[path] = ordered.back(values)
    return columns_from(definition, results)


def frame_columns(
    definition: Rolling,
    ordered: Sorted,
    frames: Mapping[WindowKind, Frames],
    threads: int = 1,
    own: Callable[[str], Any] | None = None,
) -> dict[str, Any]:
    """Return the new columns, one result per frame.

    `own` returns the column of the frames' own values, if those are not the rows in order.
    """
    plans = _plan_rows(definition, ordered, by_frame=True)
    return columns_from(definition, fold_leaves(plans, ordered, frames, threads, own))


def any_frame_columns(
    definition: Rolling,
    ordered: Sorted,
    frames: Mapping[WindowKind, Frames],
    threads: int,
    own: Callable[[str], Any],
) -> dict[str, Any]:
    """Return the new columns for frames whose bounds may fall from one to the next.

    Those of a delta window do where a question has a smaller value than the one before it. Kernels
    need bounds that do not fall, so such frames are folded in another order and in parts.
    """
    plans = _plan_rows(definition, ordered, by_frame=True)
    falling = {window for window, bounds in frames.items() if not _is_rising(*bounds)}
    rest = [plan for plan in plans if plan.leaf.window not in falling]
    results = fold_leaves(rest, ordered, frames, threads, own)
    for window in falling:
        some = [plan for plan in plans if plan.leaf.window == window]
        lo, hi = frames[window]
        layers = list(_layers(lo, hi))
        parts = [
            fold_leaves(
                some,
                ordered,
                {window: (lo[layer], hi[layer])},
                threads,
                partial(_taken, own, pa.array(layer)),
            )
            for layer in layers
        ]
        back = pa.array(np.argsort(np.concatenate(layers)))
        for plan in some:
            path = plan.leaf.path
            results[path] = (
                pa.chunked_array([part[path] for part in parts]).take(back).combine_chunks()
            )
    return columns_from(definition, results)


def _taken(own: Callable[[str], Any], places: Any, name: str) -> Any:
    return own(name).take(places)


def _is_rising(lo: Any, hi: Any) -> bool:
    return not (np.any(lo[1:] < lo[:-1]) or np.any(hi[1:] < hi[:-1]))


def _layers(lo: Any, hi: Any) -> Iterator[Any]:
    """Return the places of frames in parts, each in an order in which no bound falls."""
    rest = np.lexsort((lo, hi))
    while len(rest):
        starts = lo[rest]
        rises = starts == np.maximum.accumulate(starts)
        yield rest[rises]
        rest = rest[~rises]


def _plan_rows(
    definition: Rolling, ordered: Sorted, *, by_frame: bool = False
) -> tuple[ColumnPlan, ...]:
    """Return the plan for rows of the types at hand."""
    names = {name for leaf in definition.leaves for name in leaf.operator.columns}
    schema = pa.schema({name: ordered.kind(name) for name in names})
    return plan_table(definition, schema, by_frame=by_frame).columns


def fold_leaves(
    plans: tuple[ColumnPlan, ...] | list[ColumnPlan],
    ordered: Sorted,
    frames: Mapping[WindowKind, Frames],
    threads: int,
    own: Callable[[str], Any] | None = None,
) -> dict[Path, Any]:
    """Fold operators one by one over the frames of their windows."""
    own = ordered.rows.column if own is None else own
    return {
        plan.leaf.path: fold(
            plan,
            tuple(ordered.rows.column(name) for name in plan.leaf.operator.columns),
            frames[plan.leaf.window],
            threads,
            _maybe(ordered.rows.column, plan.leaf.operator.flag),
            _maybe(own, plan.leaf.operator.own),
        )
        for plan in plans
    }


def _maybe(column: Callable[[str], Any], name: str | None) -> Any:
    return column(name) if name else None


def columns_from(definition: Rolling, results: Mapping[Path, Any]) -> dict[str, Any]:
    """Return the columns of a definition from those of its leaves."""
    return {
        name: _whole((name,), over.operator, results) for name, over in definition.overs.items()
    }


def _whole(path: Path, operator: Operator, results: Mapping[Path, Any]) -> Any:
    if not isinstance(operator, StructOperator):
        return results[path]
    arrays = [_whole((*path, name), part, results) for name, part in operator.parts]
    return pa.StructArray.from_arrays(arrays, [name for name, _ in operator.parts])
