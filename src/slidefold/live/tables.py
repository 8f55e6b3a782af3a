"""Results of several batches in one table, and the groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.grouping import group_numbers
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ValueTypeError


def with_later(results: Any, later: Any) -> Any:
    """Return results and later results in one table.

    Results of an operator without declared types may need a wider type later.
    """
    try:
        return pa.concat_tables([results, later], promote_options="permissive")
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise ValueTypeError(
            f"results changed their type between batches ({reason}); declare state= and returns= "
            "of the operator"
        ) from None


def groups_of(table: Any, by: Sequence[str]) -> Ints:
    """Return the group of each row, or 0 if there are no keys."""
    groups, _ = group_numbers(table, by)
    return np.zeros(len(table), np.int64) if groups is None else groups.astype(np.int64)
