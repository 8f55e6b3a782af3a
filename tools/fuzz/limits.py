"""Limits of time and memory: a case that hangs or allocates gigabytes is a failure."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MEMORY = 3 << 30  # bytes that a case may allocate
SECONDS = 20.0


class Hang(BaseException):
    """A case took too long."""


def _stop(*_: Any) -> None:
    raise Hang(f"more than {SECONDS:.0f} seconds")


def limit_memory() -> None:
    """Limit the memory of this process, except under sanitizers, which reserve all addresses."""
    if "asan" in os.environ.get("LD_PRELOAD", "") or not sys.platform.startswith("linux"):
        return
    with open("/proc/self/statm") as sizes:
        now = int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.RLIM_INFINITY))


@contextmanager
def limited_time() -> Iterator[None]:
    """Raise Hang if Python code runs for too long; end the process if native code does."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    try:
        yield
    finally:
        end_case()
        signal.signal(signal.SIGALRM, before)


def begin_case() -> None:
    """Start the timers of a case."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    signal.setitimer(signal.ITIMER_VIRTUAL, 2 * SECONDS)


def end_case() -> None:
    """Stop the timers."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
