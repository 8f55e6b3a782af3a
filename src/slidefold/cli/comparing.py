"""Compare two tables of results as sets of rows; find the first difference and its window."""

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
from slidefold.definition.windows import rows as rows_window
from slidefold.errors import DataError, first_line

_SHOWN = 20  # rows of a window


@dataclass(frozen=True)
class Difference:
    """The first row that differs: its key and time, the column, and both values."""

    row: dict[str, Any]
    column: str
    expected: Any
    actual: Any

    def __str__(self) -> str:
        where = ", ".join(f"{name}={value!r}" for name, value in self.row.items())
        return f"expected {self.column} to be {self.expected!r}, got {self.actual!r} at {where}"


def compare(
    expected: Any, actual: Any, names: Sequence[str], columns: Sequence[str], tolerance: float
) -> Difference | None:
    """Compare results row by row, in any order: `names` identify a row, `columns` are compared.

    Floats may differ by the tolerance, relative to the largest value of their column.

    >>> expected = pa.table({"t": [1, 2], "s": [1.0, 3.0]})
    >>> print(compare(expected, pa.table({"t": [2, 1], "s": [4.0, 1.0]}), ["t"], ["s"], 1e-9))
    expected s to be 3.0, got 4.0 at t=2
    """
    actual = _cast(actual.select(expected.column_names), expected.schema)
    expected, actual = (_sorted(table, names, columns) for table in (expected, actual))
    if len(expected) != len(actual):
        return _unmatched_row(expected, actual, names)
    first: tuple[int, str] | None = None
    for name in (*names, *columns):
        scale = _scale(expected[name])
        at = _first_difference(expected[name], actual[name], tolerance * scale)
        if at is not None and (first is None or at < first[0]):
            first = (at, name)
    if first is None:
        return None
    at, name = first
    if name in names:
        return _unmatched_row(expected, actual, names)
    row = {key: expected[key][at].as_py() for key in names}
    return Difference(row, name, expected[name][at].as_py(), actual[name][at].as_py())


def _cast(table: Any, schema: Any) -> Any:
    """Cast a table to the types of another: engines use different units and widths."""
    try:
        return table.cast(pa.schema([field.with_nullable(True) for field in schema]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(f"the result types differ: {first_line(error)}") from None


def _sorted(table: Any, names: Sequence[str], columns: Sequence[str]) -> Any:
    """Sort a table by `names`, then by `columns`."""
    keys = [name for name in (*names, *columns) if not pa.types.is_nested(table[name].type)]
    table = table.combine_chunks()
    return table.take(pc.sort_indices(table, [(name, "ascending") for name in keys]))


def _unmatched_row(expected: Any, actual: Any, names: Sequence[str]) -> Difference:
    """Return the first row that is in only one of two sorted tables."""
    left = [tuple(row.values()) for row in expected.select(names).to_pylist()]
    right = [tuple(row.values()) for row in actual.select(names).to_pylist()]
    at = next(
        (i for i, pair in enumerate(zip(left, right, strict=False)) if not agree(*pair, 0.0)),
        min(len(left), len(right)),
    )
    # Both tables are sorted, so the smaller of two different rows is missing in the other table.
    missing = at >= len(right) or (at < len(left) and _before(left[at], right[at]))
    row = dict(zip(names, left[at] if missing else right[at], strict=True))
    words = ("present", "missing") if missing else ("absent", "present")
    return Difference(row, "the row", *words)


def _before(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Tell whether one row sorts before another in Arrow's order, which puts nulls last."""
    for a, b in zip(left, right, strict=True):
        if not agree(a, b, 0.0):
            return a is not None and (b is None or bool(a < b))
    return False


def _scale(values: Any) -> float:
    if not pa.types.is_floating(values.type):
        return 1.0
    finite = values.filter(pc.is_finite(values))
    return float(pc.max(pc.abs(finite)).as_py() or 0.0)


def _first_difference(expected: Any, actual: Any, tolerance: float) -> int | None:
    """Return the first row in which two columns differ."""
    if pa.types.is_floating(expected.type):
        left, right = (values.to_numpy(zero_copy_only=False) for values in (expected, actual))
        with np.errstate(invalid="ignore"):
            same = (left == right) | (np.abs(left - right) <= tolerance)
        same |= np.isnan(left) & np.isnan(right)
        nulls = [values.is_null().to_numpy(zero_copy_only=False) for values in (expected, actual)]
        wrong = ~same | (nulls[0] != nulls[1])
        return int(np.argmax(wrong)) if wrong.any() else None
    if expected.equals(actual):
        return None
    pairs = zip(expected.to_pylist(), actual.to_pylist(), strict=True)
    return next((i for i, pair in enumerate(pairs) if not agree(*pair, tolerance)), None)


def agree(left: Any, right: Any, tolerance: float) -> bool:
    """Tell whether two values are equal: floats within a tolerance, NaN equal to NaN.

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


def window_rows(definition: Rolling, table: Any, difference: Difference) -> Any:
    """Return the input rows in the window of the row that differs, newest last."""
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
        return mine.filter(kept).sort_by(definition.on).slice(0, _SHOWN)
    ordered = sort_table(mine, definition.on, definition.by, definition.ties)
    order = np.arange(len(mine)) if ordered.order is None else ordered.order
    overs = definition.overs
    over = overs.get(difference.column) or next(iter(overs.values()), None)
    window = rows_window(1) if over is None else over.window
    lo, hi = window.frames(ordered.rows)
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
    first = max(int(lo[at]), int(hi[at]) - _SHOWN)
    return mine.take(pa.array(order[first : int(hi[at])]))
