"""Fold events between two requests, in the thread that answers requests.

In a thread of its own the writer would compete with questions for the interpreter and for the
processor, and whoever loses waits for the system to let it run again. Each part would be two such
waits. The figure is benchmarks/figures/serve.py.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from slidefold.errors import SlidefoldError

Part = Callable[[], Any]

_PATIENCE = 0.002  # seconds that a part waits for questions that are there at one time


class Between:
    """Parts of events that wait for an event loop."""

    def __init__(self) -> None:
        """Start with no part."""
        self.loop: asyncio.AbstractEventLoop | None = None
        self._parts: deque[tuple[Part, Future[Any]]] = deque()
        self._last = 0.0  # when a part was folded

    def fold(self, parts: list[Part]) -> list[Part]:
        """Have parts folded in order; return functions that wait for the results.

        It is called by the writer, which waits for all results before it calls this again.
        """
        futures: list[Future[Any]] = [Future() for _ in parts]
        self._parts.extend(zip(parts, futures, strict=True))
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self._step)
        return [future.result for future in futures]

    def _step(self) -> None:
        self._fold()
        if self._parts and self.loop is not None:
            # Twice: requests that came during this part are handled before the next one.
            self.loop.call_soon(self.loop.call_soon, self._step)

    def answered(self) -> None:
        """Fold a part if many questions at one time keep it waiting for too long."""
        if self._parts and time.perf_counter() - self._last > _PATIENCE:
            self._fold()

    def _fold(self) -> None:
        if not self._parts:
            return
        part, future = self._parts.popleft()
        try:
            future.set_result(part())
        except SlidefoldError as error:  # these events are refused, and the next ones are not
            future.set_exception(error)
        except BaseException as error:  # the writer stops
            self._parts.clear()
            future.set_exception(error)
        self._last = time.perf_counter()
