"""Ship definitions to the workers."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pyspark import cloudpickle

from slidefold.columns.backfill import kept
from slidefold.definition.period import Period
from slidefold.definition.rolling import Rolling
from slidefold.errors import OperatorError
from slidefold.spark.types import conform

# Rows per batch that goes back to Spark: many enough to be cheap, few enough for large rows.
OUT_ROWS = 1 << 16


def returned(results: Any, schema: Any, period: Period | None) -> Iterator[Any]:
    """Yield the results of a period, or all of them, in batches for Spark."""
    if period is not None:
        results = kept(results, period)
    yield from conform(results, schema).to_batches(OUT_ROWS)


class Shipped:
    """A pickled definition for the workers, which each process unpickles once.

    Every task gets a copy of its function. User operators would be compiled again for each task;
    instead, equal bytes load the same definition, with its machine code.
    """

    def __init__(self, definition: Rolling) -> None:
        try:
            self.data: bytes = cloudpickle.dumps(definition)  # type: ignore[no-untyped-call]
        except Exception as error:
            raise OperatorError(
                f"the definition cannot be pickled for Spark's workers: {error}"
            ) from error

    def load(self) -> Any:
        """Return the definition, the same one for the same bytes."""
        return _loaded(self.data)


@lru_cache(maxsize=64)
def _loaded(data: bytes) -> Any:
    return pickle.loads(data)
