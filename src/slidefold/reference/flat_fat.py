"""FlatFat: the Reactive Aggregator, a ring of values in the slots of a tree.

Layout: the slots of a Fat form a ring. `front` is the slot of the oldest value, and `span` is the
number of slots from there to the newest value. A value evicted from the middle leaves a hole, which
holds NOTHING like every empty slot. The ring is inverted when it wraps past the last slot: then the
aggregate is suffix(front) * prefix(back).

A position is the number that insert returned. A value keeps its position when the ring moves it to
another slot.

Invariants:
  I1  len is the number of values inserted and not evicted.
  I2  capacity is the fixed one, or a power of two >= 4 of which at least a quarter is in use; the
      tree has the next power of two slots.
  I3  the first and the last slot of the span hold values; all slots outside the span hold NOTHING.
  I4  the values of the span, in ring order, are those of the window; positions map to slots and
      back.
  I5  the tree's own invariants hold; without batch=True no slot waits for an update.

Cost in combines (c slots): query takes none, or at most 2 log2 c - 1 if inverted. m writes take
m (1 + ceil(log2(c / m))), so one insert or evict takes log2 c. A full ring is compacted if n <=
3c/4, otherwise c doubles; if n < c/4 after an evict, c is halved. This takes amortised O(1) per
value. 2c - 1 states.

Paper: Tangwongsan, Hirzel, Schneider, Wu, "General Incremental Sliding-Window Aggregation", section
5.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Self, cast

from slidefold.errors import CapacityError, EmptyWindowError, WindowError
from slidefold.reference.agreement import tolerance
from slidefold.reference.base import Aggregator
from slidefold.reference.fat import NOTHING, Fat, Slot
from slidefold.reference.protocols import In, Operator, Out, S, empty_result

SMALLEST = 4


class FlatFat(Aggregator[In, S, Out]):
    """A window in a tree: evict or update any value, query any prefix or suffix.

    With `capacity` the ring never grows or shrinks. With `batch`, inserts, evicts and updates only
    write slots; `trigger` or any query then updates the tree once for all of them.

    >>> from slidefold.reference.operators import Concat
    >>> window = FlatFat(Concat())
    >>> [window.insert(letter) for letter in "abcde"]
    [0, 1, 2, 3, 4]
    >>> window.evict(2)
    >>> window.update([0, 3], ["x", "y"])
    >>> window.query(), window.prefix(3), window.suffix(3)
    ('xbye', 'xby', 'ye')
    """

    def __init__(
        self, op: Operator[In, S, Out], *, capacity: int | None = None, batch: bool = False
    ) -> None:
        super().__init__(op)
        if capacity is not None and capacity < 1:
            raise WindowError(f"capacity must be at least 1, got {capacity}")
        self.fixed = capacity is not None
        self.batch = batch
        self.capacity = SMALLEST if capacity is None else capacity
        self.tree = self._tree_of([], self.capacity)
        self.front = 0
        self.span = 0
        self.inserted = 0
        self._slot_of: dict[int, int] = {}
        self._position_at: dict[int, int] = {}
        self._lifted: dict[int, S] = {}  # the shadow, by position

    def __len__(self) -> int:
        return len(self._slot_of)

    @property
    def inverted(self) -> bool:
        """Tell whether the newest value is in a slot before the oldest."""
        return self.front + self.span > self.capacity

    @property
    def back(self) -> int:
        """Return the slot of the newest value."""
        return (self.front + self.span - 1) % self.capacity

    @property
    def slots(self) -> list[Slot[S]]:
        """Return all slots of the ring, holes included, from slot 0."""
        return self.tree.slots[: self.capacity]

    def insert(self, value: In) -> int:
        """Add a value at the young end and return its position."""
        lifted = self.op.lift(value)
        position = self.inserted
        if self.span < self.capacity:
            slot = (self.front + self.span) % self.capacity
            self._write({slot: lifted})
            self._slot_of[position], self._position_at[slot] = slot, position
            self.span += 1
        else:
            self._make_room(position, lifted)
        self.inserted += 1
        self._lifted[position] = lifted
        return position

    def evict(self, position: int | None = None) -> None:
        """Drop the oldest value, or the one at a position."""
        self._refuse_empty()
        if position is None:
            position = self._position_at[self.front]
        slot = self._slot(position)
        if not self.fixed and self.capacity > SMALLEST and 4 * (len(self) - 1) < self.capacity:
            kept = {p: state for p, state in self._in_order() if p != position}
            self._rebuild(kept, self.capacity // 2)
        else:
            self._write({slot: NOTHING})
            del self._slot_of[position], self._position_at[slot]
            self._trim()
        del self._lifted[position]

    def update(self, positions: Iterable[int], values: Iterable[In]) -> None:
        """Replace the values at some positions, all in one pass over the tree."""
        wanted, lifted = list(positions), [self.op.lift(value) for value in values]
        if len(wanted) != len(lifted):
            raise WindowError(
                "positions and values must have the same length, "
                f"got {len(wanted)} and {len(lifted)}"
            )
        changes = dict(zip(wanted, lifted, strict=True))
        if len(changes) != len(wanted):
            raise WindowError("positions must be distinct, got the same position twice")
        self._write({self._slot(position): state for position, state in changes.items()})
        self._lifted.update(changes)

    def trigger(self) -> Out | None:
        """Update the tree for all deferred writes, and return the result of the window."""
        self._settle()
        return self.query()

    def aggregate(self) -> Out | None:
        """Return the result of the whole window, as query does."""
        return self.query()

    def prefix(self, position: int) -> Out | None:
        """Return the result of the values up to and including the one at a position."""
        slot = self._slot(position)
        self._settle()
        if not self.inverted:
            return self._lower(self.tree.prefix(slot))
        if slot >= self.front:
            return self._lower(self.tree.between(self.front, slot))
        return self._lower(self.tree.join(self.tree.suffix(self.front), self.tree.prefix(slot)))

    def suffix(self, position: int) -> Out | None:
        """Return the result of the value at a position and all values after it."""
        slot = self._slot(position)
        self._settle()
        if not self.inverted:
            return self._lower(self.tree.suffix(slot))
        if slot < self.front:
            return self._lower(self.tree.between(slot, self.back))
        return self._lower(self.tree.join(self.tree.suffix(slot), self.tree.prefix(self.back)))

    def copy(self) -> Self:
        """Return an independent copy of the window."""
        twin = super().copy()
        twin.tree = copy.copy(self.tree)
        return twin

    def states_kept(self) -> int:
        """Return the number of states kept: 2c - 1."""
        return 2 * self.tree.size - 1

    def check(self) -> None:
        """Verify each numbered invariant of this module."""
        n = len(self._lifted)
        self._hold(1, len(self) == n, f"len is {len(self)}, the window holds {n}")
        grown = self.capacity >= SMALLEST and self.capacity & (self.capacity - 1) == 0
        used = self.capacity == SMALLEST or 4 * n >= self.capacity
        size = 1 << (self.capacity - 1).bit_length()
        good = (self.fixed or (grown and used)) and self.tree.size == size and n <= self.capacity
        self._hold(2, good, f"capacity {self.capacity} is wrong for {n} values")
        ring = [(self.front + i) % self.capacity for i in range(self.span)]
        slots = self.tree.slots
        ends = not ring or (slots[ring[0]] is not NOTHING and slots[ring[-1]] is not NOTHING)
        outside = all(slots[s] is NOTHING for s in set(range(size)) - set(ring))
        self._hold(
            3, ends and outside and bool(ring) == bool(n), "the span does not fit the values"
        )
        held = [(self._position_at.get(s), slots[s]) for s in ring if slots[s] is not NOTHING]
        self._hold_states(4, held, list(self._lifted.items()), 0.0, "the ring is not the window")
        named = {slot: position for position, slot in self._slot_of.items()}
        self._hold(4, named == self._position_at, "positions and slots do not match")
        self._hold(5, self.batch or not self.tree.stale, "a slot waits for an update")
        self.tree.check(tolerance(self.op, list(self._lifted.values())))

    def _aggregate(self) -> S:
        self._settle()
        if not self.inverted:
            return cast(S, self.tree.aggregate())
        return cast(S, self.tree.join(self.tree.suffix(self.front), self.tree.prefix(self.back)))

    def _lower(self, state: Slot[S]) -> Out | None:
        if state is NOTHING:
            return cast("Out | None", empty_result(self.op))
        return self.op.lower(state)

    def _fresh(self) -> FlatFat[In, S, Out]:
        capacity = self.capacity if self.fixed else None
        return type(self)(self.op, capacity=capacity, batch=self.batch)

    def _slot(self, position: int) -> int:
        if position not in self._slot_of:
            raise EmptyWindowError(f"position {position} is not in the window")
        return self._slot_of[position]

    def _write(self, changes: Mapping[int, Slot[S]]) -> None:
        if self.batch:
            self.tree.defer(changes)
        else:
            self.tree.update(changes)

    def _settle(self) -> None:
        """Update the tree for the slots that wait."""
        if self.tree.stale:
            self.tree.update({})

    def _trim(self) -> None:
        """Remove holes from both ends of the span."""
        while self.span and self.front not in self._position_at:
            self.front = (self.front + 1) % self.capacity
            self.span -= 1
        while self.span and self.back not in self._position_at:
            self.span -= 1
        if not self.span:
            self.front = 0

    def _in_order(self) -> Iterable[tuple[int, S]]:
        """Yield the positions and states of the window, oldest first."""
        for i in range(self.span):
            slot = (self.front + i) % self.capacity
            if slot in self._position_at:
                yield self._position_at[slot], cast(S, self.tree.nodes[self.tree.size + slot])

    def _make_room(self, position: int, lifted: S) -> None:
        """Insert into a full ring: compact it if a quarter of it is holes, otherwise double it."""
        n = len(self)
        if self.fixed and n == self.capacity:
            raise CapacityError(f"FlatFat of capacity {self.capacity} is full")
        kept = dict(self._in_order())
        kept[position] = lifted
        if self.fixed or 4 * n <= 3 * self.capacity:
            self._compact(kept)
        else:
            self._rebuild(kept, 2 * self.capacity)

    def _compact(self, kept: dict[int, S]) -> None:
        """Move the values to the first slots of the ring, and update the changed slots."""
        target: list[Slot[S]] = [*kept.values()]
        target += [NOTHING] * (self.capacity - len(target))
        old = self.slots
        self._write({s: target[s] for s in range(self.capacity) if target[s] is not old[s]})
        self._relabel(kept)

    def _rebuild(self, kept: dict[int, S], capacity: int) -> None:
        """Put the values into a new tree with the given capacity."""
        self.tree = self._tree_of(list(kept.values()), capacity)
        self.capacity = capacity
        self._relabel(kept)

    def _relabel(self, kept: dict[int, S]) -> None:
        self.front, self.span = 0, len(kept)
        self._slot_of = {position: slot for slot, position in enumerate(kept)}
        self._position_at = dict(enumerate(kept))

    def _tree_of(self, states: list[S], capacity: int) -> Fat[In, S, Out]:
        size = 1 << (capacity - 1).bit_length()
        empty: list[Slot[S]] = [NOTHING] * size
        if not self.batch:
            return Fat(self.op, [*states, *empty[len(states) :]])
        tree = Fat(self.op, empty)
        tree.defer(dict(enumerate(states)))
        return tree
