"""A lock that is handed on in the order in which threads asked for it."""

from __future__ import annotations

from collections import deque
from threading import Lock


class Turns:
    """Lets one thread in at a time, first come, first served.

    A thread that takes a plain lock again at once usually gets it, while others wait on and on. The
    writer of a service does just that between two parts, so questions need their turn.
    """

    def __init__(self) -> None:
        """Start with nobody inside."""
        self._lock = Lock()
        self._waiting: deque[Lock] = deque()
        self._taken = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            gate = Lock()
            gate.acquire()
            self._waiting.append(gate)
        gate.acquire()  # until the thread before hands its turn on

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False
