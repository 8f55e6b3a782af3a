"""A clock: the unit of a time column, and lengths converted to that unit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np

from slidefold.definition.windows.durations import nanoseconds, plain_length
from slidefold.errors import ValueTypeError, WindowError

Length = str | timedelta | int | float
Given = Length | np.timedelta64  # the types that users may pass as a length
_STEPS = {
    1: "nanoseconds",
    10**3: "microseconds",
    10**6: "milliseconds",
    10**9: "seconds",
    24 * 3600 * 10**9: "days",
}


def lateness_of(given: Any) -> Length:
    """Check a lateness: a duration or a number >= 0. A duration of zero becomes 0.

    >>> lateness_of("5m"), lateness_of("0s")
    ('5m', 0)
    """
    lateness = plain_length(given)
    if isinstance(lateness, str):
        return lateness if nanoseconds(lateness, zero=True) else 0
    if isinstance(lateness, timedelta):
        fits = lateness >= timedelta(0)
    else:
        fits = isinstance(lateness, Real) and not isinstance(lateness, bool)
        fits = fits and 0 <= lateness < 2**63
    if not fits:
        raise WindowError(f"lateness must be a duration or a number >= 0, got {given!r}")
    return lateness or 0


@dataclass(frozen=True)
class Clock:
    """The unit of a column: `unit` nanoseconds for datetimes, None for plain numbers."""

    column: str
    kind: str
    unit: int | None

    def steps(self, length: Length, what: str) -> tuple[int | float, bool]:
        """Return a length in whole steps, rounded down, and whether that is exact.

        >>> Clock("ts", "timestamp[s]", 10**9).steps("1m", "the range '1m'")
        (60, True)
        >>> Clock("ts", "timestamp[s]", 10**9).steps("1500ms", "the range '1500ms'")
        (1, False)
        """
        if self.unit is None:
            if isinstance(length, (str, timedelta)):
                raise ValueTypeError(
                    f"{what} is a duration, but {self.column!r} holds plain numbers "
                    f"({self.kind}): give a number"
                )
            if self.kind == "double" or isinstance(length, Integral):
                return length, True
            whole, exact = int(length // 1), length == length // 1
        else:
            if not isinstance(length, (str, timedelta)):
                raise ValueTypeError(
                    f"{what} is a number, but {self.column!r} holds datetimes ({self.kind}): "
                    "give a duration such as '1h'"
                )
            whole, rest = divmod(nanoseconds(length), self.unit)
            exact = rest == 0
        if whole >= 2**63:
            raise WindowError(f"{what} must be < 2**63 steps of {self.column!r}")
        if whole == 0:
            raise WindowError(
                f"{what} is finer than {self.column!r}, which counts in {self.steps_name()}"
            )
        return whole, exact

    def exactly(self, length: Length, what: str) -> int:
        """Return a length in whole steps; raise if it is not a whole number of steps."""
        whole, exact = self.steps(length, what)
        if not exact:
            raise WindowError(
                f"{what} is finer than {self.column!r}, which counts in {self.steps_name()}"
            )
        return int(whole)

    def steps_name(self) -> str:
        """Return the name of the column's unit."""
        return "whole numbers" if self.unit is None else _STEPS[self.unit]
