"""Notice that a source is silent: no rows for a while, by the clock of this process."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Any

from slidefold.definition.windows.durations import nanoseconds, plain_length
from slidefold.errors import DefinitionError


class Silence:
    """Tell whether nothing was heard for a duration.

    >>> now = [0.0]
    >>> silence = Silence("5s", lambda: now[0])
    >>> now[0] = 4.9; silence.over()
    False
    >>> now[0] = 5.0; silence.over()
    True
    """

    def __init__(self, idle: Any, clock: Callable[[], float] | None = None) -> None:
        idle = plain_length(idle)
        if not isinstance(idle, str | timedelta):
            raise DefinitionError(f"idle must be a duration such as '5m', got {idle!r}")
        self.idle = idle
        self._seconds = nanoseconds(idle) / 1e9
        self._clock = clock or monotonic
        self.heard()

    def heard(self) -> None:
        """Note that rows arrived."""
        self._since = self._clock()

    def over(self) -> bool:
        """Tell whether the source has been silent for long enough."""
        return self._clock() - self._since >= self._seconds
