"""The interface of every in-order algorithm: insert, evict, query, len, check, copy, slide.

An operator that raises leaves the window unchanged: every algorithm computes first and writes
afterwards.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Generic, Self, cast

from slidefold.errors import EmptyWindowError, InvariantError, WindowError
from slidefold.reference.agreement import agree, tolerance
from slidefold.reference.protocols import In, Operator, Out, S, empty_result
from slidefold.reference.storage import ChunkedQueue


class Checked:
    """Base class of structures whose numbered invariants `check()` verifies."""

    def _hold(self, number: int, holds: bool, sentence: str) -> None:
        """Raise InvariantError with the number of the invariant unless it holds."""
        if not holds:
            raise InvariantError(f"{type(self).__name__} breaks I{number}: {sentence}")

    def _hold_states(
        self,
        number: int,
        stored: Sequence[Any],
        expected: Sequence[Any],
        slack: float,
        sentence: str,
    ) -> None:
        """Raise InvariantError unless all stored states equal the expected ones."""
        self._hold(number, len(stored) == len(expected), sentence)
        for left, right in zip(stored, expected, strict=True):
            self._hold(number, agree(left, right, slack), f"{sentence} ({left!r} is not {right!r})")


class Aggregator(Checked, ABC, Generic[In, S, Out]):
    """A window of values, oldest first, that can be aggregated at any time.

    The shadow is a plain copy of the window's lifted values. Only `check()` reads it. It is not
    part of the algorithm, and `states_kept()` does not count it.
    """

    def __init__(self, op: Operator[In, S, Out]) -> None:
        self.op = op
        self._shadow: deque[S] = deque()

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of values in the window."""

    @abstractmethod
    def insert(self, value: In) -> int | None:
        """Add a value at the young end."""

    @abstractmethod
    def evict(self) -> None:
        """Drop the oldest value."""

    @abstractmethod
    def check(self) -> None:
        """Verify each numbered invariant; raise InvariantError for the first broken one."""

    @abstractmethod
    def states_kept(self) -> int:
        """Return the number of partial aggregates that the algorithm stores."""

    @abstractmethod
    def _aggregate(self) -> S:
        """Return the state of the whole, non-empty window."""

    def query(self) -> Out | None:
        """Return the result of the window; if it is empty, None or the operator's `empty()`."""
        if not len(self):
            return cast("Out | None", empty_result(self.op))
        return self.op.lower(self._aggregate())

    def copy(self) -> Self:
        """Return an independent copy of the window; states never change, so both share them."""
        twin = copy.copy(self)
        for name, part in vars(self).items():
            if isinstance(part, list | dict | set | deque | ChunkedQueue):
                setattr(twin, name, copy.copy(part))
        return twin

    def slide(self, values: Iterable[In], window: int, *, drain: bool = False) -> list[Out | None]:
        """Run a new window of `window` rows over the values and return the result after each.

        The first results cover a window that is not yet full. With `drain` the window is filled,
        emptied completely, and filled again.

        >>> from slidefold.reference import Recalc
        >>> from slidefold.reference.operators import Concat
        >>> Recalc(Concat()).slide("abcde", 3)
        ['a', 'ab', 'abc', 'bcd', 'cde']
        >>> Recalc(Concat()).slide("abcde", 3, drain=True)
        ['a', 'ab', 'abc', 'd', 'de']
        """
        if window < 1:
            raise WindowError(f"window must be at least 1, got {window}")
        moving = self._fresh()
        results: list[Out | None] = []
        for value in values:
            if len(moving) == window:
                for _ in range(window if drain else 1):
                    moving.evict()
            moving.insert(value)
            results.append(moving.query())
        return results

    def _fresh(self) -> Aggregator[In, S, Out]:
        """Return an empty window of the same kind."""
        return type(self)(self.op)

    def _refuse_empty(self) -> None:
        if not len(self):
            raise EmptyWindowError("cannot evict from an empty window")

    def _slack(self) -> float:
        """Return the rounding error that `check()` tolerates in this window's states."""
        return tolerance(self.op, self._shadow)

    def _hold_length(self, number: int) -> None:
        """Check that the structure holds as many values as were inserted and not evicted."""
        self._hold(
            number,
            len(self) == len(self._shadow),
            f"len is {len(self)}, the window holds {len(self._shadow)}",
        )
