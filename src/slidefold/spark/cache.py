"""Engines that a worker keeps between calls: a matter of speed, never of results.

Any worker may serve any bucket at any time, attempts are aborted after a worker has finished them,
and several queries share a worker. So nothing here is trusted: `bucket.py` compares tokens. An
engine is taken out before it is changed and put back last, so that a call which fails half way
leaves none.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

# Each worker may end up with all buckets of a query: a few workers share a machine.
BUDGET = 512 << 20


@dataclass(frozen=True)
class Cached:
    """An engine, the entry it has read up to, and the watermark it has emitted up to.

    `first` is the mark of the oldest entry by its version, so that it need not be asked for.
    """

    engine: Any
    version: int
    token: str
    emitted: int | None
    first: dict[int, Any] = field(default_factory=dict)


class Cache:
    """Engines by query and bucket, at most `budget` bytes; the least recently used leave first."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self.nbytes = 0
        self._kept: OrderedDict[tuple[str, int], tuple[Cached, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, key: tuple[str, int]) -> Cached | None:
        """Take an engine out, if there is one."""
        found = self._kept.pop(key, None)
        if found is None:
            return None
        cached, size = found
        self.nbytes -= size
        return cached

    def put(self, key: tuple[str, int], cached: Cached) -> None:
        """Put an engine in, if it fits."""
        self.take(key)
        size = int(cached.engine.nbytes)
        if size > self.budget:
            return
        self._kept[key] = cached, size
        self.nbytes += size
        while self.nbytes > self.budget:
            _, (_, freed) = self._kept.popitem(last=False)
            self.nbytes -= freed


class NoCache(Cache):
    """Keeps nothing: every call rebuilds its engine from the log."""

    def put(self, key: tuple[str, int], cached: Cached) -> None:
        """Forget the engine."""


WORKER = Cache()
