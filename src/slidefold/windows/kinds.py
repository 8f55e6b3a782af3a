"""All kinds of windows, and what `over` makes of strings and numbers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from numbers import Integral
from typing import Any

from slidefold.errors import WindowError
from slidefold.windows.delta import Delta
from slidefold.windows.durations import duration_text, plain_length
from slidefold.windows.punctuated import Punctuated
from slidefold.windows.rows import Rows
from slidefold.windows.session import Session
from slidefold.windows.time import Time

WindowKind = Rows | Time | Delta | Session | Punctuated
KINDS: dict[str, type[Any]] = {
    "rows": Rows,
    "time": Time,
    "delta": Delta,
    "session": Session,
    "punctuated": Punctuated,
}


def window_of(given: object, closed: str | None = None) -> WindowKind:
    """A window from what `over` takes: a duration is a time window, an integer a rows window.

    >>> window_of("1h"), window_of(100, "left")
    (sf.time('1h'), sf.rows(100, closed='left'))
    """
    window: WindowKind
    given = plain_length(given)
    if isinstance(given, Rows | Time | Delta | Session | Punctuated):
        window = given
    elif isinstance(given, (str, timedelta)):
        window = Time(given, settled=False)
    elif isinstance(given, Integral) and not isinstance(given, bool):
        window = Rows(int(given), settled=False)
    else:
        raise WindowError(
            f"a window is a duration such as '1h', a number of rows, or a window such as "
            f"sf.session('30m'), got {given!r}"
        )
    if closed is None:
        return window
    if isinstance(window, Session | Punctuated):
        raise WindowError(f"{window} has no closed: it holds its rows")
    if isinstance(window, Delta):
        return replace(window, closed=closed)
    return replace(window, closed=closed, settled=True)


def window_suffix(window: WindowKind) -> str:
    """What tells a column over one of several windows from the others: total_1h, total_100.

    >>> window_suffix(window_of("1 h")), window_suffix(window_of(100))
    ('1h', '100')
    """
    if isinstance(window, Rows):
        return str(window.n)
    if isinstance(window, Time) and isinstance(window.range, (str, timedelta)):
        return duration_text(window.range).replace(" ", "")
    raise WindowError(
        f"a list of windows takes durations and numbers of rows, got {window!r}: give it a column "
        "of its own"
    )
