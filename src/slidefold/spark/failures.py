"""Errors in a worker: they name the column and the key instead of a row number.

A row number would count the rows of one of many partitions. Kernels know neither keys nor column
names, so the failed run is repeated, one column at a time, and bisected until one key is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from slidefold.columns import run
from slidefold.columns.grouping import group_numbers, without_views
from slidefold.definition.rolling import Rolling
from slidefold.errors import DataError, SlidefoldError, TimeOrderError

# Runs a definition over a table again.
Again = Callable[[Any, Any], Any]


@contextmanager
def naming_place(definition: Rolling, table: Any, again: Again = run) -> Iterator[None]:
    """Add the column and the key to an error that is raised inside."""
    try:
        yield
    except SlidefoldError as error:
        if error.row is not None and isinstance(error, DataError | TimeOrderError):
            where = _where(definition, table, error.row)
            raise type(error)(f"{error.sentence} in a row{where}") from None
        column = _failing_column(definition, table, again, error)
        if column is None:
            raise
        row = _row(definition.only(column), table, again, error)
        where = "" if row is None else _where(definition, table, row)
        raise type(error)(f"{error.sentence} in the column {column!r}{where}") from None


@contextmanager
def naming_key(definition: Rolling, table: Any) -> Iterator[None]:
    """Add the key of a table's first row to an error that is raised inside."""
    try:
        yield
    except TimeOrderError:  # its message names the key already
        raise
    except SlidefoldError as error:
        raise type(error)(error.sentence + _where(definition, table, 0)) from None


def _where(definition: Rolling, table: Any, row: int) -> str:
    keys = [f"{name}={table[name][row].as_py()!r}" for name in definition.by]
    return f" where {', '.join(keys)}" if keys else ""


def _failing_column(definition: Rolling, table: Any, again: Again, error: Exception) -> str | None:
    """Return the first new column that fails by itself."""
    for name in definition.columns:
        try:
            only = definition.only(name)
        except SlidefoldError:  # a rows window that is valid only beside a time window
            continue
        if _fails(only, table, again, error):
            return name
    return None


def _row(definition: Rolling, table: Any, again: Again, error: Exception) -> int | None:
    """Return a row of the key that fails; None if no key fails by itself."""
    keys = without_views(table.select(list(definition.by)))
    codes, high = group_numbers(keys, definition.by)
    if codes is None:
        return None
    low = 0
    while high - low > 1:
        half = (low + high) // 2
        part = table.filter(pa.array((codes >= low) & (codes < half)))
        low, high = (low, half) if _fails(definition, part, again, error) else (half, high)
    mask = codes == low
    if not _fails(definition, table.filter(pa.array(mask)), again, error):
        return None
    return int(mask.argmax())


def _fails(definition: Rolling, table: Any, again: Again, error: Exception) -> bool:
    try:
        again(definition, table)
    except type(error):
        return True
    except (SlidefoldError, KeyError):  # a part of it has no place in the chunk
        return False
    return False
