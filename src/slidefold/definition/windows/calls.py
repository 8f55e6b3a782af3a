"""Write definitions as source code: `sf.sum('x').over('1h')`."""

from __future__ import annotations

import math
from datetime import timedelta

from slidefold.definition.windows.durations import duration_text


def call(function: str, *positional: object, **named: object) -> str:
    """Return a call as source code.

    >>> call("sf.time", timedelta(hours=1), closed="left")
    "sf.time('1h', closed='left')"
    """
    arguments = [written(value) for value in positional]
    arguments += [f"{name}={written(value)}" for name, value in named.items()]
    return f"{function}({', '.join(arguments)})"


def written(value: object) -> str:
    """Return one argument as source code: durations as strings, tuples as lists."""
    if isinstance(value, timedelta):
        return repr(duration_text(value))
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def closing(closed: str, default: str | None) -> dict[str, str]:
    """Return `closed=` if it differs from the default, or if there is no default."""
    return {} if closed == default else {"closed": closed}
