"""Results of several batches in one table, the groups of rows, and rows as Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.grouping import group_numbers
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ValueTypeError, first_line


def with_later(results: Any, later: Any) -> Any:
    """Return results and later results in one table.

    Results of an operator without declared types may need a wider type later.
    """
    try:
        return pa.concat_tables([results, later], promote_options="permissive")
    except pa.ArrowException as error:
        raise ValueTypeError(
            f"results changed their type between batches ({first_line(error)}); declare state= and "
            "returns= of the operator"
        ) from None


def groups_of(table: Any, by: Sequence[str]) -> Ints:
    """Return the group of each row, or 0 if there are no keys."""
    groups, _ = group_numbers(table, by)
    return np.zeros(len(table), np.int64) if groups is None else groups.astype(np.int64)


def objects(values: Any) -> list[Any]:
    """Return a column as Python objects; times that Python cannot hold are those of numpy.

    Python holds the years 1 to 9999, 2.7 million years as a duration, and, without pandas, no
    nanoseconds.

    >>> objects(pa.array([19000, 3000000], pa.date32()))
    [datetime.date(2022, 1, 8), np.datetime64('10183-09-21')]
    """
    try:
        return values.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        return [_object(value) for value in values]


def dicts(table: Any) -> list[dict[str, Any]]:
    """Return a table as one dict per row."""
    lists = [objects(column) for column in table.columns]
    names = table.column_names
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _object(value: Any) -> Any:
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        kind = value.type
    if pa.types.is_struct(kind):
        return {name: _object(item) for name, item in value.items()}
    if pa.types.is_map(kind):
        return [tuple(_object(item) for item in pair.values()) for pair in value.values]
    if kind.num_fields:
        return objects(value.values)
    return pa.array([value], kind).to_numpy(zero_copy_only=False)[0]
