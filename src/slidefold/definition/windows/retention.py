"""Which rows a window of a later row may still hold.

Bounds never fall, so that no later window of a key reaches further back than that of its last row.
Time passes also for keys that have no more rows: what is too old for a time window, or a session
that is over, is not needed whatever comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.clock import Clock
from slidefold.definition.windows.sorted_rows import Frames, Ints, SortedRows, search


def needed_rows(
    rows: SortedRows,
    frames: Mapping[WindowKind, Frames],
    newest: int | None = None,
    multiple: int = 1,
) -> Ints:
    """Return the rows that matter to rows after the newest, for windows with these frames.

    `newest` is the time that has passed; none given, it is that of the newest row. What is left out
    of a group is a `multiple` of so many rows, so that those who count them go on counting.
    """
    if len(rows) == 0:
        return np.empty(0, np.int64)
    passed = int(rows.times.max()) if newest is None else newest
    oldest = rows.starts[1:]
    for window, (lo, _) in frames.items():
        oldest = np.minimum(oldest, _needed_from(window, rows, lo, passed))
    oldest = oldest - (oldest - rows.starts[:-1]) % multiple
    return np.flatnonzero(np.arange(len(rows)) >= oldest[rows.group])


def reach_back(windows: Iterable[WindowKind], clock: Clock) -> int | None:
    """Return how far before its end the longest window starts; None where only rows can tell.

    >>> import slidefold as sf
    >>> reach_back([sf.time(10), sf.time(7, closed="both")], Clock("t", "int64", None))
    9
    """
    far = 0
    for window in windows:
        reach = window.reach(clock)
        if reach is None:
            return None
        far = max(far, reach[0])
    return far


def _needed_from(window: WindowKind, rows: SortedRows, lo: Ints, newest: int) -> Ints:
    """Return the first row of each group that a later window may hold."""
    past = rows.starts[1:]
    least = lo[past - 1]
    reach, silence = window.reach(rows.clock), window.silence(rows.clock)
    if reach is not None:
        start = max(newest - reach[0], -(2**63))
        sought = np.full(len(past), start)
        own = search(rows.group, rows.times, np.arange(len(past)), sought, "left")
        return np.maximum(least, own)
    if silence is not None:
        alive = max(newest - silence, -(2**63))
        return np.where(rows.times[past - 1] >= alive, least, past)
    return least
