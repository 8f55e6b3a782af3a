"""Min, max and their relatives: operators that compare.

NaN counts as the largest value: a max is NaN if any value is, a min only if all are.
"""

from __future__ import annotations

from slidefold.operators.base import NUMBERS, VALUES, Operator, columns_of, dtype_of, whole_of


def max(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The largest value. Commutative and selective. State: 8 or 40 bytes; 40 for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.max(), sf.rows(2))
    >>> [w.push(x) for x in (-3.0, -5.0, -7.0)]
    [-3.0, -3.0, -5.0]
    """
    return Operator("max", columns_of(column), dtype_of(dtype, NUMBERS, "max"))


def min(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The smallest value. Commutative and selective. State: 8 or 40 bytes; 40 for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.min(dtype="int64"), sf.rows(2))
    >>> [w.push(x) for x in (3, 5, 7)]
    [3, 3, 5]
    """
    return Operator("min", columns_of(column), dtype_of(dtype, NUMBERS, "min"))


def max_count(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """How often the largest value occurs. Commutative. State: 16 or 40 bytes; 40 for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.max_count(), sf.rows(3))
    >>> [w.push(x) for x in (4, 5, 4, 5, 4, 4, 4)]
    [1, 1, 1, 2, 1, 1, 3]
    """
    return Operator("max_count", columns_of(column), dtype_of(dtype, NUMBERS, "max_count"))


def min_count(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """How often the smallest value occurs. Commutative. State: 16 or 40 bytes; 40 for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.min_count(), sf.rows(3))
    >>> [w.push(x) for x in (5, 4, 4, 6)]
    [1, 1, 2, 2]
    """
    return Operator("min_count", columns_of(column), dtype_of(dtype, NUMBERS, "min_count"))


def max_by(
    arg: str | None = None,
    key: str | None = None,
    *,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """The argument of the row with the largest key; of equal keys the older row.

    Live windows take pairs `(arg, key)`, columns take a pair of columns. `dtype` is the type of the
    argument. Selective, not commutative. State: 24 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.max_by(dtype="str"), sf.rows(2))
    >>> [w.push(pair) for pair in (("Rome", 3.0), ("Oslo", 9.0), ("Bern", 9.0), ("Bonn", 1.0))]
    ['Rome', 'Oslo', 'Oslo', 'Bern']
    """
    return _by("max_by", arg, key, dtype, key_dtype)


def min_by(
    arg: str | None = None,
    key: str | None = None,
    *,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """The argument of the row with the smallest key; of equal keys the older row.

    As `max_by`. Selective, not commutative. State: 24 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.min_by(dtype="str"), sf.rows(2))
    >>> [w.push(pair) for pair in (("Rome", 3.0), ("Oslo", 9.0), ("Bern", 9.0))]
    ['Rome', 'Rome', 'Oslo']
    """
    return _by("min_by", arg, key, dtype, key_dtype)


def range(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The largest value less the smallest.

    NaN if any value is; integers raise `ResultOverflowError` if the range needs more than 64 bits.
    Commutative. State: 16 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.range(), sf.rows(2))
    >>> [w.push(x) for x in (3.0, 5.0, 1.0)]
    [0.0, 2.0, 4.0]
    """
    return Operator("range", columns_of(column), dtype_of(dtype, NUMBERS, "range"))


def relative_variation(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The range divided by the mean: `(max - min) / mean`, a float.

    A mean of 0 gives infinity, or NaN if all values are 0. The mean is that of `mean`, integers in
    128 bits. Commutative. State: 40 or 48 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.relative_variation(), sf.rows(2))
    >>> [w.push(x) for x in (3.0, 5.0, 1.0)]
    [0.0, 0.5, 1.3333333333333333]
    """
    checked = dtype_of(dtype, NUMBERS, "relative_variation")
    return Operator("relative_variation", columns_of(column), checked)


def m4(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """What a plot needs of many points: the tuple `(first, last, min, max)`.

    Does not commute. State: 40 bytes for numbers, the four of them for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.m4(dtype="int64"), sf.rows(3))
    >>> [w.push(x) for x in (2, 9, 1, 5)]
    [(2, 2, 2, 2), (2, 9, 2, 9), (2, 1, 1, 9), (9, 5, 1, 9)]
    """
    return Operator("m4", columns_of(column), dtype_of(dtype, NUMBERS, "m4"))


def top_k(column: str | None = None, k: int = 10, *, dtype: str = "float64") -> Operator:
    """The k largest values as a list, the largest first; NaN counts as the largest.

    Commutative. State: 8 bytes a value, at most k; O(k) a combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.top_k(k=2, dtype="int64"), sf.rows(3))
    >>> [w.push(x) for x in (5, 1, 5, 3)]
    [[5], [5, 1], [5, 5], [5, 3]]
    """
    return Operator(
        "top_k",
        columns_of(column),
        dtype_of(dtype, NUMBERS, "top_k"),
        params=(("k", whole_of(k, 1, "top_k", "k")),),
    )


def _by(name: str, arg: str | None, key: str | None, dtype: str, key_dtype: str) -> Operator:
    checked = dtype_of(dtype, VALUES, name)
    return Operator(name, columns_of(arg, key), checked, dtype_of(key_dtype, NUMBERS, name))
