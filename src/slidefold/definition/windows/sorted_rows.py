"""Rows as windows see them: sorted by group, then by time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from slidefold.definition.windows.clock import Clock

Ints = npt.NDArray[np.int64]
Frames = tuple[Ints, Ints]


@dataclass(frozen=True)
class SortedRows:
    """Rows sorted by group, time and tie order: group g is rows `starts[g]:starts[g + 1]`."""

    starts: Ints
    times: Ints
    clock: Clock
    column: Callable[[str], Any]  # an Arrow array in this order
    origin: Callable[[int], int] = int  # the row number in the input, for messages

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def group(self) -> Ints:
        """The group of each row."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def codes(self) -> Codes | None:
        """The group and time of each row as one number, if there is room for both."""
        return codes_of(self.group, self.times)

    @cached_property
    def group_start(self) -> Ints:
        """The first row of each row's group."""
        return np.repeat(self.starts[:-1], np.diff(self.starts))

    @cached_property
    def opens(self) -> npt.NDArray[np.bool_]:
        """Whether each row is the first of its group."""
        first = np.zeros(len(self), np.bool_)
        first[self.starts[:-1][np.diff(self.starts) > 0]] = True
        return first

    @cached_property
    def peers_end(self) -> Ints:
        """One past the last peer of each row: peers are rows of a group with equal time."""
        fresh = self.opens.copy()
        fresh[1:] |= self.times[1:] != self.times[:-1]
        return run_ends(fresh)


@dataclass(frozen=True)
class Asked:
    """Questions about sorted rows, sorted by group and time; unknown groups come last."""

    group: Ints  # the group of each; the number of groups if it has no rows
    times: Ints
    column: Callable[[str], Any]  # an Arrow array in this order
    # The ends for a distance and a side: windows that end together share them.
    places: dict[tuple[int, str], Ints] = field(default_factory=dict)

    def until(self, rows: SortedRows, back: int = 0, *, before: bool = False) -> Ints:
        """Return one past the last row up to each question's time, `back` steps earlier.

        `before` leaves out the rows at that time.
        """
        side: Literal["left", "right"] = "left" if before else "right"
        return self._found(rows, back, side)

    def since(self, rows: SortedRows, back: int) -> Ints:
        """Return the first row from `back` steps before each question's time on."""
        return self._found(rows, back, "left")

    def search(
        self,
        rows: SortedRows,
        keys: npt.NDArray[Any],
        sought: npt.NDArray[Any],
        side: Literal["left", "right"],
    ) -> Ints:
        """Find the position of sought values among keys, which never fall in a group."""
        # Questions without a group come last, and find the end of the rows.
        found = np.full(len(self.group), len(rows), np.int64)
        known = int(np.searchsorted(self.group, len(rows.starts) - 1))
        codes = rows.codes if keys is rows.times else codes_of(rows.group, keys)
        found[:known] = _search(rows.group, keys, codes, self.group[:known], sought[:known], side)
        return found

    def starts(self, rows: SortedRows) -> Ints:
        """Return the first row of each question's group."""
        ends = np.append(rows.starts[:-1], len(rows))
        found: Ints = ends[np.minimum(self.group, len(ends) - 1)]
        return found

    def _found(self, rows: SortedRows, back: int, side: Literal["left", "right"]) -> Ints:
        if (back, side) not in self.places:
            sought = less(self.times, back)
            self.places[back, side] = self.search(rows, rows.times, sought, side)
        return self.places[back, side]


def less(times: Ints, back: int) -> Ints:
    """Return times so many steps earlier; what does not fit becomes the oldest or newest time.

    >>> less(np.array([5, -(2**63)]), 3).tolist()
    [2, -9223372036854775808]
    """
    if back >= 0:
        return np.maximum(times, -(2**63) + back) - back
    return np.minimum(times, 2**63 - 1 + back) - back


def run_starts(fresh: npt.NDArray[np.bool_]) -> Ints:
    """Return the start of each row's run; `fresh` marks the rows that start one.

    >>> run_starts(np.array([True, False, True, False])).tolist()
    [0, 0, 2, 2]
    """
    places = np.flatnonzero(fresh)
    return np.repeat(places, np.diff(np.append(places, len(fresh))))


def run_ends(fresh: npt.NDArray[np.bool_]) -> Ints:
    """Return one past the end of each row's run.

    >>> run_ends(np.array([True, False, True, False])).tolist()
    [2, 2, 4, 4]
    """
    places = np.append(np.flatnonzero(fresh), len(fresh))
    return np.repeat(places[1:], np.diff(places))


def spread(first: Ints, count: Ints) -> Ints:
    """Concatenate the ranges `first[i], first[i] + 1, ...` of `count[i]` numbers each.

    >>> spread(np.array([5, 0, 9]), np.array([2, 0, 1])).tolist()
    [5, 6, 9]
    """
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))


def search(
    groups: Ints,
    keys: npt.NDArray[Any],
    in_groups: Ints,
    sought: npt.NDArray[Any],
    side: Literal["left", "right"],
) -> Ints:
    """Find the position of each sought key among the sorted keys of its group.

    `side` is that of np.searchsorted.

    >>> group, keys = np.array([0, 0, 1]), np.array([3, 5, 4])
    >>> search(group, keys, np.array([0, 1, 1]), np.array([5, 3, 9]), "left").tolist()
    [1, 2, 3]
    """
    return _search(groups, keys, codes_of(groups, keys), in_groups, sought, side)


@dataclass(frozen=True)
class Codes:
    """Groups and keys as single numbers, with room before and after all keys of a group."""

    own: Ints
    least: int
    most: int

    @property
    def width(self) -> int:
        """How many numbers a group has."""
        return self.most - self.least + 3

    def of(self, groups: Ints, keys: Ints) -> Ints:
        """Return groups and keys as numbers; keys out of range are before or after all others."""
        keys = np.clip(keys, self.least - 1, self.most + 1)
        return groups * self.width + (keys - self.least + 1)


def codes_of(groups: Ints, keys: npt.NDArray[Any]) -> Codes | None:
    """Return a number for each group and key; None if there is no room for both."""
    if len(keys) == 0 or keys.dtype != np.int64:
        return None
    least, most = int(keys.min()), int(keys.max())
    width = most - least + 3
    if least <= -(2**62) or most >= 2**62 or width * (int(groups[-1]) + 1) >= 2**62:
        return None
    return Codes(groups * width + (keys - least + 1), least, most)


def _search(
    groups: Ints,
    keys: npt.NDArray[Any],
    codes: Codes | None,
    in_groups: Ints,
    sought: npt.NDArray[Any],
    side: Literal["left", "right"],
) -> Ints:
    if len(keys) == 0:
        return np.zeros(len(sought), np.int64)
    if codes is not None:
        positions: Ints = np.searchsorted(codes.own, codes.of(in_groups, sought), side)
        return positions
    # With ranks, one number can encode group and key for keys of any size.
    known = np.unique(keys)
    own = np.searchsorted(known, keys)
    asked = np.searchsorted(known, sought, "left")
    exists = known[np.minimum(asked, len(known) - 1)] == sought
    rank = 2 * asked - np.where(exists, 0, 1)
    width = 2 * len(known) + 2
    place = np.searchsorted(
        groups * width + 2 * own + 1,
        in_groups * width + rank + 1,
        side,
    )
    return place.astype(np.int64)
