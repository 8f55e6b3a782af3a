"""Time windows: the rows of a range of time that ends now."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import timedelta
from numbers import Integral, Real
from typing import Any

from slidefold import _native
from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.calls import call, closing, written
from slidefold.definition.windows.clock import Clock, Given, lateness_of
from slidefold.definition.windows.closed import CLOSED, UNSAID
from slidefold.definition.windows.durations import duration_text, nanoseconds, plain_length
from slidefold.definition.windows.sorted_rows import Frames, SortedRows
from slidefold.errors import WindowError


@dataclass(frozen=True, repr=False)
class Time(WindowKind):
    """The rows from `range` ago to now: `(t - range, t]`, or as `closed` says."""

    range: str | timedelta | int | float
    closed: str = "right"
    # False where nobody said which ends are closed: with `every` in time that means the left one.
    settled: bool = field(default=True, compare=False)

    live = in_time = True
    orders_peers = False
    unbounded = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "range", plain_length(self.range))
        if self.closed not in CLOSED:
            raise WindowError(f"closed is one of {', '.join(CLOSED)}, got {self.closed!r}")
        if isinstance(self.range, (str, timedelta)):
            nanoseconds(self.range)
            return
        if isinstance(self.range, bool) or not isinstance(self.range, Real):
            raise WindowError(f"time needs a duration or a number as range, got {self.range!r}")
        if isinstance(self.range, Integral):
            if self.range >= 2**63:
                raise WindowError("time needs a range of 64 bits, got a larger one")
            if self.range <= 0:
                raise WindowError(f"time needs a range > 0, got {self.range!r}")
            object.__setattr__(self, "range", int(self.range))
        elif not (math.isfinite(self.range) and self.range > 0):
            raise WindowError(f"time needs a finite range > 0, got {self.range!r}")
        else:
            object.__setattr__(self, "range", float(self.range))

    @property
    def datetimes(self) -> bool:
        """Whether times are datetimes (the range is a duration) or numbers."""
        return isinstance(self.range, (str, timedelta))

    def rule(self) -> dict[str, Any]:
        """The window in the plain numbers that the native core takes; datetimes in microseconds."""
        length: int | float
        if isinstance(self.range, (str, timedelta)):
            length, finer = divmod(nanoseconds(self.range), 1000)
            if finer:
                raise WindowError(f"live windows count in microseconds, {self.range!r} is finer")
        else:
            length = self.range
        return {
            "timed": True,
            "datetimes": self.datetimes,
            "range": length,
            "keeps_start": self.closed in ("left", "both"),
            "keeps_end": self.closed in ("right", "both"),
        }

    def lateness_rule(self, lateness: Given) -> int | float:
        """A lateness in the plain numbers that the native core takes, 0 or more."""
        lateness = lateness_of(lateness)
        if lateness == 0:
            return 0
        if isinstance(lateness, (str, timedelta)) != self.datetimes:
            raise WindowError(
                f"the lateness of {self} is {'a duration' if self.datetimes else 'a number'}, "
                f"got {lateness!r}"
            )
        length: int | float = Time(lateness).rule()["range"]
        return length

    def reach(self, clock: Clock) -> tuple[int, int]:
        """The window at t in whole steps: the rows from `t - reach[0]` to `t - reach[1]`."""
        span, exact = clock.steps(self.range, f"the range {self.range!r}")
        keeps_start = self.closed in ("left", "both") or not exact
        return int(span) - (not keeps_start), int(self.closed not in ("right", "both"))

    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window; rows of equal time see each other."""
        return _native.time_frames(rows.starts, rows.times, *self.native_rule(rows.clock))

    def native_rule(self, clock: Clock) -> tuple[int, bool, bool]:
        """Return the window in steps of a clock: its length, and whether it keeps its ends."""
        span, exact = clock.steps(self.range, f"the range {self.range!r}")
        # A range between two steps holds all that the lower step does, its start included.
        keeps_start = self.closed in ("left", "both") or not exact
        return int(span), keeps_start, self.closed in ("right", "both")

    def closing(self, closed: str, *, settled: bool = True) -> Time:
        """Return the window with other ends closed."""
        return replace(self, closed=closed, settled=settled)

    def retention(self) -> str:
        """Say what a window keeps."""
        return f"the rows of the last {self.range}"

    def argument(self, default: str | None) -> tuple[str, dict[str, str]]:
        """Return how the window is typed inside `over(...)`."""
        if not self.datetimes:
            return self.text(default), {}
        return written(self.range), closing(self.closed, default)

    def in_file(self, default: str) -> tuple[Any, str | None]:
        """Return how a file has the window."""
        if isinstance(self.range, int | float):
            return None, None
        return duration_text(self.range), None if self.closed == default else self.closed

    @property
    def suffix(self) -> str:
        """What tells a column over one of several windows from the others."""
        if isinstance(self.range, int | float):
            return ""
        return duration_text(self.range).replace(" ", "")

    def __repr__(self) -> str:
        return self.text(None if self.settled else "right")

    def text(self, default: str | None) -> str:
        """Return the window as it is typed where `closed` has this default."""
        return call("sf.time", self.range, **closing(self.closed, default))


def time(range: Given, *, closed: str = UNSAID) -> Time:
    """The rows in `(t - range, t]`, where t is the newest time.

    A string or a timedelta needs datetimes as times, a number needs numbers. `closed="left"` is
    `[t - range, t)`: it sees neither the newest row nor its peers; `"both"` and `"neither"`
    likewise. The default is "right", and "left" in `sf.rolling` with an `every` in time.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.sum(), sf.time(10))
    >>> [w.push(t, x) for t, x in ((0, 1.0), (5, 2.0), (10, 4.0), (10, 8.0))]
    [1.0, 3.0, 6.0, 14.0]
    """
    said = closed is not UNSAID
    return Time(plain_length(range), closed if said else "right", settled=said)
