"""Engines that a worker caches between calls, for speed only.

Any worker may serve any bucket at any time. Spark may abort an attempt after the worker has
finished it. Several queries share a worker. So `bucket.py` compares tokens before it uses a cached
engine. A call takes the engine out first and puts it back last, so that a failed call leaves no
engine behind.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

# A worker may end up with all buckets of a query, and a few workers share a machine.
BUDGET = 512 << 20


@dataclass(frozen=True)
class Cached:
    """An engine, the last entry that it has read, and the last watermark that it has emitted.

    `first` is the mark of the oldest entry by its version, which saves a state call.
    """

    engine: Any
    version: int
    token: str
    emitted: int | None
    first: dict[int, Any] = field(default_factory=dict)


class Cache:
    """Engines by query and bucket, at most `budget` bytes; evicts the least recently used."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self.nbytes = 0
        self._kept: OrderedDict[tuple[str, int], tuple[Cached, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, key: tuple[str, int]) -> Cached | None:
        """Take an engine out if there is one."""
        entry = self._kept.pop(key, None)
        if entry is None:
            return None
        cached, size = entry
        self.nbytes -= size
        return cached

    def put(self, key: tuple[str, int], cached: Cached) -> None:
        """Put an engine in if it fits."""
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
    """A cache that keeps nothing: every call rebuilds its engine from the log."""

    def put(self, key: tuple[str, int], cached: Cached) -> None:
        """Forget the engine."""


WORKER = Cache()
