"""The limit on the number of results: what fits in memory, and at most 2**31 - 1."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from slidefold.errors import DataError

# Arrow's list and string columns have 31-bit offsets, and a result column may be one of these.
MOST = 2**31 - 1
# Measured with 5 million results of 1, 2 and 4 windows: 57, 82 and 130 bytes per result at most.
_BYTES, _BYTES_PER_WINDOW = 32, 24
# The memory limits of the container, if there is one.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def require_results(results: int, what: str, rows: int, windows: int) -> None:
    """Raise if there are more results than fit; `what` is the argument that asks for them."""
    fitting = _fitting(windows)
    if results <= min(fitting, MOST):
        return
    reason = (
        f"the {fitting:,} that fit in memory"
        if fitting < MOST
        else f"the limit of {MOST:,} per run"
    )
    raise DataError(
        f"{what} gives {results:,} results for {rows:,} rows, more than {reason}: use a longer "
        "every, or run fewer keys or a shorter time range at once"
    )


def most_results(windows: int) -> int:
    """Return how many results of so many windows there may be at once."""
    return min(_fitting(windows), MOST)


def _fitting(windows: int) -> int:
    return memory() // (_BYTES + _BYTES_PER_WINDOW * windows)


@cache
def memory() -> int:
    """Return the memory limit of this process in bytes, 2**63 if it is unknown."""
    limits = []
    with suppress(AttributeError, ValueError, OSError):  # not every system has these names
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS:
        with suppress(OSError, ValueError):
            limits.append(int(Path(path).read_text(encoding="ascii")))
    return min(limits, default=2**63)
