"""Session windows: rows without a long gap between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.calls import call
from slidefold.definition.windows.clock import Clock, Given, Length
from slidefold.definition.windows.delta import checked_length
from slidefold.definition.windows.durations import plain_length
from slidefold.definition.windows.sorted_rows import (
    Asked,
    Frames,
    Ints,
    SortedRows,
    run_starts,
)
from slidefold.errors import WindowError


@dataclass(frozen=True, repr=False)
class Session(WindowKind):
    """The rows since the last pause that was longer than `gap`."""

    gap: Length

    orders_peers = False
    ends = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", checked_length(self.gap, "session", "gap"))

    def engine_rule(self, clock: Clock, schema: Any) -> dict[str, Any]:
        """Return the window as plain values for the engine of arrival order."""
        return {"kind": "session", "gap": self.silence(clock)}

    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's session so far, including its peers."""
        return run_starts(self._fresh(rows)), rows.peers_end

    def asked_frames(self, rows: SortedRows, asked: Asked) -> Frames:
        """Return the session at the time of each question; empty once the gap has passed."""
        hi = asked.until(rows)
        held = hi > asked.starts(rows)
        last = np.maximum(hi - 1, 0)
        if len(rows) == 0:
            return hi, hi
        passed = asked.times.view(np.uint64) - rows.times[last].view(np.uint64)
        alive = held & (passed <= np.uint64(self.silence(rows.clock)))
        return np.where(alive, run_starts(self._fresh(rows))[last], hi), hi

    def wholes(self, rows: SortedRows) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the sessions: first row, one past the last row, start and end time.

        A session ends one gap after its last row, because a row before then would extend it.
        """
        first = np.flatnonzero(self._fresh(rows))
        past = np.append(first[1:], len(rows)) if len(first) else first
        starts = rows.times[first]
        newest = rows.times[past - 1]
        gap = rows.clock.exactly(self.gap, f"the gap {self.gap!r}")
        if len(newest) and int(newest.max()) + gap >= 2**63:
            raise WindowError(
                f"the ends of sessions with the gap {self.gap!r} do not fit in 64 bits"
            )
        return first, past, starts, newest + gap

    def _fresh(self, rows: SortedRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        gap = self.silence(rows.clock)
        fresh = rows.opens.copy()
        # Times do not decrease within a group, so an unsigned 64-bit difference cannot overflow.
        passed = rows.times[1:].view(np.uint64) - rows.times[:-1].view(np.uint64)
        fresh[1:] |= passed > np.uint64(gap)
        return fresh

    def silence(self, clock: Clock) -> int:
        """Return the number of steps without a row after which a session ends."""
        gap, _ = clock.steps(self.gap, f"the gap {self.gap!r}")
        return int(gap)

    @property
    def over_spark(self) -> str:  # type: ignore[override]
        """Why Spark's OVER does not support the window."""
        return f"Spark does not support {self}"

    @property
    def unbounded(self) -> str:
        """Why the state of a stream may grow without bound."""
        return "keeps all rows of a session until it ends, and it may never end"

    def retention(self) -> str:
        """Describe the rows that the window keeps."""
        return f"the rows since the last gap of more than {self.gap}"

    def __repr__(self) -> str:
        return self.text(None)

    def text(self, default: str | None) -> str:
        """Return the window as source code."""
        return call("sf.session", self.gap)


def session(gap: Given) -> Session:
    """Select the rows of the current session so far.

    A new session starts when the time since the previous row exceeds `gap`. With `every="window"`
    there is one result per session; a session ends one gap after its last row. For `sf.rolling`.

    >>> import slidefold as sf
    >>> print(sf.session("30m"))
    sf.session('30m')
    """
    return Session(plain_length(gap))
