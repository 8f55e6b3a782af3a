"""Two tables of results as sets of rows: the first that differs, and the rows of its window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.columns.grouping import sort_table
from slidefold.definition.rolling import Rolling
from slidefold.errors import DataError


@dataclass(frozen=True)
class Difference:
    """The first row that differs: where it is, which column, and what both say."""

    row: dict[str, Any]
    column: str
    due: Any
    found: Any

    def __str__(self) -> str:
        where = ", ".join(f"{name}={value!r}" for name, value in self.row.items())
        return f"{self.column} is {self.found!r} and should be {self.due!r} at {where}"


def compare(
    due: Any, found: Any, names: Sequence[str], columns: Sequence[str], tolerance: float
) -> Difference | None:
    """Compare results by row, whatever their order: `names` tell rows apart, `columns` may differ.

    Floats may differ by the tolerance, relative to the largest value of their column.

    >>> due = pa.table({"t": [1, 2], "s": [1.0, 3.0]})
    >>> print(compare(due, pa.table({"t": [2, 1], "s": [4.0, 1.0]}), ["t"], ["s"], 1e-9))
    s is 4.0 and should be 3.0 at t=2
    """
    found = _cast(found.select(due.column_names), due.schema)
    due, found = (_sorted(each, names, columns) for each in (due, found))
    if len(due) != len(found):
        return _odd_one(due, found, names)
    first: tuple[int, str] | None = None
    for name in (*names, *columns):
        scale = _scale(due[name])
        at = _first_difference(due[name], found[name], tolerance * scale)
        if at is not None and (first is None or at < first[0]):
            first = (at, name)
    if first is None:
        return None
    at, name = first
    if name in names:
        return _odd_one(due, found, names)
    row = {each: due[each][at].as_py() for each in names}
    return Difference(row, name, due[name][at].as_py(), found[name][at].as_py())


def _cast(table: Any, schema: Any) -> Any:
    """Return a table in the types of another: engines have other units and widths."""
    try:
        return table.cast(pa.schema([field.with_nullable(True) for field in schema]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(f"the types of the results differ: {str(error).splitlines()[0]}") from None


def _sorted(table: Any, names: Sequence[str], columns: Sequence[str]) -> Any:
    """Return a table in an order of its values; rows that agree in `names` by the columns too."""
    keys = [name for name in (*names, *columns) if not pa.types.is_nested(table[name].type)]
    table = table.combine_chunks()
    return table.take(pc.sort_indices(table, [(name, "ascending") for name in keys]))


def _odd_one(due: Any, found: Any, names: Sequence[str]) -> Difference:
    """Return the first row that only one of two sorted tables has."""
    left = [tuple(row.values()) for row in due.select(names).to_pylist()]
    right = [tuple(row.values()) for row in found.select(names).to_pylist()]
    at = next(
        (i for i, pair in enumerate(zip(left, right, strict=False)) if not agree(*pair, 0.0)),
        min(len(left), len(right)),
    )
    # Of two rows that differ the smaller one is missing on the other side.
    missing = at >= len(right) or (at < len(left) and _before(left[at], right[at]))
    row = dict(zip(names, left[at] if missing else right[at], strict=True))
    return Difference(row, "the row", *(("there", "missing") if missing else ("absent", "there")))


def _before(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Tell whether a row comes before another in Arrow's order, which puts nulls last."""
    for a, b in zip(left, right, strict=True):
        if not agree(a, b, 0.0):
            return a is not None and (b is None or bool(a < b))
    return False


def _scale(values: Any) -> float:
    if not pa.types.is_floating(values.type):
        return 1.0
    finite = values.filter(pc.is_finite(values))
    return float(pc.max(pc.abs(finite)).as_py() or 0.0)


def _first_difference(due: Any, found: Any, tolerance: float) -> int | None:
    """Return the first row in which two columns differ."""
    if pa.types.is_floating(due.type):
        left, right = (each.to_numpy(zero_copy_only=False) for each in (due, found))
        with np.errstate(invalid="ignore"):
            same = (left == right) | (np.abs(left - right) <= tolerance)
        same |= np.isnan(left) & np.isnan(right)
        nulls = [each.is_null().to_numpy(zero_copy_only=False) for each in (due, found)]
        wrong = ~same | (nulls[0] != nulls[1])
        return int(np.argmax(wrong)) if wrong.any() else None
    if due.equals(found):
        return None
    pairs = zip(due.to_pylist(), found.to_pylist(), strict=True)
    return next((i for i, pair in enumerate(pairs) if not agree(*pair, tolerance)), None)


def agree(left: Any, right: Any, tolerance: float) -> bool:
    """Tell whether two values are the same, floats within a tolerance, NaN the same as itself.

    >>> agree([1.0, {"a": float("nan")}], [1.0 + 1e-12, {"a": float("nan")}], 1e-9)
    True
    """
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            agree(left[key], right[key], tolerance) for key in left
        )
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(
            agree(a, b, tolerance) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, float) and isinstance(right, float):
        both = math.isnan(left) and math.isnan(right)
        return both or left == right or abs(left - right) <= tolerance
    return bool(left == right)


def window_rows(definition: Rolling, table: Any, difference: Difference, limit: int = 20) -> Any:
    """Return the input rows in the window of the row that differs, the newest of them last."""
    by = {name: difference.row.get(name) for name in definition.by}
    mask = np.ones(len(table), np.bool_)
    for name, value in by.items():
        same = table[name].is_null() if value is None else pc.equal(table[name], value)
        mask &= pc.fill_null(same, False).to_numpy()
    mine = table.filter(pa.array(mask)).combine_chunks()
    if definition.slide is not None:
        start, end = difference.row.get("window_start"), difference.row.get("window_end")
        times = mine[definition.on]
        kept = pc.and_(pc.greater_equal(times, start), pc.less_equal(times, end))
        return mine.filter(kept).sort_by(definition.on).slice(0, limit)
    ordered = sort_table(mine, definition.on, definition.by, definition.ties)
    order = np.arange(len(mine)) if ordered.order is None else ordered.order
    over = definition.columns.get(difference.column) or definition.items[0][1]
    lo, hi = over.window.frames(ordered.rows)
    rows = mine.take(pa.array(order)).to_pylist()
    at = next(
        (
            i
            for i, row in enumerate(rows)
            if all(agree(row[name], value, 0.0) for name, value in difference.row.items())
        ),
        None,
    )
    if at is None:
        return mine.slice(0, 0)
    first = max(int(lo[at]), int(hi[at]) - limit)
    return mine.take(pa.array(order[first : int(hi[at])]))
