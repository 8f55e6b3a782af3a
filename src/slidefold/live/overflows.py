"""Results that do not fit in their type, of rows that were accepted earlier.

Such a row cannot be refused any more, and raising with every call would stop the run for good. So
an error is raised once and changes nothing; from the next call on the result is null. A batch that
causes an overflow itself is refused each time.

A stream cannot refuse a batch: Spark would bring it again for ever. There all such results are null
and counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.expressions import Compiled
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ResultOverflowError
from slidefold.live.lateness import times_of
from slidefold.live.tables import dicts


class Overflows:
    """Remembers up to which time overflows were reported; or counts them, and reports none."""

    def __init__(self, when: str, by: tuple[str, ...]) -> None:
        """Report results by their time in the column `when`, and their keys."""
        self.when, self.by = when, by
        self.reported: int | None = None
        self.counts = False
        self.counted = 0

    def report(self, rows: Any, places: Ints, sentence: str) -> None:
        """Raise an error that names the first of some results, unless it was raised already."""
        if self.counts:
            self.counted += len(places)
            return
        times = times_of(rows, self.when)[places]
        if self.reported is not None and (times <= self.reported).all():
            return
        first = dicts(rows.slice(int(places[np.argmin(times)]), 1))[0]
        self.reported = int(times.max())
        where = ", ".join(f"{name}={first[name]!r}" for name in (self.when, *self.by))
        raise ResultOverflowError(f"{sentence}, at {where}")


def columns_that_fit(formulas: Compiled, table: Any) -> tuple[dict[str, Any], list[int], str]:
    """Return the columns of formulas, null at rows that overflow; those rows, and the reason."""
    try:
        return formulas.columns(table), [], ""
    except ResultOverflowError as error:
        reason = error.sentence
    if len(table) == 1:
        return {name: pa.nulls(1, kind) for name, kind in formulas.types.items()}, [0], reason
    half = len(table) // 2
    one, bad, _ = columns_that_fit(formulas, table.slice(0, half))
    other, worse, _ = columns_that_fit(formulas, table.slice(half))
    joined = {name: pa.concat_arrays([one[name], other[name]]) for name in one}
    return joined, [*bad, *(half + place for place in worse)], reason
