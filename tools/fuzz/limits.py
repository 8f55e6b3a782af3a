"""What one case may take: a case that hangs or asks for gigabytes is a failure."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MEMORY = 3 << 30  # bytes beyond what the process has
SECONDS = 20.0


class Hang(BaseException):
    """A case took too long."""


def _stop(*_: Any) -> None:
    raise Hang(f"more than {SECONDS:.0f} seconds")


def limit_memory() -> None:
    """Let no case ask for much more than what there is; the sanitizers need all addresses."""
    if "asan" in os.environ.get("LD_PRELOAD", "") or not sys.platform.startswith("linux"):
        return
    with open("/proc/self/statm") as sizes:
        now = int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.RLIM_INFINITY))


@contextmanager
def limited_time() -> Iterator[None]:
    """Raise Hang where Python runs for too long; end the process where native code does."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    try:
        yield
    finally:
        end_case()
        signal.signal(signal.SIGALRM, before)


def begin_case() -> None:
    """Let the time of a case start."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    signal.setitimer(signal.ITIMER_VIRTUAL, 2 * SECONDS)


def end_case() -> None:
    """Stop the clock."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
