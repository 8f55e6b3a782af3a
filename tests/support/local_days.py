"""What `every=` must give, from its documentation: ends, windows at them, and rows in those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 24 * 3600 * 10**6
Row = dict[str, Any]


@lru_cache(100_000)
def local_start(day: date, zone: ZoneInfo, offset: timedelta) -> int:
    """Return when a local day begins, in microseconds since 1970.

    The first of two, if clocks show the time twice; the end of the gap, if they never show it.
    """
    naive = datetime(day.year, day.month, day.day) + offset
    found = naive.replace(tzinfo=zone).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == naive:
        return (found - EPOCH) // timedelta(microseconds=1)
    low, high = found - timedelta(hours=12), found + timedelta(hours=12)
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(microseconds=1):
        middle = low + (high - low) / 2
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return (high - EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True)
class Ends:
    """Where windows end; lengths are in microseconds."""

    every: int
    offset: int = 0
    zone: str | None = None

    def between(self, first: int, last: int) -> list[tuple[int, Any]]:
        """Return the ends from one time to another, with what names them."""
        if self.zone is None:
            low = -((self.offset - first) // self.every)
            high = (last - self.offset) // self.every
            return [(n * self.every + self.offset, n) for n in range(low, high + 1)]
        zone, days = ZoneInfo(self.zone), self.every // DAY
        found = []
        shift = timedelta(microseconds=self.offset)
        day = (EPOCH + timedelta(microseconds=first) - shift).date() - timedelta(days=3)
        past = (EPOCH + timedelta(microseconds=last)).date() + timedelta(days=3)
        while day <= past:
            if (day - date(1970, 1, 1)).days % days == 0:
                start = local_start(day, zone, shift)
                if first <= start <= last:
                    found.append((start, day))
            day += timedelta(days=1)
        return found

    def low(self, end: int, name: Any, length: int, delay: int = 0) -> int:
        """Return where a window of a length begins that ends at an end."""
        if self.zone is None or length % DAY or delay:
            return end - delay - length
        shift = timedelta(microseconds=self.offset)
        return local_start(name - timedelta(days=length // DAY), ZoneInfo(self.zone), shift)


@dataclass(frozen=True)
class Span:
    """A window: a range of time, the last rows, or all rows."""

    length: int = 0
    closed: str = "left"
    delay: int = 0
    rows: int = 0

    @property
    def timed(self) -> bool:
        """Whether it is a range of time."""
        return self.length > 0

    def held(self, rows: Sequence[Row], ends: Ends, end: int, name: Any) -> list[Row]:
        """Return its rows at an end."""
        left, right = self.closed in ("left", "both"), self.closed in ("right", "both")
        high = end - self.delay
        past = [r for r in rows if r["t"] < high or (right and r["t"] == high)]
        if self.rows:
            return past[-self.rows :]
        if not self.timed:
            return past
        low = ends.low(end, name, self.length, self.delay)
        return [r for r in past if r["t"] > low or (left and r["t"] == low)]


def results(
    rows: Sequence[Row], ends: Ends, spans: Sequence[Span], fill: bool
) -> list[tuple[Any, int, int, list[list[int]]]]:
    """Return key, start, end and the ids in each window, of all ends that give a result.

    `rows` are in time order; those of equal time in their own order.
    """
    found = []
    longest = max(span.length for span in spans)
    largest = [i for i, span in enumerate(spans) if span.length == longest]
    # Windows with a delay do not count local days.
    delay = min(spans[i].delay for i in largest)
    reach = max(span.length + span.delay for span in spans) + 10 * DAY
    for key in dict.fromkeys(row["k"] for row in rows):
        own = [row for row in rows if row["k"] == key]
        some = []
        for end, name in ends.between(own[0]["t"] - DAY, own[-1]["t"] + reach):
            held = [span.held(own, ends, end, name) for span in spans]
            start = end - longest if delay else ends.low(end, name, longest)
            ids = [[row["id"] for row in each] for each in held]
            some.append((any(held[i] for i in largest), (key, start, end, ids)))
        there = [i for i, (full, _) in enumerate(some) if full]
        if there:
            kept = range(there[0], there[-1] + 1) if fill else there
            found += [some[i][1] for i in kept]
    return found
