"""How definitions get to the workers, and how large the batches are that come back."""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import Any

from pyspark import cloudpickle

from slidefold.definition.rolling import Rolling
from slidefold.errors import OperatorError

# Rows of a batch that goes back to Spark: enough to be cheap, few enough for rows of any size.
OUT_ROWS = 1 << 16


class Shipped:
    """A definition on its way to the workers: as bytes, so that a process unpickles it once.

    Every task gets a copy of what it runs. Operators of users would be compiled again for each;
    bytes that were seen before give the definition that they gave then, with its machine code.
    """

    def __init__(self, definition: Rolling) -> None:
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
