"""Number rows in arrival order, in a separate column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.windows.sorted_rows import Ints

NUMBER = "slidefold.row"


def numbered(rows: Any, first: int) -> Any:
    """Return rows with a column of numbers that starts at `first`."""
    return rows.append_column(NUMBER, pa.array(np.arange(first, first + len(rows))))


def numbers_of(rows: Any) -> Ints:
    """Return the numbers of rows."""
    return rows[NUMBER].combine_chunks().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
