"""Which rows the windows of later rows may still need.

Window bounds never decrease, so no later window of a key starts before the window of its last row.
Time also passes for keys without new rows: rows older than a time window, and the rows of a session
that has ended, are never needed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.clock import Clock
from slidefold.definition.windows.sorted_rows import Frames, Ints, SortedRows, search


def needed_rows(rows: SortedRows, frames: Mapping[WindowKind, Frames]) -> Ints:
    """Return the rows that windows of rows after the newest may need, given current frames."""
    if len(rows) == 0:
        return np.empty(0, np.int64)
    newest = int(rows.times.max())
    oldest = rows.starts[1:]
    for window, (lo, _) in frames.items():
        oldest = np.minimum(oldest, _needed_from(window, rows, lo, newest))
    return np.flatnonzero(np.arange(len(rows)) >= oldest[rows.group])


def reach_back(windows: Iterable[WindowKind], clock: Clock) -> int | None:
    """Return how far before its end the longest window starts; None if that depends on the rows.

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
    """Return the first row of each group that a later window may need."""
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
