"""Delta windows: the rows whose value in a column is close to that of the current row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.calls import call, closing
from slidefold.definition.windows.clock import Clock, Given, Length
from slidefold.definition.windows.closed import CLOSED
from slidefold.definition.windows.counted import counted
from slidefold.definition.windows.durations import nanoseconds, plain_length
from slidefold.definition.windows.sorted_rows import Asked, Frames, SortedRows, less, search
from slidefold.errors import TimeOrderError, ValueTypeError, WindowError


@dataclass(frozen=True, repr=False)
class Delta(WindowKind):
    """The rows so far with `on` in `(x - range, x]`, where x is the value of the current row.

    `closed` decides which ends of the interval are included.
    """

    range: Length
    on: str
    closed: str = "right"

    def __post_init__(self) -> None:
        if self.closed not in CLOSED:
            raise WindowError(f"closed must be one of {', '.join(CLOSED)}, got {self.closed!r}")
        if not isinstance(self.on, str):
            raise WindowError(f"on of delta must be the name of a column, got {self.on!r}")
        object.__setattr__(self, "range", checked_length(self.range, "delta", "range"))

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The input columns that the window reads."""
        return (self.on,)

    @property
    def walks(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that must not decrease in time order."""
        return (self.on,)

    @property
    def over_spark(self) -> str:  # type: ignore[override]
        """Why Spark's OVER does not support the window."""
        return f"Spark does not support {self}"

    def closing(self, closed: str) -> Delta:
        """Return the window with this `closed`."""
        return replace(self, closed=closed)

    def engine_rule(self, clock: Clock, schema: Any) -> dict[str, Any]:
        """Return the window as plain values for the engine of arrival order."""
        kind = schema.field(self.on).type
        walked, _ = counted(self.on, pa.array([], kind), floats=True)
        span, exact = walked.steps(self.range, f"the range {self.range!r}")
        real = walked.kind == "double"
        return {
            "kind": "delta",
            "walks": self.on,
            "range": float(span) if real else int(span),
            "real": real,
            "keeps_start": self.closed in ("left", "both") or not exact,
            "keeps_end": self.closed in ("right", "both"),
        }

    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window; it includes rows of equal time, but no later rows."""
        clock, x = self._walked(rows)
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

    def asked_frames(self, rows: SortedRows, asked: Asked) -> Frames:
        """Return the window of each question, which has a value of the column too."""
        clock, x = self._walked(rows)
        other, value = counted(self.on, asked.column(self.on), floats=True)
        if other != clock:
            raise ValueTypeError(
                f"the column {self.on!r} is {clock.kind} in the events and {other.kind} in the "
                "questions"
            )
        span, exact = clock.steps(self.range, f"the range {self.range!r}")
        keeps_start = self.closed in ("left", "both") or not exact
        start = less(value, int(span)) if x.dtype == np.int64 else value - span
        lo = asked.search(rows, x, start, "left" if keeps_start else "right")
        hi = asked.search(rows, x, value, "right" if self.closed in ("right", "both") else "left")
        hi = np.minimum(hi, asked.until(rows))
        # Values of questions may fall in time, and kernels need bounds that do not.
        return np.minimum(lo, hi), hi

    def _walked(self, rows: SortedRows) -> tuple[Clock, Any]:
        """Return the values of the column; raise if they fall in time order."""
        clock, x = counted(self.on, rows.column(self.on), rows.origin, floats=True)
        falls = np.flatnonzero((x[1:] < x[:-1]) & ~rows.opens[1:])
        if len(falls):
            row = rows.origin(int(falls[0]) + 1)
            raise TimeOrderError(
                f"the column {self.on!r} of a delta window must not decrease in time order, "
                "but it does"
            ).at(row)
        return clock, x

    @property
    def unbounded(self) -> str:
        """Why the state of a stream may grow without bound."""
        return "keeps the rows of each key until its values grow past the range, and they may not"

    def retention(self) -> str:
        """Describe the rows that the window keeps."""
        return f"the rows of the last {self.range} in {self.on}"

    def __repr__(self) -> str:
        return self.text("right")

    def text(self, default: str | None) -> str:
        """Return the window as source code."""
        return call("sf.delta", self.range, on=self.on, **closing(self.closed, "right"))


def checked_length(given: Any, window: str, what: str) -> Length:
    """Check a length: a duration or a positive number. Return it as a plain Python value."""
    length: Length = plain_length(given)
    if isinstance(length, (str, timedelta)):
        nanoseconds(length)
        return length
    if isinstance(length, bool) or not isinstance(length, Real):
        raise WindowError(f"{what} of {window} must be a duration or a number, got {length!r}")
    if not 0 < length < 2**63:
        raise WindowError(f"{what} of {window} must be > 0 and < 2**63, got {length!r}")
    return int(length) if isinstance(length, Integral) else float(length)


def delta(range: Given, *, on: str, closed: str = "right") -> Delta:
    """Select the rows whose `on` is in `(x - range, x]`, where x is the current row's value.

    The column must not decrease in time order; an odometer is an example. Rows of equal time see
    each other if their values are in range. Rows of a later time are never in the window. For
    `sf.rolling`.

    >>> import slidefold as sf
    >>> print(sf.delta(100, on="km"))
    sf.delta(100, on='km')
    """
    return Delta(plain_length(range), on, closed)
