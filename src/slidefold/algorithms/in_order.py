"""The in-order algorithms: insert, evict and query may be called in any sequence."""

from __future__ import annotations

from slidefold.algorithms.base import Algorithm, whole
from slidefold.errors import ValueTypeError


class Recalc(Algorithm):
    """The oracle: folds the whole window for each query. n-1 combines per query; n states.

    >>> import slidefold as sf
    >>> a = Recalc(sf.concat())
    >>> a.insert("x"); a.insert("y"); a.query()
    'xy'
    """

    name = "recalc"


class SubtractOnEvict(Algorithm):
    """A running total, for invertible operators only. 1 combine per insert, 1 remove per evict.

    >>> import slidefold as sf
    >>> a = SubtractOnEvict(sf.sum(dtype="int64"))
    >>> a.insert(1); a.insert(2); a.evict(); a.query()
    2
    """

    name = "subtract_on_evict"


class TwoStacks(Algorithm):
    """Two aggregate stacks. 1 combine per insert, amortised 1 (worst n) per evict; 2n states."""

    name = "two_stacks"


class TwoStacksLite(Algorithm):
    """Two-Stacks in one queue. 1 combine per insert, amortised 1 (worst n) per evict; n+1 states.

    >>> import slidefold as sf, numpy as np
    >>> TwoStacksLite(sf.sum()).slide(np.array([1.0, 2.0, 4.0, 8.0]), 2)
    array([ 1.,  3.,  6., 12.])
    """

    name = "two_stacks_lite"


class Daba(Algorithm):
    """Worst-case constant time: at most 4 combines per insert, 3 per evict; 2n states."""

    name = "daba"


class DabaLite(Algorithm):
    """Worst-case constant time: at most 3 combines per insert, 2 per evict; n+2 states.

    >>> import slidefold as sf
    >>> a = DabaLite(sf.max())
    >>> a.insert(1.0); a.insert(-2.0); a.evict()
    >>> a.query(), len(a)
    (-2.0, 1)
    """

    name = "daba_lite"


class BInt(Algorithm):
    """Base intervals: aligned runs of 2^k values. At most 2 log2 n combines per query; 2n states.

    >>> import slidefold as sf
    >>> a = BInt(sf.concat())
    >>> for x in "abcdef": a.insert(x)
    >>> a.evict(); a.query()
    'bcdef'
    """

    name = "b_int"


class FlatFit(Algorithm):
    """Skip pointers over a ring. Inserts and evicts are free; amortised 3 (worst n) per query."""

    name = "flat_fit"


class Amta(Algorithm):
    """Perfect trees over the window. Amortised O(1), worst O(log n); about 2n states.

    >>> import slidefold as sf
    >>> a = Amta(sf.concat())
    >>> for x in "abcdef": a.insert(x)
    >>> a.bulk_evict(4); a.query()
    'ef'
    """

    name = "amta"

    def bulk_evict(self, count: int) -> None:
        """Remove the `count` oldest values, in O(log n) steps."""
        number = whole(count)
        if number is None or number < 0:
            raise ValueTypeError(f"bulk_evict needs an integer count >= 0, got {count!r}")
        self._bulk_evict(min(number, 2**63))


class SlickDeque(Algorithm):
    """A deque of possible winners; selective operators. Amortised < 2 comparisons per insert."""

    name = "slick_deque"
