"""Where `every=` ends windows: at multiples of a duration, or at the start of local days."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from slidefold.definition.windows.clock import Clock, Length
from slidefold.definition.windows.durations import nanoseconds
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import DefinitionError, ValueTypeError, WindowError

DAY = 24 * 3600 * 10**9
# Local days are known for these years.
_YEARS = (1900, 2200)


@dataclass(frozen=True)
class Grid:
    """Ends at the multiples of a step, plus a shift; an end is named by its multiple."""

    step: int
    shift: int

    def from_time(self, times: Ints) -> Ints:
        """Return the first end that is not before each time."""
        found: Ints = -((self.shift - times) // self.step)
        return found

    def until_time(self, times: Ints) -> Ints:
        """Return the last end that is not after each time."""
        found: Ints = (times - self.shift) // self.step
        return found

    def until(self, time: int) -> int:
        """Return the last end that is not after a time, which may be the oldest of all."""
        return (time - self.shift) // self.step

    def times(self, ends: Ints) -> Ints:
        """Return the times of ends."""
        return ends * self.step + self.shift

    def low(self, ends: Ints, oldest: int, days: int) -> Ints:
        """Return the first time that a window holds at each end."""
        return self.times(ends) - oldest


@dataclass(frozen=True)
class LocalDays:
    """Ends at the start of every n-th local day; an end is named by its place among them."""

    starts: Ints  # of all days
    every: int

    @property
    def first(self) -> int:
        """The first day whose number since 1970 is a multiple."""
        before = int(
            (np.datetime64(f"{_YEARS[0]}-01-01") - np.datetime64("1970-01-01")).astype(int)
        )
        return -before % self.every

    @property
    def ends(self) -> Ints:
        """The times of all ends."""
        return self.starts[self.first :: self.every]

    def from_time(self, times: Ints) -> Ints:
        """Return the first end that is not before each time."""
        return np.searchsorted(self.ends, times, "left")

    def until_time(self, times: Ints) -> Ints:
        """Return the last end that is not after each time."""
        return np.searchsorted(self.ends, times, "right") - 1

    def until(self, time: int) -> int:
        """Return the last end that is not after a time."""
        return int(np.searchsorted(self.ends, time, "right")) - 1

    def times(self, ends: Ints) -> Ints:
        """Return the times of ends."""
        found: Ints = self.ends[ends]
        return found

    def low(self, ends: Ints, oldest: int, days: int) -> Ints:
        """Return the first time that a window holds at each end; `days` if it counts days."""
        if not days:
            return self.times(ends) - oldest
        day = np.maximum(self.first + ends * self.every - days, 0)
        found: Ints = self.starts[day]
        return found


def local_days(zone: str, clock: Clock, every: Length, offset: Length | None) -> LocalDays:
    """Return the local days of a zone in steps of a clock."""
    if clock.unit is None or clock.unit > 10**9:
        raise ValueTypeError(
            f"zone= needs timestamps, and {clock.column!r} is {clock.kind}: leave zone= out"
        )
    shift = 0 if offset is None else nanoseconds(offset)  # type: ignore[arg-type]
    return LocalDays(_starts(zone, clock.unit, shift), whole_days(every))


def whole_days(length: Length) -> int:
    """Return a length in days; 0 if it is not a whole number of days."""
    if isinstance(length, int | float):
        return 0
    days, rest = divmod(nanoseconds(length), DAY)
    return 0 if rest else days


@cache
def _starts(zone: str, unit: int, shift: int) -> Ints:
    import pyarrow.compute as pc  # it takes long to import, and few definitions have a zone

    first, last = (np.datetime64(f"{year}-01-01", "D") for year in _YEARS)
    days = np.arange(first, last).astype("datetime64[us]") + np.timedelta64(shift // 1000, "us")
    # A day that begins inside a gap begins behind it; one that begins twice, the first time.
    local = pc.assume_timezone(
        pa.array(days), zone, ambiguous="earliest", nonexistent="latest"
    ).cast(pa.int64())
    starts: Ints = local.to_numpy()
    if unit < 1000:
        return starts * (1000 // unit)
    return starts // (unit // 1000)


def zone_of(zone: Any, every: Any) -> str | None:
    """Check a zone; it needs `every` in whole days."""
    if zone is None:
        return None
    try:
        ZoneInfo(zone)
    except (TypeError, ValueError, OSError, KeyError):
        raise DefinitionError(
            f"zone must be the name of a time zone such as 'Europe/Berlin', got {zone!r}"
        ) from None
    if not isinstance(every, str) and not hasattr(every, "days"):
        raise WindowError(f"zone= needs every in whole days, such as every='1d', got {every!r}")
    if every == "window" or not whole_days(every):
        raise WindowError(f"zone= needs every in whole days, such as every='1d', got {every!r}")
    return str(zone)
