"""`every=` a duration: one result at each multiple of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.clock import Clock, Length
from slidefold.definition.windows.delta import Delta
from slidefold.definition.windows.grid import (
    DAY,
    Grid,
    LocalDays,
    local_days,
    whole_days,
)
from slidefold.definition.windows.punctuated import Punctuated
from slidefold.definition.windows.results import most_results, require_results
from slidefold.definition.windows.rows import Rows
from slidefold.definition.windows.session import Session
from slidefold.definition.windows.slide import Slide, Within, refuse_ahead
from slidefold.definition.windows.sorted_rows import Frames, Ints, SortedRows, search, spread
from slidefold.definition.windows.time import Time
from slidefold.errors import DataError, WindowError


@dataclass(frozen=True)
class EveryTime:
    """One result at each multiple of `every` since 1970 UTC, or since 0, plus `offset`.

    With a `zone`, results are at the start of local days. With `fill`, the ends between the first
    and the last one of a key are there even if their windows are empty.
    """

    every: Length
    offset: Length | None = None
    zone: str | None = None
    fill: bool = False

    in_time, whole, counted = True, False, 0
    default_closed = "left"  # as in Spark and Flink: a row at the end is in the next window

    def check(self, windows: Sequence[WindowKind]) -> None:
        """Accept time windows, and rows and lifetime windows next to at least one of them."""
        refuse_ahead(windows)
        for window in windows:
            if isinstance(window, Session | Punctuated):
                raise WindowError(
                    f"{window} has no fixed length, got every={self.every!r}: use every='window'"
                )
            if isinstance(window, Delta):
                raise WindowError(
                    f"{window} is not a range of time, got every={self.every!r}: use an integer "
                    "every"
                )
        if not any(isinstance(window, Time) for window in windows):
            raise WindowError(
                f"every={self.every!r} needs at least one time window, got none: add one, or use "
                "an integer every"
            )

    def slide(
        self, rows: SortedRows, windows: Sequence[WindowKind], within: Within | None = None
    ) -> Slide:
        """Find the ends whose largest window is not empty, and the windows at those ends.

        If several windows are the largest and differ in `closed` or `delay`, one of them must not
        be empty.
        """
        grid = self.ends(rows.clock)
        largest = _largest(windows, rows.clock)
        days = self._days(windows)

        def frames_of(window: Time, group: Ints, number: Ints) -> Frames:
            oldest, newest = window.reach(rows.clock)
            low = grid.low(number, oldest, days.get(window, 0))
            if days.get(window, 0):
                low = low + int(window.closed not in ("left", "both"))
            lo = search(rows.group, rows.times, group, low, "left")
            hi = search(rows.group, rows.times, group, grid.times(number) - newest, "right")
            return np.minimum(lo, hi), hi

        group, number = self._numbers(rows, grid, windows, within)
        if len({window.reach(rows.clock) for window in largest.windows}) > 1 or days:
            # These are the ends around their rows, and between those of two windows may be others.
            held = np.zeros(len(group), np.bool_)
            for widest in largest.windows:
                lo, hi = frames_of(widest, group, number)
                held |= lo < hi
            group, number = group[held], number[held]
        if self.fill and len(group):
            opens = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
            first, last = number[opens], number[np.append(opens[1:], len(group)) - 1]
            count = last - first + 1
            ends = int(count.sum(dtype=np.float64))  # it does not overflow
            require_results(ends, f"every={self.every!r}", len(rows), len(windows))
            group, number = np.repeat(group[opens], count), spread(first, count)
        end = grid.times(number)
        frames: dict[WindowKind, Frames] = {}
        for window in windows:
            if isinstance(window, Time):
                frames[window] = frames_of(window, group, number)
            elif isinstance(window, Rows):
                newest = int(window.closed != "right")
                hi = search(rows.group, rows.times, group, end - newest, "right")
                frames[window] = np.maximum(hi - window.n, rows.starts[group]), hi
            else:  # all rows so far
                newest = int(window.closed != "right")
                hi = search(rows.group, rows.times, group, end - newest, "right")
                frames[window] = rows.starts[group], hi
        start = grid.low(number, largest.length, largest.days(days))
        return Slide(group, start, end, frames)

    def ends(self, clock: Clock) -> Grid | LocalDays:
        """Return where windows end."""
        if self.zone is not None:
            self.grid(clock)  # raises if every or offset does not fit the times
            return local_days(self.zone, clock, self.every, self.offset)
        return Grid(*self.grid(clock))

    def _days(self, windows: Sequence[WindowKind]) -> dict[WindowKind, int]:
        """Return the windows that count local days, and how many."""
        if self.zone is None:
            return {}
        times = [window for window in windows if isinstance(window, Time) and not window.delay]
        return {window: days for window in times if (days := whole_days(window.range))}

    def engine_rule(self, windows: Sequence[WindowKind], clock: Clock) -> dict[str, Any]:
        """Return the slide as plain values for the engine of arrival order."""
        largest, days = _largest(windows, clock), self._days(windows)
        far, near = largest.reach
        grid = self.ends(clock)
        step, shift = self.grid(clock)
        rule = {
            "slide": "time",
            "step": step,
            "shift": shift,
            "largest": largest.length,
            "far": far,
            "near": near,
            "reaches": [
                (
                    *window.reach(clock),
                    days.get(window, 0),
                    int(window.closed in ("right", "neither")),
                )
                for window in largest.windows
            ],
            "fill": self.fill,
            "every": f"every={self.every!r}",
            "most": float(most_results(len(windows))),
            "days": None,
            "every_days": 1,
            "first_day": 0,
            "largest_days": 0,
        }
        if isinstance(grid, LocalDays):
            longest = largest.days(days)
            rule |= {
                "days": grid.starts.tolist(),
                "every_days": grid.every,
                "first_day": grid.first,
                "largest_days": longest,
                "far": far + self._slack(clock) if longest else far,
            }
        return rule

    def window_rule(self, window: WindowKind, rule: dict[str, Any], clock: Clock) -> dict[str, Any]:
        """Return the rule of a window for the engine, if it counts local days."""
        days = self._days([window]).get(window, 0)
        if not days:
            return rule
        # Rows are needed as long as the longest such days may be.
        oldest = rule["oldest"] + self._slack(clock)
        return {
            **rule,
            "days": days,
            "oldest": oldest,
            "open": window.closed in ("right", "neither"),
        }

    @staticmethod
    def _slack(clock: Clock) -> int:
        """Return how much longer than 24 hours local days may be together: a day is plenty."""
        assert clock.unit is not None
        return DAY // clock.unit

    def next_end(self, watermark: int, clock: Clock) -> int:
        """Return the first end after a watermark.

        >>> EveryTime("1m").next_end(120, Clock("ts", "timestamp[s]", 10**9))
        180
        """
        grid = self.ends(clock)
        if isinstance(grid, Grid):
            return (grid.until(watermark) + 1) * grid.step + grid.shift
        return int(grid.ends[min(grid.until(watermark) + 1, len(grid.ends) - 1)])

    def grid(self, clock: Clock) -> tuple[int, int]:
        """Return the step from one end to the next, and the shift of all ends."""
        step = clock.exactly(self.every, f"every={self.every!r}")
        if self.offset is None:
            return step, 0
        return step, clock.exactly(self.offset, f"offset={self.offset!r}") % step

    def _numbers(
        self,
        rows: SortedRows,
        grid: Grid | LocalDays,
        windows: Sequence[WindowKind],
        within: Within | None,
    ) -> tuple[Ints, Ints]:
        """Return the ends whose largest window may hold a row, each with its group.

        It does if there is one largest window, and its length is not in local days.
        """
        step, shift = self.grid(rows.clock)
        largest = _largest(windows, rows.clock)
        far, near = largest.reach
        reaches = [window.reach(rows.clock) for window in windows]
        furthest = max(reach[0] for reach in reaches if reach is not None)
        reach = max(far, furthest, 0) + step + shift
        times = rows.times
        if len(times) and not -(2**63) + reach <= int(times.min()) <= times.max() < 2**63 - reach:
            raise DataError(f"window bounds over {rows.clock.column!r} do not fit in 64 bits")
        # A row at t is in the windows that end from t + near to the last that starts before it.
        first = grid.from_time(times + near)
        if isinstance(grid, LocalDays):
            last = self._last_local(grid, rows, far, largest.days(self._days(windows)))
        else:
            last = grid.until_time(times + far)
        before = np.empty_like(last)
        before[1:] = last[:-1]
        before[rows.opens] = first[rows.opens] - 1
        first = np.maximum(first, before + 1)
        if within is not None:
            first = np.maximum(first, grid.until(within[0]) + 1)
            last = np.minimum(last, grid.until(within[1]))
        count = np.maximum(last - first + 1, 0)
        # A float sum does not overflow, and it is exact up to 2**53.
        results = int(count.sum(dtype=np.float64))
        require_results(results, f"every={self.every!r}", len(rows), len(windows))
        return np.repeat(rows.group, count), spread(first, count)

    def _last_local(self, grid: LocalDays, rows: SortedRows, far: int, days: int) -> Ints:
        """Return the last end whose largest window holds each row."""
        times, ends = rows.times, grid.ends
        if len(times) and not ends[0] < times.min() <= times.max() < ends[-1] - far:
            raise DataError(
                f"zone= knows the days of the years 1900 to 2199, and {rows.clock.column!r} has "
                "other times"
            )
        last = grid.until_time(times + far)
        if not days:
            return last
        low = grid.low(np.arange(len(ends)), 0, days)
        found: Ints = np.maximum(last, np.searchsorted(low, times, "right") - 1)
        return found


@dataclass(frozen=True)
class _Largest:
    """The windows with the longest range: their length, and the rows that they hold at t."""

    length: int
    windows: tuple[Time, ...]
    reach: tuple[int, int]  # all rows of all of them: `t - far` to `t - near`

    def days(self, days: dict[WindowKind, int]) -> int:
        """Return how many local days one of them counts; 0 if none does."""
        return max(days.get(window, 0) for window in self.windows)


def _largest(windows: Sequence[WindowKind], clock: Clock) -> _Largest:
    """Return the windows with the longest range."""
    spans = {
        window: clock.exactly(window.range, f"the range {window.range!r}")
        for window in windows
        if isinstance(window, Time)
    }
    longest = max(spans.values())
    chosen = tuple(window for window, span in spans.items() if span == longest)
    reaches = [window.reach(clock) for window in chosen]
    kept = [reach for reach in reaches if reach[0] >= reach[1]] or [(-1, 0)]
    reach = max(far for far, _ in kept), min(near for _, near in kept)
    return _Largest(longest, chosen, reach)
