"""Durations: strings such as "90s" or "1h30m", timedeltas, and their nanoseconds."""

from __future__ import annotations

import re
from datetime import timedelta

from slidefold.errors import WindowError

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 24 * 3600 * 10**9,
    "w": 7 * 24 * 3600 * 10**9,
}
_PART = re.compile(r"\s*(\d+)\s*([a-z]+)\s*")
_MONTHS = re.compile(r"\d\s*M(?![A-Za-z])")  # as pandas abbreviates them
_CALENDAR = {"mo", "month", "months", "q", "y", "year", "years"}


def nanoseconds(duration: str | timedelta) -> int:
    """The length of a duration in nanoseconds; a day is 24 hours.

    >>> nanoseconds("1h30m") == nanoseconds(timedelta(minutes=90)) == 5400 * 10**9
    True
    """
    if isinstance(duration, timedelta):
        whole = (duration.days * 86400 + duration.seconds) * 10**6 + duration.microseconds
        total = whole * 10**3
    else:
        total = _parse(duration)
    if total <= 0:
        raise WindowError(f"a duration must be positive, got {str(duration)!r}")
    if total >= 2**63:
        raise WindowError(f"a duration must fit 292 years, got {str(duration)!r}")
    return total


def _parse(text: str) -> int:
    total, position = 0, 0
    if _MONTHS.search(text):
        raise WindowError(f"{text!r}: months differ in length, give days; a minute is '1m'")
    stripped = text.strip().lower()
    while position < len(stripped):
        part = _PART.match(stripped, position)
        if part is None:
            raise WindowError(_not_a_duration(text))
        number, unit = int(part[1]), part[2]
        if unit in _CALENDAR:
            raise WindowError(f"{text!r}: months and years differ in length, give days or hours")
        if unit not in _NANOSECONDS:
            raise WindowError(_not_a_duration(text))
        total += number * _NANOSECONDS[unit]
        position = part.end()
    if not stripped:
        raise WindowError(_not_a_duration(text))
    return total


def _not_a_duration(text: str) -> str:
    return (
        f"{text!r} is not a duration such as '90s', '15m' or '1h30m' (units: "
        f"{', '.join(_NANOSECONDS)}); to partition use by={text!r}"
        if re.fullmatch(r"\s*[A-Za-z_]\w*\s*", text)
        else f"{text!r} is not a duration such as '90s', '15m' or '1h30m' (units: "
        f"{', '.join(_NANOSECONDS)})"
    )
