"""How many results a run may give: those that fit into memory, and never more than 2**31 - 1."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from slidefold.errors import DataError

# Arrow counts the values of a list or a string in 31 bits, and a column of results holds each.
MOST = 2**31 - 1
# Measured with 5 million results of 1, 2 and 4 windows: 57, 82 and 130 bytes per result at most.
_BYTES, _BYTES_PER_WINDOW = 32, 24
# Of the container, where there is one.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def require_results(results: int, what: str, rows: int, windows: int) -> None:
    """Refuse more results of some rows and windows than there can be; `what` asks for them."""
    bytes_each = _BYTES + _BYTES_PER_WINDOW * windows
    fitting = memory() // bytes_each
    if results <= min(fitting, MOST):
        return
    reason = (
        f"the {fitting:,} that fit into memory"
        if fitting < MOST
        else f"{MOST:,}, the most of a run"
    )
    raise DataError(
        f"{what} gives {results:,} results for {rows:,} rows, more than {reason}: give a longer "
        "every, or run fewer keys or a shorter time at once"
    )


@cache
def memory() -> int:
    """Return how many bytes of memory this process can have at most, as far as that is known."""
    found = []
    with suppress(AttributeError, ValueError, OSError):  # not every system tells
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in _LIMITS:
        with suppress(OSError, ValueError):
            found.append(int(Path(limit).read_text(encoding="ascii")))
    return min(found, default=2**63)
