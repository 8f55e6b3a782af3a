"""First, last, concatenation and collection: operators that tell the order of their values."""

from __future__ import annotations

from slidefold.operators.base import VALUES, Operator, columns_of, dtype_of


def first(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The oldest value. Selective, not commutative. State: 16 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.first(dtype="str"), sf.rows(2))
    >>> [w.push(x) for x in "abc"]
    ['a', 'a', 'b']
    """
    return Operator("first", columns_of(column), dtype_of(dtype, VALUES, "first"))


def last(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The youngest value. Selective, not commutative. State: 16 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.last(dtype="int64"), sf.rows(2))
    >>> [w.push(x) for x in (1, 2, 3)]
    [1, 2, 3]
    """
    return Operator("last", columns_of(column), dtype_of(dtype, VALUES, "last"))


def concat(column: str | None = None) -> Operator:
    """The strings one after the other, in time order. Does not commute. State: the string.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.concat(), sf.rows(3))
    >>> [w.push(x) for x in "abcd"]
    ['a', 'ab', 'abc', 'bcd']
    """
    return Operator("concat", columns_of(column), dtype="str")


def collect(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The values as a list, in time order. Does not commute. State: the values.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.collect(dtype="int64"), sf.rows(2))
    >>> [w.push(x) for x in (1, 2, 3)]
    [[1], [1, 2], [2, 3]]
    """
    return Operator("collect", columns_of(column), dtype_of(dtype, VALUES, "collect"))
