"""The interface of every algorithm that accepts values in any time order.

A window holds entries with distinct times; an entry is a time and a lifted value. Times are ints or
floats and may be mixed; NaN is rejected because it cannot be ordered. An operator that raises
leaves the window unchanged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Generic, Self, TypeAlias, cast

from slidefold.errors import CapacityError, TimeOrderError, ValueTypeError, WindowError
from slidefold.reference.base import Checked
from slidefold.reference.protocols import In, Operator, Out, S, empty_result, fold

Time: TypeAlias = int | float


def require_time(time: object, name: str = "the time") -> Time:
    """Return a time; raise an error if it is not an int or a float, or if it is NaN.

    >>> require_time(float("nan"))
    Traceback (most recent call last):
      ...
    slidefold.errors.TimeOrderError: the time must not be NaN
    """
    if isinstance(time, bool) or not isinstance(time, int | float):
        raise ValueTypeError(f"{name} must be an int or a float, got {time!r}")
    if time != time:
        raise TimeOrderError(f"{name} must not be NaN")
    return time


def require_arity(min_arity: int, max_arity: int | None) -> tuple[int, int]:
    """Return the bounds of a node's arity; the default upper bound is twice the lower bound."""
    if min_arity < 2:
        raise CapacityError(f"min_arity must be at least 2, got {min_arity}")
    if max_arity is None:
        return min_arity, 2 * min_arity
    if max_arity < 2 * min_arity:
        raise CapacityError(
            f"max_arity must be at least {2 * min_arity} (twice min_arity), got {max_arity}"
        )
    return min_arity, max_arity


class OutOfOrder(Checked, ABC, Generic[In, S, Out]):
    """A window of entries in time order, with inserts and evicts at any time."""

    def __init__(self, op: Operator[In, S, Out]) -> None:
        self.op = op

    @abstractmethod
    def insert(self, time: Time, value: In) -> None:
        """Add a value; combine it with the existing value if the time exists already."""

    @abstractmethod
    def evict(self, time: Time) -> bool:
        """Drop the entry at a time; tell whether there was one."""

    @abstractmethod
    def check(self) -> None:
        """Verify each numbered invariant; raise InvariantError for the first broken one."""

    @abstractmethod
    def copy(self) -> Self:
        """Return an independent copy of the window."""

    @abstractmethod
    def states_kept(self) -> int:
        """Return the number of states that the algorithm stores, lifted values included."""

    @property
    @abstractmethod
    def oldest(self) -> Time | None:
        """Return the first time, or None if the window is empty."""

    @property
    @abstractmethod
    def youngest(self) -> Time | None:
        """Return the last time, or None if the window is empty."""

    @abstractmethod
    def _entries(self) -> Iterator[tuple[Time, S]]:
        """Yield the times and their states in time order."""

    @abstractmethod
    def _whole(self) -> S:
        """Return the state of the whole, non-empty window."""

    @abstractmethod
    def _between(self, since: Time | None, until: Time | None) -> Iterator[S]:
        """Yield states, oldest first, that fold to the range; None is an open end."""

    def __len__(self) -> int:
        """Return the number of distinct times, counted one by one."""
        return sum(1 for _ in self._entries())

    def __iter__(self) -> Iterator[tuple[Time, Out]]:
        """Yield each time and its result, from a snapshot of the entries."""
        return ((time, self.op.lower(state)) for time, state in list(self._entries()))

    def query(self, since: Time | None = None, until: Time | None = None) -> Out | None:
        """Return the result of the window, or of the times from `since` to `until`, both included.

        The result of an empty range is None, or the operator's `empty()`.
        """
        if since is None and until is None:
            return self._result([self._whole()] if self.oldest is not None else [])
        first = None if since is None else require_time(since, "since")
        last = None if until is None else require_time(until, "until")
        if first is not None and last is not None and first > last:
            raise WindowError(f"since must not be after until, got {first} > {last}")
        return self._result(list(self._between(first, last)))

    def bulk_insert(self, times: Iterable[Time], values: Iterable[In]) -> None:
        """Add many values in any order; equal times combine in arrival order."""
        self._insert_run(self._run(times, values))

    def bulk_evict(self, time: Time) -> None:
        """Drop everything up to and including a time."""
        require_time(time)
        self._evict_until(time)

    @abstractmethod
    def _insert_run(self, run: list[tuple[Time, S]]) -> None:
        """Add states at distinct, ascending times."""

    @abstractmethod
    def _evict_until(self, time: Time) -> None:
        """Drop everything up to and including a time."""

    def _run(self, times: Iterable[Time], values: Iterable[In]) -> list[tuple[Time, S]]:
        """Return the states of a bulk at distinct, ascending times."""
        when, what = list(times), list(values)
        if len(when) != len(what):
            raise ValueTypeError(
                f"times and values must have the same length, got {len(when)} and {len(what)}"
            )
        for i, time in enumerate(when):
            require_time(time, f"times[{i}]")
        run: list[tuple[Time, S]] = []
        states = [self.op.lift(value) for value in what]
        for time, state in sorted(zip(when, states, strict=True), key=lambda entry: entry[0]):
            if run and run[-1][0] == time:
                run[-1] = time, self.op.combine(run[-1][1], state)
            else:
                run.append((time, state))
        return run

    def _result(self, states: list[S]) -> Out | None:
        if not states:
            return cast("Out | None", empty_result(self.op))
        return self.op.lower(fold(self.op, states))
