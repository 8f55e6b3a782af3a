"""A double-ended queue with positions, which never moves its items.

Layout: chunks of 64 slots, looked up by number. A position is the number of items pushed before the
item, so it stays valid while other items come and go. The paper's pointers are such positions: they
are compared, moved by one, and dereferenced.

Cost: worst-case O(1) for every operation, except for lookups of chunks in a dict.

Paper: Tangwongsan, Hirzel, Schneider, "In-Order Sliding-Window Aggregation in Worst-Case Constant
Time", Definition 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar, cast

T = TypeVar("T")
CHUNK = 64


class ChunkedQueue(Generic[T]):
    """A queue of items at positions front <= p < back.

    >>> queue = ChunkedQueue[str]()
    >>> for letter in "abc":
    ...     queue.push_back(letter)
    >>> queue.pop_front()
    >>> queue.front, queue.back, queue[1], len(queue)
    (1, 3, 'b', 2)
    """

    def __init__(self) -> None:
        self.front = 0
        self.back = 0
        self._chunks: dict[int, list[T | None]] = {}

    def __len__(self) -> int:
        return self.back - self.front

    def __iter__(self) -> Iterator[T]:
        return (self[position] for position in range(self.front, self.back))

    def __getitem__(self, position: int) -> T:
        self._refuse_outside(position)
        number, offset = divmod(position, CHUNK)
        return cast(T, self._chunks[number][offset])

    def __setitem__(self, position: int, item: T) -> None:
        self._refuse_outside(position)
        number, offset = divmod(position, CHUNK)
        self._chunks[number][offset] = item

    def __copy__(self) -> ChunkedQueue[T]:
        twin: ChunkedQueue[T] = ChunkedQueue()
        twin.front, twin.back = self.front, self.back
        twin._chunks = {number: list(chunk) for number, chunk in self._chunks.items()}
        return twin

    def push_back(self, item: T) -> None:
        """Add an item at position `back`."""
        self._chunks.setdefault(self.back // CHUNK, []).append(item)
        self.back += 1

    def pop_back(self) -> None:
        """Drop the newest item."""
        self._refuse_outside(self.back - 1)
        self.back -= 1
        number, offset = divmod(self.back, CHUNK)
        self._chunks[number].pop()
        if not offset:
            del self._chunks[number]

    def pop_front(self) -> None:
        """Drop the oldest item, and its chunk if the chunk is now empty."""
        self._refuse_outside(self.front)
        number, offset = divmod(self.front, CHUNK)
        self._chunks[number][offset] = None
        self.front += 1
        if offset == CHUNK - 1:
            del self._chunks[number]

    def _refuse_outside(self, position: int) -> None:
        if not self.front <= position < self.back:
            raise IndexError(f"position {position} is outside {self.front}..{self.back - 1}")
