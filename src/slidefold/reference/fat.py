"""Fat: a perfect binary tree over a fixed number of slots, stored in one array.

Layout: there are c slots, where c is a power of two. Node 1 is the root, the children of node h are
2h and 2h + 1, and slot i (from 0) is node c + i. An empty slot holds the neutral marker NOTHING,
which needs no combine.

Invariants:
  I1  there are c slots, c a power of two, and 2c - 1 nodes.
  I2  an inner node is the combine of its left and its right child, or NOTHING if both are, unless
      `defer` wrote a slot below it after the last `update`.

Cost in combines: construction takes c - 1; update of m slots takes m (1 + ceil(log2(c / m)));
aggregate takes none; prefix and suffix take log2 c; between takes 2 log2 c - 2. 2c - 1 states.

Paper: Tangwongsan, Hirzel, Schneider, Wu, "General Incremental Sliding-Window Aggregation",
sections 4.2 and 4.3 (slots are numbered from 1 there).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Generic, TypeAlias

from slidefold.reference.agreement import agree
from slidefold.reference.base import Checked
from slidefold.reference.protocols import In, Operator, Out, S


class Marker(Enum):
    """The type of NOTHING."""

    NOTHING = "nothing"

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final = Marker.NOTHING
Slot: TypeAlias = "S | Marker"


class Fat(Checked, Generic[In, S, Out]):
    """A fixed number of slots, and the aggregate of any prefix or suffix of them.

    >>> from slidefold.reference.operators import Concat
    >>> tree = Fat(Concat(), ["a", "b", NOTHING, "d"])
    >>> tree.aggregate(), tree.prefix(1), tree.suffix(1)
    ('abd', 'ab', 'bd')
    >>> tree.update({1: "x", 2: "y"})
    [[2, 3], [1]]
    >>> tree.aggregate()
    'axyd'
    """

    def __init__(self, op: Operator[In, S, Out], slots: Sequence[Slot[S]]) -> None:
        self.op = op
        self.size = len(slots)
        self.nodes: list[Slot[S]] = [NOTHING] * (2 * self.size)
        self.nodes[self.size :] = slots
        self.stale: set[int] = set()
        for node in range(self.size - 1, 0, -1):
            self.nodes[node] = self.join(self.nodes[2 * node], self.nodes[2 * node + 1])

    @property
    def slots(self) -> list[Slot[S]]:
        """Return the leaves, from slot 0."""
        return self.nodes[self.size :]

    def __copy__(self) -> Fat[In, S, Out]:
        twin: Fat[In, S, Out] = object.__new__(type(self))
        for name, part in vars(self).items():
            setattr(twin, name, copy.copy(part) if isinstance(part, list | set) else part)
        return twin

    def defer(self, changes: Mapping[int, Slot[S]]) -> None:
        """Write slots without updating the inner nodes above them; the next update does that."""
        for slot, state in changes.items():
            self.nodes[self.size + slot] = state
            self.stale.add(slot)

    def update(self, changes: Mapping[int, Slot[S]]) -> list[list[int]]:
        """Write slots, and recompute each inner node above a written slot once.

        Return the recomputed nodes, level by level. If the operator raises, nothing is written.
        """
        fresh = {self.size + slot: state for slot, state in changes.items()}
        work = sorted({(self.size + slot) // 2 for slot in self.stale | set(changes)} - {0})
        levels: list[list[int]] = []
        while work:
            levels.append(work)
            for node in work:
                left, right = 2 * node, 2 * node + 1
                fresh[node] = self.join(
                    fresh.get(left, self.nodes[left]), fresh.get(right, self.nodes[right])
                )
            work = sorted({node // 2 for node in work} - {0})
        for node, state in fresh.items():
            self.nodes[node] = state
        self.stale.clear()
        return levels

    def aggregate(self) -> Slot[S]:
        """Return the aggregate of all slots."""
        return self.nodes[1]

    def prefix(self, slot: int) -> Slot[S]:
        """Return the aggregate of the slots up to and including this one."""
        node = self.size + slot
        total = self.nodes[node]
        while node > 1:
            if node % 2:
                total = self.join(self.nodes[node - 1], total)
            node //= 2
        return total

    def suffix(self, slot: int) -> Slot[S]:
        """Return the aggregate of this slot and all slots after it."""
        node = self.size + slot
        total = self.nodes[node]
        while node > 1:
            if node % 2 == 0:
                total = self.join(total, self.nodes[node + 1])
            node //= 2
        return total

    def between(self, first: int, last: int) -> Slot[S]:
        """Return the aggregate of the slots from first to last, both included."""
        left: Slot[S] = NOTHING
        right: Slot[S] = NOTHING
        low, high = self.size + first, self.size + last + 1
        while low < high:
            if low % 2:
                left = self.join(left, self.nodes[low])
                low += 1
            if high % 2:
                high -= 1
                right = self.join(self.nodes[high], right)
            low, high = low // 2, high // 2
        return self.join(left, right)

    def check(self, slack: float = 0.0) -> None:
        """Verify I1 and I2."""
        power = self.size > 0 and self.size & (self.size - 1) == 0
        self._hold(
            1,
            power and len(self.nodes) == 2 * self.size,
            f"the number of slots, {self.size}, is not a power of two",
        )
        above = {
            (self.size + slot) >> up for slot in self.stale for up in range(self.size.bit_length())
        }
        for node in range(1, self.size):
            joined = self.join(self.nodes[2 * node], self.nodes[2 * node + 1])
            holds = node in above or agree(self.nodes[node], joined, slack)
            self._hold(2, holds, f"node {node} holds {self.nodes[node]!r}, its children {joined!r}")

    def join(self, older: Slot[S], newer: Slot[S]) -> Slot[S]:
        """Combine two states, skipping the neutral marker."""
        if older is NOTHING:
            return newer
        if newer is NOTHING:
            return older
        return self.op.combine(older, newer)
