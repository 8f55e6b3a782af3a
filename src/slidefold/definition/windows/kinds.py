"""All kinds of windows, and the windows that `over` makes from strings and numbers."""

from __future__ import annotations

from datetime import timedelta
from numbers import Integral
from typing import Any

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.delta import Delta
from slidefold.definition.windows.durations import plain_length
from slidefold.definition.windows.lifetime import Lifetime
from slidefold.definition.windows.punctuated import Punctuated
from slidefold.definition.windows.rows import Rows
from slidefold.definition.windows.session import Session
from slidefold.definition.windows.time import Time
from slidefold.errors import WindowError

KINDS: dict[str, type[Any]] = {
    "rows": Rows,
    "time": Time,
    "lifetime": Lifetime,
    "delta": Delta,
    "session": Session,
    "punctuated": Punctuated,
}


def window_of(given: object, closed: str | None = None) -> WindowKind:
    """Return the window for an argument of `over`: a duration is a time window, an integer rows.

    >>> window_of("1h"), window_of(100, "left")
    (sf.time('1h'), sf.rows(100, closed='left'))
    """
    window: WindowKind
    given = plain_length(given)
    if isinstance(given, WindowKind):
        window = given
    elif given == "lifetime":
        window = Lifetime(settled=False)
    elif isinstance(given, (str, timedelta)):
        window = Time(given, settled=False)
    elif isinstance(given, Integral) and not isinstance(given, bool):
        window = Rows(int(given), settled=False)
    else:
        raise WindowError(
            "a window must be a duration such as '1h', a number of rows, or a window such as "
            f"sf.session('30m'), got {given!r}"
        )
    return window if closed is None else window.closing(closed)


def window_suffix(window: WindowKind) -> str:
    """Return the suffix of a column's name in a list of windows: total_1h, total_100.

    >>> window_suffix(window_of("1 h")), window_suffix(window_of(100))
    ('1h', '100')
    """
    if window.suffix:
        return window.suffix
    raise WindowError(
        f"a list of windows must hold durations and numbers of rows, got {window!r}: define a "
        "separate column for it"
    )
