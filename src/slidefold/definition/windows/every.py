"""`every=`: one result per slide instead of one per input row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.clock import Clock, Length
from slidefold.definition.windows.delta import Delta, checked_length
from slidefold.definition.windows.durations import nanoseconds, plain_length
from slidefold.definition.windows.punctuated import Punctuated
from slidefold.definition.windows.results import most_results, require_results
from slidefold.definition.windows.rows import Rows
from slidefold.definition.windows.session import Session
from slidefold.definition.windows.sorted_rows import Frames, Ints, SortedRows, search, spread
from slidefold.definition.windows.time import Time
from slidefold.errors import DataError, WindowError

# Window ends after the first time, up to and including the second: a move of the watermark.
Within = tuple[int, int]


@dataclass(frozen=True)
class Slide:
    """The results of a slide: the group, window start, window end and frames of each."""

    group: Ints
    start: Ints
    end: Ints
    frames: dict[WindowKind, Frames]
    started: npt.NDArray[np.bool_] | None = None  # False if no window holds a row


class Every(Protocol):
    """When results are computed; engines use this interface and never check the class."""

    @property
    def in_time(self) -> bool:
        """Whether there is one result at each multiple of a duration."""

    @property
    def whole(self) -> bool:
        """Whether there is one result per closed window."""

    @property
    def counted(self) -> int:
        """The n of "one result per n rows of a key"; 0 for other slides."""

    @property
    def default_closed(self) -> str:
        """The value of `closed` for windows that do not set it."""

    def check(self, windows: Sequence[WindowKind]) -> None:
        """Raise if this slide does not support one of the windows."""

    def slide(
        self, rows: SortedRows, windows: Sequence[WindowKind], within: Within | None = None
    ) -> Slide:
        """Find the results over these rows; with `within`, only those that end in it.

        A result is complete when all rows up to its end have arrived, for any `closed`.
        """

    def engine_rule(self, windows: Sequence[WindowKind], clock: Clock) -> dict[str, Any]:
        """Return the slide as plain values for the engine of arrival order."""


@dataclass(frozen=True)
class EveryTime:
    """One result at each multiple of `every` since 1970 UTC, or since 0, plus `offset`."""

    every: Length
    offset: Length | None = None

    in_time, whole, counted = True, False, 0
    default_closed = "left"  # as in Spark and Flink: a row at the end is in the next window

    def check(self, windows: Sequence[WindowKind]) -> None:
        """Accept time windows, and rows windows next to at least one of them."""
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
                f"every={self.every!r} needs at least one time window, got only rows windows: add "
                "one, or use an integer every"
            )

    def slide(
        self, rows: SortedRows, windows: Sequence[WindowKind], within: Within | None = None
    ) -> Slide:
        """Find the ends whose largest window is not empty, and the windows at those ends.

        If several windows are the largest and differ in `closed`, one of them must not be empty.
        """
        largest, (far, near) = _largest(windows, rows.clock)
        group, end = self._ends(rows, far, near, within, len(windows))
        frames: dict[WindowKind, Frames] = {}
        for window in windows:
            if isinstance(window, Time):
                oldest, newest = window.reach(rows.clock)
                lo = search(rows.group, rows.times, group, end - oldest, "left")
                hi = search(rows.group, rows.times, group, end - newest, "right")
                frames[window] = np.minimum(lo, hi), hi
            elif isinstance(window, Rows):
                newest = int(window.closed != "right")
                hi = search(rows.group, rows.times, group, end - newest, "right")
                frames[window] = np.maximum(hi - window.n, rows.starts[group]), hi
        return Slide(group, end - largest, end, frames)

    def engine_rule(self, windows: Sequence[WindowKind], clock: Clock) -> dict[str, Any]:
        """Return the slide as plain values for the engine of arrival order."""
        largest, (far, near) = _largest(windows, clock)
        step, shift = self.grid(clock)
        return {
            "slide": "time",
            "step": step,
            "shift": shift,
            "largest": largest,
            "far": far,
            "near": near,
            "every": f"every={self.every!r}",
            "most": float(most_results(len(windows))),
        }

    def covers(self, windows: Sequence[WindowKind], clock: Clock) -> bool:
        """Tell whether the largest window holds all rows of the others at the same end."""
        _, (far, near) = _largest(windows, clock)
        reaches = [window.reach(clock) for window in windows if isinstance(window, Time)]
        return all(far >= oldest and near <= newest for oldest, newest in reaches)

    def next_end(self, watermark: int, clock: Clock) -> int:
        """Return the first end after a watermark.

        >>> EveryTime("1m").next_end(120, Clock("ts", "timestamp[s]", 10**9))
        180
        """
        step, shift = self.grid(clock)
        return ((watermark - shift) // step + 1) * step + shift

    def grid(self, clock: Clock) -> tuple[int, int]:
        """Return the step from one end to the next, and the shift of all ends."""
        step = clock.exactly(self.every, f"every={self.every!r}")
        if self.offset is None:
            return step, 0
        return step, clock.exactly(self.offset, f"offset={self.offset!r}") % step

    def _ends(
        self, rows: SortedRows, far: int, near: int, within: Within | None, windows: int
    ) -> tuple[Ints, Ints]:
        step, shift = self.grid(rows.clock)
        reach = max(far, 0) + step + shift
        times = rows.times
        if len(times) and not -(2**63) + reach <= int(times.min()) <= times.max() < 2**63 - reach:
            raise DataError(f"window bounds over {rows.clock.column!r} do not fit in 64 bits")
        # A row at t is in the windows that end from t + near to t + far: multiples first to last.
        first = -((shift - times - near) // step)
        last = (times + far - shift) // step
        before = np.empty_like(last)
        before[1:] = last[:-1]
        before[rows.opens] = first[rows.opens] - 1
        first = np.maximum(first, before + 1)
        if within is not None:
            first = np.maximum(first, (within[0] - shift) // step + 1)
            last = np.minimum(last, (within[1] - shift) // step)
        count = np.maximum(last - first + 1, 0)
        # A float sum does not overflow, and it is exact up to 2**53.
        results = int(count.sum(dtype=np.float64))
        require_results(results, f"every={self.every!r}", len(rows), windows)
        return np.repeat(rows.group, count), spread(first, count) * step + shift


def _largest(windows: Sequence[WindowKind], clock: Clock) -> tuple[int, tuple[int, int]]:
    """Return the longest range, and the rows of its windows at t: `t - far` to `t - near`."""
    spans = {
        window: clock.exactly(window.range, f"the range {window.range!r}")
        for window in windows
        if isinstance(window, Time)
    }
    longest = max(spans.values())
    reaches = [window.reach(clock) for window in spans if spans[window] == longest]
    kept = [reach for reach in reaches if reach[0] >= reach[1]] or [(-1, 0)]
    return longest, (max(far for far, _ in kept), min(near for _, near in kept))


@dataclass(frozen=True)
class EveryRows:
    """One result per n rows of a key."""

    n: int

    in_time = whole = False
    default_closed = "right"  # as for one result per row

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or self.n < 1:
            raise WindowError(f"every must be an integer >= 1, got {self.n!r}")
        if self.n >= 2**62:
            raise WindowError("every must be an integer < 2**62, got a larger one")

    @property
    def counted(self) -> int:
        """The number of rows."""
        return self.n

    def check(self, windows: Sequence[WindowKind]) -> None:
        """Accept any window: every kind has a frame for each row."""

    def engine_rule(self, windows: Sequence[WindowKind], clock: Clock) -> dict[str, Any]:
        """Return the slide as plain values for the engine of arrival order."""
        spans = [
            int(clock.steps(window.range, f"the range {window.range!r}")[0])
            if isinstance(window, Time)
            else None
            for window in windows
        ]
        return {"slide": "rows", "n": self.n, "spans": spans}

    def slide(
        self, rows: SortedRows, windows: Sequence[WindowKind], within: Within | None = None
    ) -> Slide:
        """Find every n-th row, and its windows."""
        place = np.arange(len(rows)) - rows.group_start
        is_end = place % self.n == self.n - 1
        if within is not None:
            is_end &= (rows.times > within[0]) & (rows.times <= within[1])
        chosen = np.flatnonzero(is_end)
        frames: dict[WindowKind, Frames] = {}
        end = rows.times[chosen]
        start, started = end.copy(), np.zeros(len(chosen), np.bool_)
        for window in windows:
            lo, hi = (bound[chosen] for bound in window.frames(rows))
            frames[window] = lo, hi
            if isinstance(window, Time):
                span, _ = rows.clock.steps(window.range, f"the range {window.range!r}")
                start = np.minimum(start, end - int(span))
                started[:] = True
            elif len(rows):
                held = hi > lo
                oldest = rows.times[np.minimum(lo, len(rows) - 1)]
                start = np.where(held, np.minimum(start, oldest), start)
                started |= held
        return Slide(rows.group[chosen], start, end, frames, started)


@dataclass(frozen=True)
class EveryWindow:
    """One result per session or punctuated window, when it is closed."""

    in_time, whole, counted = False, True, 0
    default_closed = "right"  # these windows include the current row

    def check(self, windows: Sequence[WindowKind]) -> None:
        """Accept one session or punctuated window."""
        for window in windows:
            if not isinstance(window, Session | Punctuated):
                raise WindowError(
                    f"every='window' needs a session or punctuated window, got {window}"
                )
        if len(set(windows)) > 1:
            raise WindowError(
                "every='window' needs the same window for all columns, got "
                + " and ".join(str(window) for window in dict.fromkeys(windows))
            )

    def engine_rule(self, windows: Sequence[WindowKind], clock: Clock) -> dict[str, Any]:
        """Return the slide as plain values for the engine of arrival order."""
        for window in windows:
            if isinstance(window, Session):  # its ends are whole steps
                clock.exactly(window.gap, f"the gap {window.gap!r}")
        return {"slide": "window"}

    def slide(
        self, rows: SortedRows, windows: Sequence[WindowKind], within: Within | None = None
    ) -> Slide:
        """Find the windows that were closed."""
        window = windows[0]
        assert isinstance(window, Session | Punctuated)
        first, past, start, end = window.wholes(rows)
        if within is not None:
            inside = (end > within[0]) & (end <= within[1])
            first, past, start, end = first[inside], past[inside], start[inside], end[inside]
        return Slide(rows.group[first], start, end, {window: (first, past)})


def every_of(every: object, offset: object = None) -> Every | None:
    """Return the slide for `every=` and `offset=`; None for one result per row.

    >>> every_of("1h")
    EveryTime(every='1h', offset=None)
    >>> every_of(10)
    EveryRows(n=10)
    """
    every = plain_length(every)
    if isinstance(every, (str, timedelta)) and every != "window":
        every = Time(every)
    if isinstance(every, Time):
        return EveryTime(every.range, _offset_of(offset))
    if offset is not None:
        raise WindowError(
            f"offset needs a duration as every, such as every='1h', got every={every!r}"
        )
    if every is None:
        return None
    if isinstance(every, str):
        return EveryWindow()
    if isinstance(every, Rows):
        return EveryRows(every.n)
    if isinstance(every, Integral):
        return EveryRows(int(every) if not isinstance(every, bool) else every)
    raise WindowError(
        f"every must be a duration, a number of rows, 'window' or sf.time(...), got {every!r}"
    )


def _offset_of(given: Any) -> Length | None:
    """Check an offset; return None for an offset of zero."""
    offset = given.range if isinstance(given, Time) else plain_length(given)
    if isinstance(offset, str):
        nothing = nanoseconds(offset, zero=True) == 0
    else:
        nothing = isinstance(offset, int | float | timedelta) and not offset
    if offset is None or (nothing and offset is not False):
        return None
    return checked_length(offset, "every", "offset")
