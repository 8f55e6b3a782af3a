"""First, last, nth, concat and collect: operators that depend on the order of values.

With `nulls="keep"` None is a value like any other. By default None is skipped, but it counts as a
row of a rows window.
"""

from __future__ import annotations

from dataclasses import replace

from slidefold.definition.operators.base import (
    Input,
    Operator,
    columns_of,
    dtype_of,
    nulls_of,
    whole_of,
)
from slidefold.definition.operators.record import KEYS, VALUES, Record, recorded
from slidefold.definition.operators.travel import as_values

_RANGE = "a window is a range of rows in the sorted column"


def _place(
    column: str, because: str, picks: str = "", middle: str = "rows", one_pass: str = "pick"
) -> Record:
    """Return the record of an operator whose result follows from the bounds of a window."""
    return Record(
        types=VALUES,
        travel=as_values,
        column=column,
        reads="compared",
        one_pass=one_pass,
        algorithm="bounds",
        because=because,
        engine="bounds",
        middle=middle,
        picks=picks,
        grows=middle == "whole",
    )


@recorded(
    replace(_place("first", "the lower bound of a window gives the row", "first"), refolds=True)
)
def first(column: Input | None = None, *, dtype: str = "float64", nulls: str = "skip") -> Operator:
    """Return the oldest value. Selective, not commutative. State: 16 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.first(dtype="str"), sf.rows(2))
    >>> [w.push(x) for x in "abc"]
    ['a', 'a', 'b']
    >>> w = sf.Window(sf.first(dtype="str", nulls="keep"), sf.rows(2))
    >>> [w.push(x) for x in ("a", None, "c")]
    ['a', 'a', None]
    """
    return _ordered("first", column, dtype, nulls)


@recorded(
    replace(_place("last", "the upper bound of a window gives the row", "last"), refolds=True)
)
def last(column: Input | None = None, *, dtype: str = "float64", nulls: str = "skip") -> Operator:
    """Return the newest value. Selective, not commutative. State: 16 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.last(dtype="int64"), sf.rows(2))
    >>> [w.push(x) for x in (1, 2, 3)]
    [1, 2, 3]
    """
    return _ordered("last", column, dtype, nulls)


@recorded(_place("nth", "the row is n rows before the upper bound of a window", "youngest"))
def nth(
    column: Input | None = None, n: int = 1, *, dtype: str = "float64", nulls: str = "skip"
) -> Operator:
    """Return the n-th newest value; n = 1 is the newest.

    The result is None if the window has fewer values. Not commutative. State: the newest n values.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.nth(n=2, dtype="int64"), sf.rows(3))
    >>> [w.push(x) for x in (1, 2, 3)]
    [None, 1, 2]
    """
    return _ordered("nth", column, dtype, nulls, n=whole_of(n, 1, "nth", "n"))


@recorded(
    Record(
        types=("str",),
        refolds=True,
        column="concat",
        algorithm="bounds",
        because=_RANGE,
        engine="bounds",
        middle="whole",
        grows=True,
    )
)
def concat(column: Input | None = None) -> Operator:
    """Concatenate the strings in time order. Not commutative. State: the string.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.concat(), sf.rows(3))
    >>> [w.push(x) for x in "abcd"]
    ['a', 'ab', 'abc', 'bcd']
    """
    return Operator("concat", columns_of(column), dtype="str")


@recorded(_place("collect", _RANGE, middle="whole", one_pass=""))
def collect(
    column: Input | None = None, *, dtype: str = "float64", nulls: str = "skip"
) -> Operator:
    """Collect the values in a list, in time order. Not commutative. State: the values.

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
        because="a row is in the result if the previous row of equal value is outside the window",
        engine="bounds",
        middle="rows",
        picks="distinct",
        grows=True,
    )
)
def collect_distinct(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Collect the distinct values in a list, in the order of their first occurrence.

    All NaN are one value, and -0.0 equals 0.0. Not commutative. State: the distinct values; a
    combine reads all of them.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.collect_distinct(dtype="str"), sf.rows(3))
    >>> [w.push(x) for x in "abab"]
    [['a'], ['a', 'b'], ['a', 'b'], ['b', 'a']]
    """
    checked = dtype_of(dtype, "collect_distinct")
    return Operator("collect_distinct", columns_of(column), checked)


def _ordered(name: str, column: Input | None, dtype: str, nulls: str, **params: int) -> Operator:
    return Operator(
        name,
        columns_of(column),
        dtype_of(dtype, name),
        params=(*params.items(), *nulls_of(nulls, name)),
    )
