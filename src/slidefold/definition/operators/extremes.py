"""Min, max and similar operators: operators that compare values.

NaN is the largest value: a max is NaN if any value is NaN, a min only if all values are NaN.
"""

from __future__ import annotations

from dataclasses import replace

from slidefold.definition.operators.base import Input, Operator, columns_of, dtype_of, whole_of
from slidefold.definition.operators.record import NUMBERS, VALUES, Record, recorded
from slidefold.definition.operators.travel import Numbers, as_counted, as_range, as_values

_EXTREME = Record(
    travel=as_values,
    text=True,
    refolds=True,
    column="extreme",
    reads="compared",
    one_pass="compared",
    middle="rows",
)
_EXTREME_COUNT = Record(
    travel=as_counted, text=True, column="extreme_count", reads="compared", middle="rows"
)
_BY = Record(
    types=VALUES,
    key_types=NUMBERS,
    travel=as_values,
    text=True,
    column="extreme_by",
    one_pass="by",
    reads="compared",
    middle="rows",
    picks="by",
)


@recorded(replace(_EXTREME, picks="most", spark="max"))
def max(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Return the largest value. Commutative and selective. State: 8 bytes; 40 for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.max(), sf.rows(2))
    >>> [w.push(x) for x in (-3.0, -5.0, -7.0)]
    [-3.0, -3.0, -5.0]
    """
    return Operator("max", columns_of(column), dtype_of(dtype, "max"))


@recorded(replace(_EXTREME, picks="least", spark="min"))
def min(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Return the smallest value. Commutative and selective. State: 8 bytes; 40 for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.min(dtype="int64"), sf.rows(2))
    >>> [w.push(x) for x in (3, 5, 7)]
    [3, 3, 5]
    """
    return Operator("min", columns_of(column), dtype_of(dtype, "min"))


@recorded(replace(_EXTREME_COUNT, picks="all_most"))
def max_count(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Count how often the largest value occurs. Commutative. State: 16 bytes; 40 for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.max_count(), sf.rows(3))
    >>> [w.push(x) for x in (4, 5, 4, 5, 4, 4, 4)]
    [1, 1, 1, 2, 1, 1, 3]
    """
    return Operator("max_count", columns_of(column), dtype_of(dtype, "max_count"))


@recorded(replace(_EXTREME_COUNT, picks="all_least"))
def min_count(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Count how often the smallest value occurs. Commutative. State: 16 bytes; 40 for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.min_count(), sf.rows(3))
    >>> [w.push(x) for x in (5, 4, 4, 6)]
    [1, 1, 2, 2]
    """
    return Operator("min_count", columns_of(column), dtype_of(dtype, "min_count"))


@recorded(_BY)
def max_by(
    arg: Input | None = None,
    key: Input | None = None,
    *,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """Return the argument of the row with the largest key; the older row wins a tie.

    Live windows take pairs `(arg, key)`; columns are a pair of columns. `dtype` is the type of the
    argument. Selective, not commutative. State: 24 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.max_by(dtype="str"), sf.rows(2))
    >>> [w.push(pair) for pair in (("Rome", 3.0), ("Oslo", 9.0), ("Bern", 9.0), ("Bonn", 1.0))]
    ['Rome', 'Oslo', 'Oslo', 'Bern']
    """
    return _by("max_by", arg, key, dtype, key_dtype)


@recorded(_BY)
def min_by(
    arg: Input | None = None,
    key: Input | None = None,
    *,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """Return the argument of the row with the smallest key; the older row wins a tie.

    The input is that of `max_by`. Selective, not commutative. State: 24 bytes for numbers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.min_by(dtype="str"), sf.rows(2))
    >>> [w.push(pair) for pair in (("Rome", 3.0), ("Oslo", 9.0), ("Bern", 9.0))]
    ['Rome', 'Rome', 'Oslo']
    """
    return _by("min_by", arg, key, dtype, key_dtype)


@recorded(Record(travel=as_range, column="range", middle="rows", picks="least and most"))
def range(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Compute the largest value minus the smallest.

    The result is NaN if any value is NaN. Integers raise `ResultOverflowError` if the range needs
    more than 64 bits. Commutative. State: 16 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.range(), sf.rows(2))
    >>> [w.push(x) for x in (3.0, 5.0, 1.0)]
    [0.0, 2.0, 4.0]
    """
    return Operator("range", columns_of(column), dtype_of(dtype, "range"))


@recorded(
    Record(
        travel=Numbers(unsigned="variant", name="relative_variation"),
        column="unsigned",
    )
)
def relative_variation(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Compute the range divided by the mean, `(max - min) / mean`, a float.

    If the mean is 0, the result is infinity, or NaN if all values are 0. The mean is computed as by
    `mean`, for integers in 128 bits. Commutative. State: 40 bytes for floats, 48 for integers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.relative_variation(), sf.rows(2))
    >>> [w.push(x) for x in (3.0, 5.0, 1.0)]
    [0.0, 0.5, 1.3333333333333333]
    """
    checked = dtype_of(dtype, "relative_variation")
    return Operator("relative_variation", columns_of(column), checked)


@recorded(
    Record(travel=as_values, text=True, column="m4", reads="compared", middle="rows", picks="four")
)
def m4(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Return the tuple `(first, last, min, max)`, which is enough to draw a line chart.

    Not commutative. State: 40 bytes for numbers, the four values for strings.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.m4(dtype="int64"), sf.rows(3))
    >>> [w.push(x) for x in (2, 9, 1, 5)]
    [(2, 2, 2, 2), (2, 9, 2, 9), (2, 1, 1, 9), (9, 5, 1, 9)]
    """
    return Operator("m4", columns_of(column), dtype_of(dtype, "m4"))


@recorded(
    Record(
        travel=as_values,
        text=True,
        column="top_k",
        reads="compared",
        algorithm="top_values",
        because="it keeps the largest values of a window sorted",
        engine="multiset",
        middle="rows",
        picks="top",
    )
)
def top_k(column: Input | None = None, k: int = 10, *, dtype: str = "float64") -> Operator:
    """Return the k largest values as a list, largest first; NaN is the largest value.

    Commutative. State: 8 bytes per value, at most k values; O(k) per combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.top_k(k=2, dtype="int64"), sf.rows(3))
    >>> [w.push(x) for x in (5, 1, 5, 3)]
    [[5], [5, 1], [5, 5], [5, 3]]
    """
    return Operator(
        "top_k",
        columns_of(column),
        dtype_of(dtype, "top_k"),
        params=(("k", whole_of(k, 1, "top_k", "k")),),
    )


def _by(name: str, arg: Input | None, key: Input | None, dtype: str, key_dtype: str) -> Operator:
    checked = dtype_of(dtype, name)
    by = dtype_of(key_dtype, name, second=True)
    return Operator(name, columns_of(arg, key), checked, by)
