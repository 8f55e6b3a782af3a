"""`since=` and `until=` of a run: the results of a period, and the rows that they need."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from slidefold.definition.windows.clock import Clock
from slidefold.definition.windows.retention import reach_back
from slidefold.errors import DefinitionError, ValueTypeError

if TYPE_CHECKING:
    from slidefold.definition.rolling import Rolling

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 10**9
Bounds = tuple[int | None, int | None]  # both inclusive, in steps; None if there is no bound


@dataclass(frozen=True)
class Period:
    """The results to return and the rows to read, as inclusive bounds in steps of the clock.

    Without `every=`, these are the rows from `since` on and before `until`. With it, these are the
    window ends after `since`, up to and including `until`: those that can be computed once all rows
    before `until` have arrived.
    """

    results: Bounds
    reads: Bounds
    column: str  # the column of the results that the bounds are about
    why: str  # how the rows to read follow from the windows


def period_of(definition: Rolling, clock: Clock, zoned: bool, since: Any, until: Any) -> Period:
    """Return the period for `since=` and `until=`; None sets no bound.

    `zoned` tells whether the times of the data have a zone. Times without a zone are in the `zone=`
    of the definition, which is UTC by default.
    """
    ends = definition.slide is not None
    first = last = None
    if since is not None:
        moment = moment_of(definition, clock, zoned, "since", since)
        first = moment.numerator // moment.denominator + 1 if ends else -(-moment // 1)
    if until is not None:
        moment = moment_of(definition, clock, zoned, "until", until)
        last = moment // 1 if ends else -(-moment // 1) - 1
        if since is not None and moment < moment_of(definition, clock, zoned, "since", since):
            raise DefinitionError(f"until={until!r} is before since={since!r}")
    column = "window_end" if ends else definition.on
    reads, why = _reads(definition, clock, first, last)
    return Period((_fit(first), _fit(last)), (_fit(reads[0]), _fit(reads[1])), column, why)


def _fit(bound: int | None) -> int | None:
    """Return a bound within 64 bits."""
    return None if bound is None else max(-(2**63), min(bound, 2**63 - 1))


def _reads(
    definition: Rolling, clock: Clock, first: int | None, last: int | None
) -> tuple[Bounds, str]:
    slide = definition.slide
    if slide is not None and slide.in_time and definition.fill:
        return (None, None), "fill=True adds ends between the first and the last row of a key"
    reaches = [reach for window in definition.windows if (reach := window.reach(clock)) is not None]
    whole = len(reaches) < len(definition.windows)
    near = min((newest for _, newest in reaches), default=0)
    # A window with rows up to its end may stand beside one that ends before it.
    near = near if slide is not None and slide.in_time and not whole else min(near, 0)
    newest = None if last is None else last - near
    if slide is not None and not slide.in_time:
        return (None, newest), "every= counts or closes windows from the first row of a key on"
    far = reach_back(definition.windows, clock)
    if far is None:
        window = next(one for one in definition.windows if one.reach(clock) is None)
        text = window.text(definition.default_closed)
        return (None, newest), f"{text} may start at any time"
    if definition.zone is not None and clock.unit is not None:
        far += 24 * 3600 * _SECOND // clock.unit  # local days may be longer than 24 hours
    oldest = None if first is None else first - max(far, 0)
    return (oldest, newest), "all windows are ranges of time"


def moment_of(definition: Rolling, clock: Clock, zoned: bool, name: str, given: Any) -> Fraction:
    """Return the time of an option in steps of the clock; it may be between two steps."""
    if clock.unit is None:
        if isinstance(given, str) and given.removeprefix("-").isdecimal():  # of a command
            return Fraction(int(given))
        if isinstance(given, bool) or not isinstance(given, Real) or given != given:
            raise _wrong(clock, name, given)
        if given in (float("inf"), float("-inf")):
            raise _wrong(clock, name, given)
        return Fraction(given)  # type: ignore[call-overload,no-any-return]
    nanoseconds = _nanoseconds(definition, clock, zoned, name, given)
    return Fraction(nanoseconds, clock.unit)


def _nanoseconds(definition: Rolling, clock: Clock, zoned: bool, name: str, given: Any) -> int:
    if given != given:  # not a time
        raise _wrong(clock, name, given)
    if isinstance(given, np.datetime64):
        finer = int((given - given.astype("datetime64[us]")) / np.timedelta64(1, "ns"))
        given, more = given.astype("datetime64[us]").item(), finer
    else:
        more = int(getattr(given, "nanosecond", 0) or 0)  # of a pandas Timestamp
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise _wrong(clock, name, given) from None
    if isinstance(given, date) and not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day)
    if not isinstance(given, datetime):
        raise _wrong(clock, name, given)
    if given.tzinfo is None:
        given = given.replace(tzinfo=ZoneInfo(definition.zone) if definition.zone else UTC)
    elif not zoned:
        raise ValueTypeError(
            f"{name}={str(given)!r} has a time zone, but {clock.column!r} has none: leave it out"
        )
    passed: timedelta = given - _EPOCH
    seconds = passed.days * 24 * 3600 + passed.seconds
    return seconds * _SECOND + passed.microseconds * 1000 + more


def _wrong(clock: Clock, name: str, given: Any) -> ValueTypeError:
    expected = "a number" if clock.unit is None else "a time such as '2026-01-31'"
    return ValueTypeError(
        f"expected {expected} as {name}=, as {clock.column!r} holds {clock.kind}, got {given!r}"
    )
