"""Ship definitions and functions to the workers, which need the same version of slidefold."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from slidefold import __version__
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


def map_in_arrow(data: DataFrame, function: Callable[[Any], Any], schema: Any) -> DataFrame:
    """Map the batches of a DataFrame with a function that uses slidefold."""
    return data.mapInArrow(for_workers(function), schema)


def for_workers(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function for workers, which tells what is missing if slidefold is not there."""
    load = loader(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]

    def call(argument: Any) -> Any:
        return load()(argument)

    return call


def loader(data: bytes) -> Callable[[], Any]:
    """Return a function that unpickles data in a worker with this version of slidefold.

    It is a nested function, which travels by value: a worker without slidefold can load it too.
    """
    here = __version__

    def load() -> Any:
        import pickle
        import sys

        try:
            import slidefold
        except ModuleNotFoundError as error:
            if error.name != "slidefold":
                raise
            there = None
        else:
            there = getattr(slidefold, "__version__", None)
        if there != here:
            has = "no slidefold" if there is None else f"slidefold {there}"
            raise ImportError(
                f"the driver has slidefold {here}, and the Python of this worker, "
                f"{sys.executable}, has {has}: install slidefold=={here} there, or send an "
                "environment with spark.archives"
            )
        return pickle.loads(data)

    return load


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
