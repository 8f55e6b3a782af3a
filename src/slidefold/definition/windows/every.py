"""`every=`: one result per slide instead of one per input row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral
from typing import Any

import numpy as np

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.clock import Clock, Length
from slidefold.definition.windows.delta import checked_length
from slidefold.definition.windows.durations import nanoseconds, plain_length
from slidefold.definition.windows.every_time import EveryTime
from slidefold.definition.windows.grid import (
    zone_of,
)
from slidefold.definition.windows.punctuated import Punctuated
from slidefold.definition.windows.rows import Rows
from slidefold.definition.windows.session import Session
from slidefold.definition.windows.slide import Every, Slide, Within, refuse_ahead
from slidefold.definition.windows.sorted_rows import Frames, SortedRows
from slidefold.definition.windows.time import Time
from slidefold.errors import WindowError


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
        refuse_ahead(windows)

    def window_rule(self, window: WindowKind, rule: dict[str, Any], clock: Clock) -> dict[str, Any]:
        """Return the rule of a window as it is."""
        return rule

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
            elif len(rows) and not window.forever:
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
        refuse_ahead(windows)
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

    def window_rule(self, window: WindowKind, rule: dict[str, Any], clock: Clock) -> dict[str, Any]:
        """Return the rule of a window as it is."""
        return rule

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


def every_of(
    every: object, offset: object = None, zone: object = None, fill: object = False
) -> Every | None:
    """Return the slide for `every=` and what goes with it; None for one result per row.

    >>> every_of("1h")
    EveryTime(every='1h', offset=None, zone=None, fill=False)
    >>> every_of(10)
    EveryRows(n=10)
    """
    every = plain_length(every)
    if isinstance(every, (str, timedelta)) and every != "window":
        every = Time(every)
    if not isinstance(fill, bool):
        raise WindowError(f"fill must be True or False, got {fill!r}")
    if isinstance(every, Time):
        zone = zone_of(zone, every.range)
        return EveryTime(every.range, _offset_of(offset), zone, fill)
    for name, given in (("offset", offset), ("zone", zone), ("fill", fill or None)):
        if given is not None:
            raise WindowError(
                f"{name} needs a duration as every, such as every='1d', got every={every!r}"
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
