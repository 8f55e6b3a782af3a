"""Allow one call at a time: other threads wait, and a nested call raises BusyError."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import Lock, get_ident
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from slidefold.errors import BusyError

P = ParamSpec("P")
R = TypeVar("R")


class _Process:
    """The number of this process, known without a system call."""

    number = os.getpid()

    @classmethod
    def look_again(cls) -> None:
        cls.number = os.getpid()


os.register_at_fork(after_in_child=_Process.look_again)


class Turn:
    """A lock that knows its holder, for `with`; a copy of it is not held.

    >>> turn = Turn("a live run")
    >>> with turn:
    ...     turn.held
    True
    """

    def __init__(self, what: str) -> None:
        """Set the name of the locked object for errors."""
        self.what = what
        self._lock = Lock()
        self._holder = (0, 0)

    @property
    def held(self) -> bool:
        """Tell whether a call of this thread holds the lock."""
        return self._lock.locked() and self._holder == (_Process.number, get_ident())

    def __enter__(self) -> Self:
        # An event takes few microseconds, so this is short.
        if not self._lock.acquire(False):
            self._wait()
        self._holder = (_Process.number, get_ident())
        return self

    def _wait(self) -> None:
        process, thread = self._holder
        if (process, thread) == (_Process.number, get_ident()):
            raise BusyError(
                f"{self.what} is busy with a call, so code inside that call (an operator, a "
                "reader) cannot use it; use it after the call has returned"
            )
        if process not in (0, _Process.number):  # the thread that holds the lock is elsewhere
            raise BusyError(
                f"{self.what} was in a call on another thread when this process was forked; "
                "restore it from saved state"
            )
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._holder = (0, 0)
        self._lock.release()

    def __reduce__(self) -> tuple[type[Turn], tuple[str]]:
        return Turn, (self.what,)


def in_turn(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make calls of a method wait for the `_turn` lock of their object."""

    @wraps(method)
    def waiting(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._turn:
            return method(self, *args, **kwargs)

    return waiting
