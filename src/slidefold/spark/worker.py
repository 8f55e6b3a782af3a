"""Ship definitions to the workers."""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import Any

from pyspark import cloudpickle

from slidefold.definition.rolling import Rolling
from slidefold.errors import OperatorError

# Rows per batch that goes back to Spark: many enough to be cheap, few enough for large rows.
OUT_ROWS = 1 << 16


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
