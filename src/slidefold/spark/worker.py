"""What workers say when they fail: the key of the row, since a row number means nothing there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from slidefold.columns.compute import Definition
from slidefold.errors import SlidefoldError


@contextmanager
def naming_keys(definition: Definition, table: Any) -> Iterator[None]:
    """Add the key of the row to an error that knows its row in this table."""
    try:
        yield
    except SlidefoldError as error:
        if error.row is None:
            raise
        said = [f"{name}={table[name][error.row].as_py()!r}" for name in definition.by]
        told = str(error).replace(f" at row {error.row}", " in a row")
        where = f" where {', '.join(said)}" if said else ""
        raise type(error)(f"{told}{where}") from None
