"""The algorithms themselves, for people who study them.

Each keeps a window of values in order: `insert(value)` at the young end, `evict()` at the old
end, `query()` for the fold of what is there (None when it is empty). `slide(values, window)` runs a
whole column in native code. `check()` verifies the algorithm's numbered invariants; with
`checked=True` the contents are kept beside it and every aggregate is verified too. With
`counted=True`, `combines` says how often the operator was called.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, ClassVar, Self

from slidefold import _native
from slidefold.errors import CapacityError, EmptyWindowError, OperatorError, ValueTypeError
from slidefold.operators import Operator


class Algorithm(_native.Aggregator):
    """What all in-order algorithms share. Use a subclass."""

    name: ClassVar[str]

    def __init__(self, operator: Operator, *, checked: bool = False, counted: bool = False) -> None:
        self._setup(operator, {"checked": checked, "counted": counted})

    def _setup(self, operator: Operator, options: dict[str, Any]) -> None:
        if not isinstance(operator, Operator):
            raise OperatorError(f"an operator is due, such as slidefold.max(), got {operator!r}")
        self.operator = operator
        self._options = options
        super().__init__(self.name, operator, options)

    def copy(self) -> Self:
        """Return an independent copy, in O(n)."""
        twin = type(self).__new__(type(self))
        _native.Aggregator.__init__(twin, self.name, self.operator, self._options)
        twin.__dict__.update(self.__dict__)
        twin._copy_from(self)
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.operator}, {len(self)} values>"


class Recalc(Algorithm):
    """The oracle: folds everything again for each query. n-1 combines a query, n states.

    >>> import slidefold as sf
    >>> a = Recalc(sf.concat())
    >>> a.insert("x"); a.insert("y"); a.query()
    'xy'
    """

    name = "recalc"


class SubtractOnEvict(Algorithm):
    """A running total; invertible operators only. 1 combine an insert, 1 remove an evict.

    >>> import slidefold as sf
    >>> a = SubtractOnEvict(sf.sum(dtype="int64"))
    >>> a.insert(1); a.insert(2); a.evict(); a.query()
    2
    """

    name = "subtract_on_evict"


class TwoStacks(Algorithm):
    """Two stacks with aggregates. An insert 1 combine, an evict amortised 1, worst n; 2n states."""

    name = "two_stacks"


class TwoStacksLite(Algorithm):
    """Two-Stacks in one queue. 1 combine an insert, amortised 1 (worst n) an evict; n+1 states.

    >>> import slidefold as sf, numpy as np
    >>> TwoStacksLite(sf.sum()).slide(np.array([1.0, 2.0, 4.0, 8.0]), 2)
    array([ 1.,  3.,  6., 12.])
    """

    name = "two_stacks_lite"


class Daba(Algorithm):
    """Worst-case constant time: at most 4 combines an insert, 3 an evict; 2n states."""

    name = "daba"


class DabaLite(Algorithm):
    """Worst-case constant time: at most 3 combines an insert, 2 an evict; n+2 states.

    >>> import slidefold as sf
    >>> a = DabaLite(sf.max())
    >>> a.insert(1.0); a.insert(-2.0); a.evict()
    >>> a.query(), len(a)
    (-2.0, 1)
    """

    name = "daba_lite"


class FlatFat(Algorithm):
    """The Reactive Aggregator: a flat tree over a ring. O(log n) combines a step; 2c-1 states.

    The ring grows, shrinks and compacts by itself, or has a fixed `capacity`. Each value has a
    position, which `insert` returns: values may leave from anywhere and may be replaced. With
    `batch=True` the tree is repaired only when a result is asked for, or by `trigger()`.

    >>> import slidefold as sf
    >>> a = FlatFat(sf.concat())
    >>> [a.insert(x) for x in "abcd"]
    [0, 1, 2, 3]
    >>> a.evict(2); a.update([3], ["z"]); a.query(), a.prefix(1), a.suffix(1)
    ('abz', 'ab', 'bz')
    """

    name = "flat_fat"

    def __init__(
        self,
        operator: Operator,
        *,
        capacity: int | None = None,
        batch: bool = False,
        checked: bool = False,
        counted: bool = False,
    ) -> None:
        if capacity is not None and (isinstance(capacity, bool) or index(capacity) < 1):
            raise CapacityError(f"FlatFat needs capacity >= 1, got {capacity!r}")
        options = {"checked": checked, "counted": counted, "batch": batch}
        self._setup(operator, {**options, "capacity": capacity or 0})

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
                f"positions and values differ in length: {len(positions)} and {len(values)}"
            )
        self._update([_position(position) for position in positions], list(values))

    def trigger(self) -> None:
        """Repair the tree now, if events were batched."""
        self._trigger()

    def aggregate(self) -> Any:
        """The fold of the whole window: the same as `query`."""
        return self.query()

    def prefix(self, position: int) -> Any:
        """The fold from the oldest value up to the one at `position`, in O(log n)."""
        return self._prefix(_position(position))

    def suffix(self, position: int) -> Any:
        """The fold from the value at `position` up to the youngest, in O(log n)."""
        return self._suffix(_position(position))

    @property
    def capacity(self) -> int:
        """How many values the ring has room for."""
        return self._capacity()


def _position(position: int) -> int:
    number = index(position)
    if number < 0:
        raise EmptyWindowError(f"no value at position {number}")
    return number


class FlatFit(Algorithm):
    """Skip pointers over a ring. Inserts and evicts are free, a query amortised 3 (worst n)."""

    name = "flat_fit"


class Amta(Algorithm):
    """Perfect trees over the window. Amortised constant, worst O(log n); about 2n states.

    >>> import slidefold as sf
    >>> a = Amta(sf.concat())
    >>> for x in "abcdef": a.insert(x)
    >>> a.bulk_evict(4); a.query()
    'ef'
    """

    name = "amta"

    def bulk_evict(self, count: int) -> None:
        """Remove the `count` oldest values, in O(log n) steps."""
        number = index(count)
        if number < 0:
            raise ValueTypeError(f"bulk_evict needs a count >= 0, got {number}")
        self._bulk_evict(number)


class SlickDeque(Algorithm):
    """Keeps what may still win; selective operators only. Amortised < 2 comparisons an insert."""

    name = "slick_deque"


REGISTRY: dict[str, type[Algorithm]] = {
    cls.name: cls
    for cls in (
        Recalc,
        SubtractOnEvict,
        TwoStacks,
        TwoStacksLite,
        Daba,
        DabaLite,
        FlatFat,
        FlatFit,
        Amta,
        SlickDeque,
    )
}

__all__ = [
    "REGISTRY",
    "Algorithm",
    "Amta",
    "Daba",
    "DabaLite",
    "FlatFat",
    "FlatFit",
    "Recalc",
    "SlickDeque",
    "SubtractOnEvict",
    "TwoStacks",
    "TwoStacksLite",
]
