"""FlatFat: the Reactive Aggregator, with positions and batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from slidefold.algorithms.base import MOST_SLOTS, Algorithm, whole
from slidefold.definition.operators import Operator
from slidefold.errors import CapacityError, EmptyWindowError, ValueTypeError
from slidefold.state import require_room


class FlatFat(Algorithm):
    """The Reactive Aggregator: a flat tree over a ring. O(log n) combines per step; 2c-1 states.

    The ring grows, shrinks and compacts automatically, unless `capacity` is fixed. `insert` returns
    the position of a value, which can later be evicted or updated at that position. With
    `batch=True` the tree is repaired only by a query or by `trigger()`.

    >>> import slidefold as sf
    >>> a = FlatFat(sf.concat())
    >>> [a.insert(x) for x in "abcd"]
    [0, 1, 2, 3]
    >>> a.evict(2); a.update([3], ["z"]); a.query(), a.prefix(1), a.suffix(1)
    ('abz', 'ab', 'bz')
    """

    name = "flat_fat"
    _options_types: ClassVar[dict[str, type]] = {
        **Algorithm._options_types,
        "batch": bool,
        "capacity": int,
    }

    def __init__(
        self,
        operator: Operator,
        *,
        capacity: int | None = None,
        batch: bool = False,
        checked: bool = False,
        counted: bool = False,
    ) -> None:
        room = 0 if capacity is None else whole(capacity)
        if room is None or (capacity is not None and not 1 <= room <= MOST_SLOTS):
            raise CapacityError(
                f"capacity must be an integer from 1 to {MOST_SLOTS:,}, got {capacity!r}"
            )
        options = {"checked": checked, "counted": counted, "batch": batch}
        self._setup(operator, {**options, "capacity": room})

    @classmethod
    def _require(cls, options: dict[str, Any], room: int) -> None:
        if not 0 <= options["capacity"] <= MOST_SLOTS:
            raise CapacityError(
                f"capacity must be from 0 to {MOST_SLOTS:,}, got {options['capacity']}"
            )
        require_room(options["capacity"], room)

    def insert(self, value: Any) -> int:  # type: ignore[override]
        """Add a value at the young end and return its position."""
        return self._insert_at(value)

    def evict(self, position: int | None = None) -> None:
        """Remove the oldest value, or the one at `position`."""
        if position is None:
            super().evict()
        else:
            self._evict_at(_position(position))

    def update(self, positions: Sequence[int], values: Sequence[Any]) -> None:
        """Replace the values at several positions, repairing each affected node once."""
        if len(positions) != len(values):
            raise ValueTypeError(
                "positions and values must have the same length, "
                f"got {len(positions)} and {len(values)}"
            )
        self._update([_position(position) for position in positions], list(values))

    def trigger(self) -> None:
        """Repair the tree now if changes were batched."""
        self._trigger()

    def aggregate(self) -> Any:
        """Return the fold of the whole window, as `query` does."""
        return self.query()

    def prefix(self, position: int) -> Any:
        """Return the fold from the oldest value to the one at `position`, in O(log n)."""
        return self._prefix(_position(position))

    def suffix(self, position: int) -> Any:
        """Return the fold from the value at `position` to the youngest, in O(log n)."""
        return self._suffix(_position(position))

    @property
    def capacity(self) -> int:
        """Return the number of slots in the ring."""
        return self._capacity()


def _position(position: int) -> int:
    number = whole(position)
    if number is None:
        raise ValueTypeError(f"position must be an integer, got {position!r}")
    if not 0 <= number < 2**64:
        raise EmptyWindowError(f"no value at position {number}")
    return number
