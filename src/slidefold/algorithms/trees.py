"""Trees ordered by time: FiBA, which accepts late data, and its baseline, the classic B-tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from slidefold import _native
from slidefold.algorithms.base import whole
from slidefold.definition.operators import Operator, require_events
from slidefold.errors import CapacityError, ValueTypeError, WindowError
from slidefold.state import Operators, operator_header, require_options, restore, saving

MAX_ARITY = 1024


def times_array(times: Any) -> Any:
    """Convert times for the native core: to an array of int64 or float64, or to a list."""
    array = np.asarray(times)
    if array.ndim != 1:
        raise ValueTypeError(f"times must be one-dimensional, got {array.ndim} dimensions")
    kind = array.dtype.kind
    if array.size == 0:
        return array.astype(np.int64)
    if kind == "i" or (kind == "u" and (array.dtype.itemsize < 8 or array.max() < 2**63)):
        return np.ascontiguousarray(array, np.int64)
    if kind == "f" and array.dtype.itemsize <= 8:
        return np.ascontiguousarray(array, np.float64)
    if kind == "O" or isinstance(times, (list, tuple)):
        return list(times)
    raise ValueTypeError(f"times must be int64 or float64, got {array.dtype}")


class Tree(_native.TreeCore):
    """Base class of Fiba and BTree. Use a subclass."""

    name: ClassVar[str]

    def __init__(
        self,
        operator: Operator,
        *,
        min_arity: int = 4,
        max_arity: int | None = None,
        counted: bool = False,
    ) -> None:
        least = whole(min_arity)
        if least is None or least < 2:
            raise CapacityError(f"min_arity must be an integer of at least 2, got {min_arity!r}")
        most = self._default_max_arity(least) if max_arity is None else whole(max_arity)
        if most is None or not 2 * least <= most <= MAX_ARITY:
            raise CapacityError(
                f"max_arity must be an integer from {2 * least} (twice min_arity) to {MAX_ARITY}, "
                f"got {most if max_arity is None else max_arity!r}"
            )
        self._setup(operator, {"min_arity": least, "max_arity": most, "counted": counted})

    def _setup(self, operator: Operator, options: dict[str, Any]) -> None:
        require_events(operator)
        self.operator = operator
        self._options = options
        _native.TreeCore.__init__(self, self.name, operator, options)

    @staticmethod
    def _default_max_arity(min_arity: int) -> int:
        return 2 * min_arity

    @property
    def min_arity(self) -> int:
        """Return the fewest children of a node that is neither the root nor on a spine."""
        return int(self._options["min_arity"])

    @property
    def max_arity(self) -> int:
        """Return the most children of a node."""
        return int(self._options["max_arity"])

    def bulk_insert(self, times: Any, values: Any) -> None:
        """Add many values at once, in any order; equal times combine in the given order.

        If one value is rejected, nothing is added.
        """
        self._bulk_insert(times_array(times), values)

    def slide(self, times: Any, values: Any, range: int, *, bulk: int = 1) -> Any:
        """Run a new tree over a whole column in native code, in bulks of `bulk` rows.

        Rows are inserted in the given order, late rows included. After each bulk, values that are
        older than the youngest by `range` or more are evicted, and the rest is folded: one result
        per bulk. Times are integers. Rows after the last full bulk are ignored.

        >>> import slidefold as sf
        >>> Fiba(sf.concat()).slide([1, 3, 2, 4], ["a", "c", "b", "d"], 2)
        ['a', 'c', 'bc', 'cd']
        """
        array = times_array(times)
        if not isinstance(array, np.ndarray) or array.dtype != np.int64:
            raise ValueTypeError("times must be integers for slide, got floats or objects")
        length, size = whole(range), whole(bulk)
        if length is None or not 1 <= length < 2**63:
            raise WindowError(f"range must be an integer >= 1, got {range!r}")
        if size is None or not 1 <= size < 2**63:
            raise WindowError(f"bulk must be an integer >= 1, got {bulk!r}")
        return self._slide(array, values, length, size)

    def __iter__(self) -> Iterator[tuple[int | float, Any]]:
        """Iterate over a snapshot of (time, result at that time) in time order."""
        return iter(self._items())

    copy = __copy__ = saving.copy
    __deepcopy__ = saving.deepcopy
    to_bytes = saving.to_bytes
    __reduce__ = saving.reduce

    @classmethod
    def from_bytes(
        cls, data: bytes, operator: Operator | None = None, *, operators: Operators = ()
    ) -> Self:
        """Restore a tree from its saved state; it continues exactly where the saved one stopped.

        Bytes never import anything. A user operator must be in a module that is already imported,
        or be passed as `operator` or in the list `operators`. Raises `StateError` if the bytes are
        not the state of this class.
        """
        return restore(cls, data, operator, operators)

    def _twin(self) -> Self:
        twin = type(self).__new__(type(self))
        twin._setup(self.operator, self._options)
        return twin

    def _header(self) -> dict[str, Any]:
        return {"operator": operator_header(self.operator), "options": self._options}

    @classmethod
    def _kind(cls) -> str:
        return getattr(cls, "name", cls.__name__)

    @classmethod
    def _made(cls, header: dict[str, Any], operator: Operator, room: int) -> Self:
        types = {"min_arity": int, "max_arity": int, "counted": bool}
        options = require_options(header, types)
        if not 4 <= 2 * options["min_arity"] <= options["max_arity"] <= MAX_ARITY:
            raise CapacityError(
                f"expected 4 <= 2 * min_arity <= max_arity <= {MAX_ARITY}, "
                f"got min_arity {options['min_arity']} and max_arity {options['max_arity']}"
            )
        restored = cls.__new__(cls)
        restored._setup(operator, options)
        return restored

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.operator}, {len(self)} times>"


class Fiba(Tree):
    """The finger B-tree: inserts and evicts values at any time.

    n is the number of times and d is the distance of an event from the nearer end. `insert` and
    `evict` take amortised O(log d), worst O(log n); in order that is O(1). `query()` takes at most
    2 combines and `query(since, until)` O(log d). `bulk_insert` of m values takes
    O(log d + m(1 + log(1 + d/m))) and `bulk_evict` of m values O(log m). Values at equal times
    combine in arrival order. A node has `min_arity` to `max_arity` children, by default up to
    4 times `min_arity`, and at least 2 on the spines.

    >>> import slidefold as sf
    >>> t = Fiba(sf.concat())
    >>> for time, word in ((3, "late"), (1, "never"), (2, "too"), (1, "!")): t.insert(time, word)
    >>> t.query(), len(t), t.oldest, t.youngest
    ('never!toolate', 3, 1, 3)
    >>> t.query(1, 2), list(t)
    ('never!too', [(1, 'never!'), (2, 'too'), (3, 'late')])
    >>> t.evict(2), t.evict(9), t.query()
    (True, False, 'never!late')
    """

    name = "fiba"

    @staticmethod
    def _default_max_arity(min_arity: int) -> int:
        return min(4 * min_arity, max(MAX_ARITY, 2 * min_arity))


class BTree(Tree):
    """The classic B-tree with aggregates: O(log n) at any time; the baseline of `Fiba`.

    >>> import slidefold as sf
    >>> t = BTree(sf.sum())
    >>> t.bulk_insert([3, 1, 2], [30.0, 10.0, 20.0])
    >>> t.query(2, 3), t.query()
    (50.0, 60.0)
    """

    name = "btree"

    def __init__(self, operator: Operator, *, min_arity: int = 8, counted: bool = False) -> None:
        super().__init__(operator, min_arity=min_arity, counted=counted)
