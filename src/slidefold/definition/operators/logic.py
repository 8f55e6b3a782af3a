"""Truth, bits and bins: operators that classify each value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from slidefold.definition.operators.base import Input, Operator, columns_of, dtype_of
from slidefold.definition.operators.record import Record, recorded
from slidefold.definition.operators.travel import Numbers, as_truths
from slidefold.errors import OperatorError

_TRUTHS = Record(
    types=("bool", "float64", "int64"),
    travel=as_truths,
    plain=("bool",),
    reads="truths",
)
_BITS = Record(types=("int64",), refolds=True, column="bits", reads="bits")
MOST_EDGES = 2**20  # a state of 8 MiB


@recorded(_TRUTHS)
def any(column: Input | None = None, *, dtype: str = "bool") -> Operator:
    """Tell whether any value is true; a number, also NaN, is true unless it is 0.

    Commutative and invertible, because it counts the true values. State: 8 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.any(), sf.rows(2))
    >>> [w.push(x) for x in (True, False, False)]
    [True, True, False]
    """
    return Operator("any", columns_of(column), dtype_of(dtype, "any"))


@recorded(_TRUTHS)
def all(column: Input | None = None, *, dtype: str = "bool") -> Operator:
    """Tell whether all values are true; a number, also NaN, is true unless it is 0.

    Commutative and invertible, because it counts the false values. State: 8 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.all(dtype="int64"), sf.rows(2))
    >>> [w.push(x) for x in (3, 0, 5, 7)]
    [True, False, False, True]
    """
    return Operator("all", columns_of(column), dtype_of(dtype, "all"))


@recorded(_BITS)
def bit_and(column: Input | None = None) -> Operator:
    """Compute the bits that are set in all integers. Commutative. State: 8 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.bit_and(), sf.rows(2))
    >>> [w.push(x) for x in (7, 13, 4)]
    [7, 5, 4]
    """
    return Operator("bit_and", columns_of(column), "int64")


@recorded(_BITS)
def bit_or(column: Input | None = None) -> Operator:
    """Compute the bits that are set in any integer. Commutative. State: 8 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.bit_or(), sf.rows(2))
    >>> [w.push(x) for x in (1, 4, 2)]
    [1, 5, 6]
    """
    return Operator("bit_or", columns_of(column), "int64")


@recorded(_BITS)
def bit_xor(column: Input | None = None) -> Operator:
    """Compute the bits that are set in an odd number of integers.

    Commutative and invertible, because flipping a bit twice restores it. State: 8 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.bit_xor(), sf.rows(2))
    >>> [w.push(x) for x in (1, 5, 2)]
    [1, 4, 7]
    """
    return Operator("bit_xor", columns_of(column), "int64")


@recorded(
    Record(
        travel=Numbers(unsigned="variant", name="histogram"),
        column="histogram",
        algorithm="bins",
        because="each row updates the count of its bin when it enters and when it leaves",
        example=(("edges", (0, 1)),),
    )
)
def histogram(
    column: Input | None = None, *, edges: Sequence[float], dtype: str = "float64"
) -> Operator:
    """Count the values in each bin `[e0, e1), [e1, e2), ...`; the last bin is closed.

    Values below the first edge, values above the last edge, and NaN are not counted. Edges may be
    infinite; there are at most 2**20. Commutative and invertible. State: one number for a single
    value, then 8 bytes per bin; O(bins) per combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.histogram(edges=[0, 10, 20]), sf.rows(3))
    >>> [w.push(x) for x in (5, 20, 10, -1)]
    [[1, 0], [1, 1], [1, 2], [0, 2]]
    """
    try:
        checked = tuple(map(_edge, edges))
    except OperatorError:
        raise
    except TypeError:
        raise OperatorError(f"edges of histogram must be a list, got {edges!r}") from None
    if len(checked) > MOST_EDGES:
        raise OperatorError(f"histogram takes at most {MOST_EDGES:,} edges, got {len(checked):,}")
    if len(checked) < 2:
        raise OperatorError(f"histogram needs at least 2 edges, got {len(checked)}")
    for low, high in pairwise(checked):
        if not low < high:
            raise OperatorError(f"edges of histogram must increase, got {low!r} before {high!r}")
    return Operator(
        "histogram",
        columns_of(column),
        dtype_of(dtype, "histogram"),
        params=(("edges", checked),),
    )


def _edge(edge: float) -> float:
    try:
        number = float(edge)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(edge, str | bool) or math.isnan(number):
        raise OperatorError(f"edges of histogram must be numbers, got {edge!r}")
    return number
