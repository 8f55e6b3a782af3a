"""What is said when something fails in a worker: the column and the key, instead of a row's number.

A number would be that of a row in one of many partitions. Kernels know neither keys nor names, so
what failed is run again, one column at a time and on fewer and fewer keys, until one is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from slidefold.columns import run
from slidefold.columns.compute import Definition
from slidefold.columns.grouping import group_numbers, without_views
from slidefold.errors import SlidefoldError, TimeOrderError

# Runs a definition over a table once more.
Again = Callable[[Any, Any], Any]


@contextmanager
def naming(definition: Definition, table: Any, again: Again = run) -> Iterator[None]:
    """Name the column and the key in an error that is raised inside."""
    try:
        yield
    except SlidefoldError as error:
        if error.row is not None:
            told = str(error).replace(f" at row {error.row}", " in a row")
            raise type(error)(told + _where(definition, table, error.row)) from None
        column = _column(definition, table, again, error)
        if column is None:
            raise
        told = re.sub(r" at row \d+", "", str(error))
        row = _row(_only(definition, column), table, again, error)
        where = "" if row is None else _where(definition, table, row)
        raise type(error)(f"{told} in the column {column!r}{where}") from None


@contextmanager
def naming_key(definition: Definition, table: Any) -> Iterator[None]:
    """Name the key of a table's first row in an error that is raised inside, over rows of it."""
    try:
        yield
    except TimeOrderError:  # it has its own words for keys
        raise
    except SlidefoldError as error:
        told = re.sub(r" at row \d+", "", str(error))
        raise type(error)(told + _where(definition, table, 0)) from None


def _where(definition: Definition, table: Any, row: int) -> str:
    said = [f"{name}={table[name][row].as_py()!r}" for name in definition.by]
    return f" where {', '.join(said)}" if said else ""


def _column(definition: Definition, table: Any, again: Again, error: Exception) -> str | None:
    """Return the first new column that fails by itself."""
    for name in definition.columns:
        if _fails(_only(definition, name), table, again, error):
            return name
    return None


def _only(definition: Definition, name: str) -> Any:
    """Return a definition with one of its columns."""
    return SimpleNamespace(
        on=definition.on,
        by=definition.by,
        slide=definition.slide,
        order=definition.order,
        ties=definition.ties,
        used=definition.used,
        columns={name: definition.columns[name]},
    )


def _row(definition: Any, table: Any, again: Again, error: Exception) -> int | None:
    """Return a row of the key that fails; None if no key does by itself."""
    keys = without_views(table.select(list(definition.by)))
    codes, high = group_numbers(keys, definition.by)
    if codes is None:
        return None
    low = 0
    while high - low > 1:
        half = (low + high) // 2
        part = table.filter(pa.array((codes >= low) & (codes < half)))
        low, high = (low, half) if _fails(definition, part, again, error) else (half, high)
    found = codes == low
    if not _fails(definition, table.filter(pa.array(found)), again, error):
        return None
    return int(found.argmax())


def _fails(definition: Any, table: Any, again: Again, error: Exception) -> bool:
    try:
        again(definition, table)
    except type(error):
        return True
    except SlidefoldError:
        return False
    return False
