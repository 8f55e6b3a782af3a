"""On the workers: how definitions get there, and what is said when something fails."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from pyspark import cloudpickle

from slidefold.columns.compute import Definition
from slidefold.errors import OperatorError, SlidefoldError

# Rows of a batch that goes back to Spark: enough to be cheap, few enough for rows of any size.
OUT_ROWS = 1 << 16


@contextmanager
def naming_keys(definition: Definition, table: Any) -> Iterator[None]:
    """Name the key instead of the row in an error that knows its row: there are many partitions."""
    try:
        yield
    except SlidefoldError as error:
        if error.row is None:
            raise
        said = [f"{name}={table[name][error.row].as_py()!r}" for name in definition.by]
        told = str(error).replace(f" at row {error.row}", " in a row")
        where = f" where {', '.join(said)}" if said else ""
        raise type(error)(f"{told}{where}") from None


class Shipped:
    """A definition on its way to the workers: as bytes, so that a process unpickles it once.

    Every task gets a copy of what it runs. Operators of users would be compiled again for each;
    bytes that were seen before give the definition that they gave then, with its machine code.
    """

    def __init__(self, definition: Definition) -> None:
        try:
            self.data: bytes = cloudpickle.dumps(definition)  # type: ignore[no-untyped-call]
        except Exception as error:
            raise OperatorError(
                f"the definition cannot be sent to Spark's workers: {error}"
            ) from error

    def load(self) -> Any:
        """Return the definition, the same one for the same bytes."""
        return _loaded(self.data)


@lru_cache(maxsize=64)
def _loaded(data: bytes) -> Any:
    return pickle.loads(data)
