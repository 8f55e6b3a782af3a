"""First, last, nth, concatenation and collection: operators that tell the order of their values.

`nulls="keep"` makes None a value like others; by default None only takes its place in the window.
"""

from __future__ import annotations

from slidefold.definition.operators.base import (
    Operator,
    columns_of,
    dtype_of,
    nulls_of,
    whole_of,
)
from slidefold.definition.operators.record import KEYS, VALUES, Record, recorded
from slidefold.definition.operators.travel import as_values

_RANGE = "a window is a range of the sorted column"


def _place(column: str, because: str, picks: str = "", middle: str = "rows") -> Record:
    """Return the record of an operator that the bounds of a window answer."""
    return Record(
        types=VALUES,
        travel=as_values,
        column=column,
        reads="compared",
        algorithm="bounds",
        because=because,
        engine="bounds",
        middle=middle,
        picks=picks,
    )


@recorded(_place("first", "the lower bound of a window is the row", "first"))
def first(column: str | None = None, *, dtype: str = "float64", nulls: str = "skip") -> Operator:
    """The oldest value. Selective, not commutative. State: 16 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.first(dtype="str"), sf.rows(2))
    >>> [w.push(x) for x in "abc"]
    ['a', 'a', 'b']
    >>> w = sf.Window(sf.first(dtype="str", nulls="keep"), sf.rows(2))
    >>> [w.push(x) for x in ("a", None, "c")]
    ['a', 'a', None]
    """
    return _ordered("first", column, dtype, nulls)


@recorded(_place("last", "the upper bound of a window is the row", "last"))
def last(column: str | None = None, *, dtype: str = "float64", nulls: str = "skip") -> Operator:
    """The youngest value. Selective, not commutative. State: 16 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.last(dtype="int64"), sf.rows(2))
    >>> [w.push(x) for x in (1, 2, 3)]
    [1, 2, 3]
    """
    return _ordered("last", column, dtype, nulls)


@recorded(_place("nth", "the row is n below the upper bound of a window", "youngest"))
def nth(
    column: str | None = None, n: int = 1, *, dtype: str = "float64", nulls: str = "skip"
) -> Operator:
    """The n-th youngest value, 1 being the youngest; None if the window has fewer.

    Does not commute. State: the youngest n values.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.nth(n=2, dtype="int64"), sf.rows(3))
    >>> [w.push(x) for x in (1, 2, 3)]
    [None, 1, 2]
    """
    return _ordered("nth", column, dtype, nulls, n=whole_of(n, 1, "nth", "n"))


@recorded(
    Record(
        types=("str",),
        column="concat",
        algorithm="bounds",
        because=_RANGE,
        engine="bounds",
        middle="whole",
    )
)
def concat(column: str | None = None) -> Operator:
    """The strings one after the other, in time order. Does not commute. State: the string.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.concat(), sf.rows(3))
    >>> [w.push(x) for x in "abcd"]
    ['a', 'ab', 'abc', 'bcd']
    """
    return Operator("concat", columns_of(column), dtype="str")


@recorded(_place("collect", _RANGE, middle="whole"))
def collect(column: str | None = None, *, dtype: str = "float64", nulls: str = "skip") -> Operator:
    """The values as a list, in time order. Does not commute. State: the values.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.collect(dtype="int64"), sf.rows(2))
    >>> [w.push(x) for x in (1, 2, 3)]
    [[1], [1, 2], [2, 3]]
    """
    return _ordered("collect", column, dtype, nulls)


@recorded(
    Record(
        types=KEYS,
        travel=as_values,
        column="collect_distinct",
        reads="compared",
        algorithm="bounds",
        because="a row counts unless the one before it of its value is in the window too",
        engine="bounds",
        middle="rows",
        picks="distinct",
    )
)
def collect_distinct(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The distinct values as a list, in the order in which they first occur in the window.

    NaN is one value, and -0.0 is 0.0. Does not commute. State: the distinct values; a combine
    looks at all of them.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.collect_distinct(dtype="str"), sf.rows(3))
    >>> [w.push(x) for x in "abab"]
    [['a'], ['a', 'b'], ['a', 'b'], ['b', 'a']]
    """
    checked = dtype_of(dtype, "collect_distinct")
    return Operator("collect_distinct", columns_of(column), checked)


def _ordered(name: str, column: str | None, dtype: str, nulls: str, **params: int) -> Operator:
    return Operator(
        name,
        columns_of(column),
        dtype_of(dtype, name),
        params=(*params.items(), *nulls_of(nulls, name)),
    )
