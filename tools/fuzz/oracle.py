"""The oracle: a sorted list of times and a dict of states, folded again for every query."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any

from tools.fuzz.operators import Kind

Time = int | float


class Oracle:
    """A window that is simple enough to be right; `times` stays the same list object."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.times: list[Time] = []
        self.states: dict[Time, Any] = {}

    def insert(self, time: Time, value: Any) -> None:
        """Add a value; equal times combine in order of arrival."""
        if time in self.states:
            self.states[time] = self.kind.combine(self.states[time], value)
        else:
            insort(self.times, time)
            self.states[time] = value

    def evict(self, time: Time) -> bool:
        """Remove the entry at a time; tell whether there was one."""
        if time not in self.states:
            return False
        del self.states[time], self.times[bisect_left(self.times, time)]
        return True

    def bulk_insert(self, times: list[Time], values: list[Any]) -> None:
        """Add values: combine those of equal times first, then with the existing entry."""
        together: dict[Time, Any] = {}
        for time, value in zip(times, values, strict=True):
            known = time in together
            together[time] = self.kind.combine(together[time], value) if known else value
        for time, state in together.items():
            self.insert(time, state)

    def bulk_evict(self, until: Time) -> None:
        """Remove all entries up to and including a time."""
        count = bisect_right(self.times, until)
        for time in self.times[:count]:
            del self.states[time]
        del self.times[:count]

    def query(self, since: Time | None = None, until: Time | None = None) -> Any:
        """Return the fold of the window or of a range; None if it is empty."""
        start = 0 if since is None else bisect_left(self.times, since)
        end = len(self.times) if until is None else bisect_right(self.times, until)
        if start >= end:
            return None
        return self.kind.fold(map(self.states.__getitem__, self.times[start:end]))

    def items(self) -> list[tuple[Time, Any]]:
        """Return times and results in time order."""
        return [(time, self.states[time]) for time in self.times]
