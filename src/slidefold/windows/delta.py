"""Delta windows: the rows whose value in a column is near this row's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np

from slidefold import _native
from slidefold.errors import TimeOrderError, WindowError
from slidefold.windows.clock import Length
from slidefold.windows.closed import CLOSED
from slidefold.windows.counted import counted
from slidefold.windows.durations import nanoseconds
from slidefold.windows.sorted_rows import Frames, SortedRows, search


@dataclass(frozen=True)
class Delta:
    """The rows so far with `on` in `(x - range, x]`, where x is this row's, or as `closed` says."""

    range: Length
    on: str
    closed: str = "right"

    def __post_init__(self) -> None:
        if self.closed not in CLOSED:
            raise WindowError(f"closed is one of {', '.join(CLOSED)}, got {self.closed!r}")
        if not isinstance(self.on, str):
            raise WindowError(f"delta needs the name of a column as on, got {self.on!r}")
        check_length(self.range, "delta", "range")
        if isinstance(self.range, Real):
            whole = isinstance(self.range, Integral)
            object.__setattr__(self, "range", int(self.range) if whole else float(self.range))

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that the window looks at."""
        return (self.on,)

    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window: rows of equal time see each other, later ones are unseen."""
        clock, x = counted(self.on, rows.column(self.on), rows.origin, floats=True)
        falls = np.flatnonzero((x[1:] < x[:-1]) & ~rows.opens[1:])
        if len(falls):
            row = rows.origin(int(falls[0]) + 1)
            raise TimeOrderError(
                f"the column {self.on!r} of a delta window must not decrease in time order, "
                f"but it does at row {row}"
            ).at(row)
        span, exact = clock.steps(self.range, f"the range {self.range!r}")
        keeps_start = self.closed in ("left", "both") or not exact
        keeps_end = self.closed in ("right", "both")
        if x.dtype == np.int64:
            lo, hi = _native.time_frames(rows.starts, x, int(span), keeps_start, keeps_end)
        else:
            lo = search(rows.group, x, rows.group, x - span, "left" if keeps_start else "right")
            hi = search(rows.group, x, rows.group, x, "right" if keeps_end else "left")
        hi = np.minimum(hi, rows.peers_end)
        return np.minimum(lo, hi), hi

    def retention(self) -> str:
        """What a window keeps, in words."""
        return f"the rows of the last {self.range} in {self.on}"

    def __str__(self) -> str:
        end = "" if self.closed == "right" else f", closed={self.closed!r}"
        return f"delta({self.range!r}, on={self.on!r}{end})"


def check_length(length: Any, window: str, what: str) -> None:
    """Check a length that is a duration or a positive number."""
    if isinstance(length, (str, timedelta)):
        nanoseconds(length)
    elif isinstance(length, bool) or not isinstance(length, Real):
        raise WindowError(f"{window} needs a duration or a number as {what}, got {length!r}")
    elif not (math.isfinite(length) and 0 < float(length) < 2.0**63):
        raise WindowError(f"{window} needs a finite {what} > 0 of 64 bits, got {length!r}")


def delta(range: Length, *, on: str, closed: str = "right") -> Delta:
    """The rows with a value in `(x - range, x]` of the column `on`, where x is this row's value.

    The column must not decrease in time order, such as an odometer. Rows that come later are never
    seen, whatever their value. For `sf.rolling`.

    >>> import slidefold as sf
    >>> print(sf.delta(100, on="km"))
    delta(100, on='km')
    """
    return Delta(range, on, closed)
