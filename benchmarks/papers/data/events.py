"""Events as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.workloads import Array


class DataError(ValueError):
    """A file is not what its name says."""


@dataclass(frozen=True, eq=False)
class Events:
    """Events in order of arrival: times in microseconds, values, keys, and where they are from."""

    times: Array
    values: Array
    keys: Array
    source: str

    def __len__(self) -> int:
        return len(self.times)

    @property
    def seconds(self) -> float:
        """Return the time between the oldest and the youngest event."""
        return float(self.times.max() - self.times.min()) / 1e6

    def in_order(self) -> Events:
        """Return the events without those that are older than one before them."""
        kept = self.times >= np.maximum.accumulate(self.times)
        return replace(self, times=self.times[kept], values=self.values[kept], keys=self.keys[kept])

    def distances(self) -> Array:
        """Return how many events that came before each event are younger than it."""
        order = np.argsort(self.times, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return _inversions(place)


def _inversions(place: Array) -> Array:
    """Return for each element how many before it are larger, by merging sorted halves.

    >>> _inversions(np.array([2, 0, 1, 3])).tolist()
    [0, 1, 1, 0]
    """
    count = np.zeros(len(place), np.int64)
    index = np.arange(len(place))
    width = 1
    # Blocks of `width` are sorted; an element of a right block is passed by what is larger in the
    # left one.
    while width < len(place):
        for start in range(0, len(place), 2 * width):
            left = index[start : start + width]
            right = index[start + width : start + 2 * width]
            if not len(right) or place[left[-1]] < place[right[0]]:
                continue
            passed = len(left) - np.searchsorted(place[left], place[right])
            count[right] += passed
            both = index[start : start + 2 * width]
            both[:] = both[np.argsort(place[both], kind="stable")]
        width *= 2
    return count
