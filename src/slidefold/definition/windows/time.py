"""Time windows: the rows in a range of time that ends at the current time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np

from slidefold import _native
from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.calls import call, closing, written
from slidefold.definition.windows.clock import Clock, Given, lateness_of
from slidefold.definition.windows.closed import CLOSED, UNSAID
from slidefold.definition.windows.durations import duration_text, nanoseconds, plain_length
from slidefold.definition.windows.sorted_rows import Asked, Frames, SortedRows
from slidefold.errors import WindowError
from slidefold.pictures import Extent


@dataclass(frozen=True, repr=False)
class Time(WindowKind):
    """The rows in `(t - range, t]`; `closed` decides which ends are included."""

    range: str | timedelta | int | float
    closed: str = "right"
    delay: str | timedelta | int | float | None = None
    ahead: bool = False
    # False if the user has not set `closed`: with `every` in time it then becomes "left".
    settled: bool = field(default=True, compare=False)

    in_time = True
    orders_peers = False
    unbounded = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "range", plain_length(self.range))
        if not isinstance(self.ahead, bool):
            raise WindowError(f"ahead must be True or False, got {self.ahead!r}")
        if self.delay is not None:
            self._check_delay()
        if self.closed not in CLOSED:
            raise WindowError(f"closed must be one of {', '.join(CLOSED)}, got {self.closed!r}")
        if isinstance(self.range, (str, timedelta)):
            nanoseconds(self.range)
            return
        if isinstance(self.range, bool) or not isinstance(self.range, Real):
            raise WindowError(
                f"range of sf.time must be a duration or a number, got {self.range!r}"
            )
        if isinstance(self.range, Integral):
            if self.range >= 2**63:
                raise WindowError("range of sf.time must be < 2**63, got a larger number")
            if self.range <= 0:
                raise WindowError(f"range of sf.time must be > 0, got {self.range!r}")
            object.__setattr__(self, "range", int(self.range))
        elif not (math.isfinite(self.range) and self.range > 0):
            raise WindowError(f"range of sf.time must be finite and > 0, got {self.range!r}")
        else:
            object.__setattr__(self, "range", float(self.range))

    def _check_delay(self) -> None:
        delay = Time(self.delay).range  # type: ignore[arg-type]
        if isinstance(delay, (str, timedelta)) != isinstance(self.range, (str, timedelta)):
            raise WindowError(
                f"delay must be a duration if range is one, got range={self.range!r} and "
                f"delay={self.delay!r}"
            )
        if self.ahead:
            raise WindowError("a window cannot have delay= and ahead=True")
        object.__setattr__(self, "delay", delay)

    @property
    def live(self) -> bool:  # type: ignore[override]
        """Whether sf.Window supports it."""
        return self.delay is None and not self.ahead

    @property
    def one_pass(self) -> bool:  # type: ignore[override]
        """Whether the native pass over all windows supports it."""
        return self.delay is None and not self.ahead

    @property
    def datetimes(self) -> bool:
        """Whether times are datetimes (the range is a duration) and not numbers."""
        return isinstance(self.range, (str, timedelta))

    def rule(self) -> dict[str, Any]:
        """Return the window as the plain values of the native core; durations in microseconds."""
        length: int | float
        if isinstance(self.range, (str, timedelta)):
            length, finer = divmod(nanoseconds(self.range), 1000)
            if finer:
                raise WindowError(
                    f"range of a live window must be in whole microseconds, got {self.range!r}"
                )
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
        """Return a lateness as the plain number that the native core takes, 0 or more."""
        lateness = lateness_of(lateness)
        if lateness == 0:
            return 0
        if isinstance(lateness, (str, timedelta)) != self.datetimes:
            raise WindowError(
                f"the lateness of {self} must be {'a duration' if self.datetimes else 'a number'}, "
                f"got {lateness!r}"
            )
        length: int | float = Time(lateness).rule()["range"]
        return length

    def reach(self, clock: Clock) -> tuple[int, int]:
        """Return the reach in clock steps: at t the window is `t - reach[0]` to `t - reach[1]`."""
        span, exact = clock.steps(self.range, f"the range {self.range!r}")
        if self.ahead:
            keeps_end = self.closed in ("right", "both") or not exact
            oldest = 0 if self.closed in ("left", "both") else -1
            return oldest, -(int(span) - (not keeps_end))
        keeps_start = self.closed in ("left", "both") or not exact
        delay = 0
        if self.delay is not None:
            delay = clock.exactly(self.delay, f"the delay {self.delay!r}")
        oldest, newest = int(span) - (not keeps_start), int(self.closed not in ("right", "both"))
        if oldest + delay >= 2**63:
            raise WindowError(
                f"the range and the delay of {self} must add up to < 2**63 steps of "
                f"{clock.column!r}"
            )
        return oldest + delay, newest + delay

    def engine_rule(self, clock: Clock, schema: Any) -> dict[str, Any]:
        """Return the window as plain values for the engine of arrival order."""
        oldest, newest = self.reach(clock)
        return {"kind": "time", "oldest": oldest, "newest": newest}

    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window; rows of equal time see each other."""
        if self.one_pass:
            return _native.time_frames(rows.starts, rows.times, *self.native_rule(rows.clock))
        return _native.reach_frames(rows.starts, rows.times, *self.reach(rows.clock))

    def asked_frames(self, rows: SortedRows, asked: Asked) -> Frames:
        """Return the window of each question."""
        oldest, newest = self.reach(rows.clock)
        hi = asked.until(rows, newest)
        return np.minimum(asked.since(rows, oldest), hi), hi

    def native_rule(self, clock: Clock) -> tuple[int, bool, bool]:
        """Return the window in steps of a clock: its length, and whether it keeps its ends."""
        span, exact = clock.steps(self.range, f"the range {self.range!r}")
        # A range that is not a whole number of steps is rounded down and includes its start.
        keeps_start = self.closed in ("left", "both") or not exact
        return int(span), keeps_start, self.closed in ("right", "both")

    def closing(self, closed: str) -> Time:
        """Return the window with this `closed`."""
        return replace(self, closed=closed, settled=True)

    def settle(self, closed: str) -> Time:
        """Return the window with this `closed`, unless the user has set another."""
        return self if self.ahead and closed is UNSAID else super().settle(closed)

    def retention(self) -> str:
        """Describe the rows that the window keeps."""
        if self.ahead:
            return f"the rows of the next {self.range}"
        earlier = "" if self.delay is None else f", up to {self.delay} ago"
        return f"the rows of the last {self.range}{earlier}"

    def argument(self, default: str | None) -> tuple[str, dict[str, str]]:
        """Return the source code inside `over(...)`."""
        if not self.datetimes or not self.one_pass:
            return self.text(default), {}
        return written(self.range), closing(self.closed, default)

    def in_file(self, default: str) -> tuple[Any, str | None]:
        """Return the short form for a file, None if there is none, and `closed` if needed."""
        if isinstance(self.range, int | float) or not self.one_pass:
            return None, None
        return duration_text(self.range), None if self.closed == default else self.closed

    @property
    def suffix(self) -> str:
        """The suffix of a column's name in a list of windows; "" if lists do not take it."""
        if isinstance(self.range, int | float) or not self.one_pass:
            return ""
        return duration_text(self.range).replace(" ", "")

    def __repr__(self) -> str:
        return self.text(None if self.settled else UNSAID)

    def extent(self) -> Extent:
        """Return where the window lies, for its picture."""
        length, delay = (
            nanoseconds(given) if isinstance(given, (str, timedelta)) else given
            for given in (self.range, 0 if self.delay is None else self.delay)
        )
        return Extent(
            axis="time" if self.datetimes else "number",
            start=0 if self.ahead else delay + length,
            end=-length if self.ahead else delay,
            keeps_start=self.closed in ("left", "both"),
            keeps_end=self.closed in ("right", "both"),
            note=self.text(UNSAID),
        )

    def text(self, default: str | None) -> str:
        """Return the window as source code, without `closed` if it equals the default."""
        more: dict[str, Any] = {} if self.delay is None else {"delay": self.delay}
        if self.ahead:
            more, default = {"ahead": True}, "left" if default is UNSAID else default
        return call("sf.time", self.range, **closing(self.closed, default), **more)


def time(
    range: Given, *, closed: str = UNSAID, delay: Given | None = None, ahead: bool = False
) -> Time:
    """Select the rows in `(t - range, t]`, where t is the newest time.

    If `range` is a string or a timedelta, times must be datetimes; if it is a number, times must be
    numbers. `closed="left"` is `[t - range, t)`, without the newest row and its peers; `"both"`
    includes both ends, `"neither"` excludes both. The default is `"right"`, or `"left"` in
    `sf.rolling` with a duration as `every`.

    With `delay` the window ends at `t - delay`: what it was that long ago. With `ahead=True` it is
    `[t, t + range)`, the rows to come, unless `closed` of the window or of `sf.rolling` says
    otherwise: for labels of training data, in batch runs only.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.sum(), sf.time(10))
    >>> [w.push(t, x) for t, x in ((0, 1.0), (5, 2.0), (10, 4.0), (10, 8.0))]
    [1.0, 3.0, 6.0, 14.0]
    """
    given = closed is not UNSAID
    chosen = closed if given else "left" if ahead else "right"
    return Time(plain_length(range), chosen, plain_length(delay), ahead, settled=given)
