"""The trees by time: FiBA, which takes late data, and the classic B-tree it is measured against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from slidefold import _native
from slidefold.algorithms.base import whole
from slidefold.definition.operators import Operator
from slidefold.errors import CapacityError, OperatorError, ValueTypeError, WindowError
from slidefold.state import Operators, operator_header, require_options, saving

MAX_ARITY = 1024


def times_array(times: Any) -> Any:
    """Turn times into what the native core takes: an array of int64 or float64."""
    array = np.asarray(times)
    if array.ndim != 1:
        raise ValueTypeError(f"times are one-dimensional, got {array.ndim} dimensions")
    kind = array.dtype.kind
    if array.size == 0:
        return array.astype(np.int64)
    if kind == "i" or (kind == "u" and (array.dtype.itemsize < 8 or array.max() < 2**63)):
        return np.ascontiguousarray(array, np.int64)
    if kind == "f" and array.dtype.itemsize <= 8:
        return np.ascontiguousarray(array, np.float64)
    if kind == "O" or isinstance(times, (list, tuple)):
        return list(times)
    raise ValueTypeError(f"times are int64 or float64, got {array.dtype}")


class Tree(_native.TreeCore):
    """What both trees share. Use a subclass."""

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
            raise CapacityError(f"min_arity needs to be at least 2, got {min_arity!r}")
        most = self._default_max_arity(least) if max_arity is None else whole(max_arity)
        if most is None or not 2 * least <= most <= MAX_ARITY:
            raise CapacityError(
                f"max_arity needs to be from {2 * least} (twice min_arity) to {MAX_ARITY}, "
                f"got {most if max_arity is None else max_arity!r}"
            )
        self._setup(operator, {"min_arity": least, "max_arity": most, "counted": counted})

    def _setup(self, operator: Operator, options: dict[str, Any]) -> None:
        if not isinstance(operator, Operator):
            raise OperatorError(f"expected an operator, such as slidefold.max(), got {operator!r}")
        self.operator = operator
        self._options = options
        _native.TreeCore.__init__(self, self.name, operator, options)

    @staticmethod
    def _default_max_arity(min_arity: int) -> int:
        return 2 * min_arity

    @property
    def min_arity(self) -> int:
        """The fewest children of a node that is neither the root nor on a spine."""
        return int(self._options["min_arity"])

    @property
    def max_arity(self) -> int:
        """The most children of a node."""
        return int(self._options["max_arity"])

    def bulk_insert(self, times: Any, values: Any) -> None:
        """Add many values at once: sorted stably by time, equal times combine in their order.

        Nothing is added if one of them is refused.
        """
        self._bulk_insert(times_array(times), values)

    def slide(self, times: Any, values: Any, range: int, *, bulk: int = 1) -> Any:
        """Run a fresh tree over a whole column natively, in bulks of `bulk` rows.

        Rows come in the order given, late ones too. After each bulk, everything that is `range` or
        more older than the youngest leaves at once, and the rest is folded: one result a bulk.
        Times are integers. Rows after the last full bulk are left out.

        >>> import slidefold as sf
        >>> Fiba(sf.concat()).slide([1, 3, 2, 4], ["a", "c", "b", "d"], 2)
        ['a', 'c', 'bc', 'cd']
        """
        array = times_array(times)
        if not isinstance(array, np.ndarray) or array.dtype != np.int64:
            raise ValueTypeError("slide takes integer times")
        length, size = whole(range), whole(bulk)
        if length is None or not 1 <= length < 2**63:
            raise WindowError(f"slide needs a whole range >= 1, got {range!r}")
        if size is None or not 1 <= size < 2**63:
            raise WindowError(f"slide needs a whole bulk >= 1, got {bulk!r}")
        return self._slide(array, values, length, size)

    def __iter__(self) -> Iterator[tuple[int | float, Any]]:
        """Walk over (time, result of what is at that time), in time order, as it is now."""
        return iter(self._items())

    copy = __copy__ = saving.copy
    __deepcopy__ = saving.deepcopy
    to_bytes = saving.to_bytes
    __reduce__ = saving.reduce

    @classmethod
    def from_bytes(
        cls, data: bytes, operator: Operator | None = None, *, operators: Operators = ()
    ) -> Self:
        """Make a tree from its state; it goes on exactly as the saved one would have.

        An operator of your own is found in its module if that is imported already, or in the list
        `operators`, or it is `operator`: bytes never import anything. Anything but the state of
        this class is a `StateError`.
        """
        return saving.from_bytes(cls, data, operator, operators)

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
            raise CapacityError("arities that a tree does not take")
        made = cls.__new__(cls)
        made._setup(operator, options)
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.operator}, {len(self)} times>"


class Fiba(Tree):
    """The finger B-tree: events may come and go anywhere in time.

    With n times and an event d times away from the nearer end: `insert` and `evict` take amortised
    O(log d), so O(1) in order, worst O(log n). `query()` is at most 2 combines, `query(since,
    until)` O(log d). `bulk_insert` of m takes O(log d + m(1 + log(1 + d/m))), `bulk_evict` of m
    O(log m). Equal times combine, in the order of their arrival. A node has `min_arity` to
    `max_arity` children (4 times `min_arity` unless given), on the spines at least 2.

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
    """The classic B-tree with aggregates: O(log n) wherever an event is; the baseline of `Fiba`.

    >>> import slidefold as sf
    >>> t = BTree(sf.sum())
    >>> t.bulk_insert([3, 1, 2], [30.0, 10.0, 20.0])
    >>> t.query(2, 3), t.query()
    (50.0, 60.0)
    """

    name = "btree"

    def __init__(self, operator: Operator, *, min_arity: int = 8, counted: bool = False) -> None:
        super().__init__(operator, min_arity=min_arity, counted=counted)
