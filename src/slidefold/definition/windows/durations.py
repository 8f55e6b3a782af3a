"""Durations: strings such as "90s" or "1h30m", and timedeltas, converted to nanoseconds."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import numpy as np

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
_MONTHS = re.compile(r"\d\s*M(?![A-Za-z])")  # the abbreviation in pandas
_CALENDAR = {"mo", "month", "months", "q", "y", "year", "years"}


def plain_length(given: Any) -> Any:
    """Return a numpy or pandas duration as a timedelta, and any other value unchanged.

    A timedelta counts microseconds, so a finer duration becomes a string such as "1500ns".

    >>> plain_length(np.timedelta64(90, "m")), plain_length(np.timedelta64(1500, "ns"))
    (datetime.timedelta(seconds=5400), '1500ns')
    """
    if isinstance(given, np.timedelta64):
        total = _of_numpy(given)
    elif isinstance(given, timedelta) and type(given) is not timedelta:  # pandas: nanoseconds
        total = _of_timedelta(given)
    else:
        return given
    whole, finer = divmod(total, 1000)
    if finer or abs(total) >= 2**63:
        return f"{total}ns"
    return timedelta(microseconds=whole)


def duration_text(duration: str | timedelta) -> str:
    """Return a duration as a string.

    >>> duration_text(timedelta(minutes=90)), duration_text("1h30m")
    ('90m', '1h30m')
    """
    if isinstance(duration, str):
        return duration
    total = _of_timedelta(duration)
    for unit in ("d", "h", "m", "s"):
        whole, rest = divmod(total, _NANOSECONDS[unit])
        if rest == 0:
            return f"{whole}{unit}"
    return f"{total // 1000}us"


def nanoseconds(duration: str | timedelta, *, zero: bool = False) -> int:
    """Return a duration in nanoseconds; a day has 24 hours. `zero=True` allows 0.

    >>> nanoseconds("1h30m") == nanoseconds(timedelta(minutes=90)) == 5400 * 10**9
    True
    """
    total = _of_timedelta(duration) if isinstance(duration, timedelta) else _parse(duration)
    if total < 0 or (total == 0 and not zero):
        raise WindowError(f"a duration must be positive, got {str(duration)!r}")
    if total >= 2**63:
        raise WindowError(f"a duration must be at most 292 years, got {str(duration)!r}")
    return total


def _of_timedelta(duration: timedelta) -> int:
    whole = (duration.days * 86400 + duration.seconds) * 10**6 + duration.microseconds
    return whole * 10**3 + int(getattr(duration, "nanoseconds", 0))


def _of_numpy(duration: np.timedelta64) -> int:
    unit, steps = np.datetime_data(duration.dtype)
    if np.isnat(duration):
        raise WindowError("expected a duration such as np.timedelta64(1, 'h'), got NaT")
    if unit in ("Y", "M"):
        raise WindowError(f"months and years vary in length, got {duration!r}: use days or hours")
    size = _NANOSECONDS.get(unit.lower())
    if size is None:
        raise WindowError(
            f"expected a duration with a unit from weeks to nanoseconds, got {duration!r}"
        )
    return int(duration.astype(np.int64)) * steps * size


def _parse(text: str) -> int:
    total, position = 0, 0
    if _MONTHS.search(text):
        raise WindowError(f"months vary in length, got {text!r}: use days; a minute is '1m'")
    stripped = text.strip().lower()
    while position < len(stripped):
        part = _PART.match(stripped, position)
        if part is None:
            raise WindowError(_not_a_duration(text))
        if len(part[1].lstrip("0")) > 19:
            raise WindowError("a duration must be at most 292 years, got a longer one")
        number, unit = int(part[1]), part[2]
        if unit in _CALENDAR:
            raise WindowError(f"months and years vary in length, got {text!r}: use days or hours")
        if unit not in _NANOSECONDS:
            raise WindowError(_not_a_duration(text))
        total += number * _NANOSECONDS[unit]
        position = part.end()
    if not stripped:
        raise WindowError(_not_a_duration(text))
    return total


def _not_a_duration(text: str) -> str:
    message = (
        f"expected a duration such as '90s', '15m' or '1h30m', got {text!r} "
        f"(units: {', '.join(_NANOSECONDS)})"
    )
    if re.fullmatch(r"\s*[A-Za-z_]\w*\s*", text):
        message += f"; to partition by a column, use by={text!r}"
    return message
