"""Counts, sums, means and variances: operators that add values."""

from __future__ import annotations

from dataclasses import replace

from slidefold.definition.operators.base import Input, Operator, columns_of, dtype_of, whole_of
from slidefold.definition.operators.record import Record, recorded
from slidefold.definition.operators.travel import Numbers
from slidefold.errors import OperatorError

_SPREAD = Record(travel=Numbers(unsigned="differences"), column="spread", one_pass="numbers")
_VAR = replace(_SPREAD, unit=lambda first, _: first * first)
_SHAPE = Record(travel=Numbers(unsigned="differences"), column="spread")
_STD = replace(_SPREAD, unit=lambda first, _: first)


@recorded(
    Record(
        types=("any",),
        rows=True,
        never_null=True,
        column="count",
        one_pass="count",
        algorithm="bounds",
        because="the bounds of a window give its number of rows",
        engine="bounds",
        spark="count",
    )
)
def count(column: Input | None = None) -> Operator:
    """Count the rows; with a column, count its values that are not None.

    An empty window gives 0. Commutative and invertible. State: 8 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.count(), sf.rows(2))
    >>> [w.push(x) for x in ("a", None, "b")]
    [1, 2, 2]
    >>> w = sf.Window(sf.count("word"), sf.rows(2))
    >>> [w.push(x) for x in ("a", None, None)]
    [1, 1, 0]
    """
    return Operator("count", columns_of(column), dtype="any")


@recorded(
    Record(
        travel=Numbers(unsigned="none", decimal="sum", duration=True),
        refolds=True,
        column="sum",
        exact_decimals=True,
        one_pass="numbers",
        spark="sum",
    )
)
def sum(
    column: Input | None = None, *, dtype: str = "float64", compensated: bool = False
) -> Operator:
    """Compute the sum.

    Commutative. Integers are summed in 128 bits and are invertible; they raise
    `ResultOverflowError` only if a result needs more than 64 bits. Floats follow IEEE 754 and are
    never subtracted, so a large value causes no error after it has left the window. State: 16 bytes
    for integers, 8 bytes for floats.

    `compensated=True` also tracks the rounding error of a float sum: the result is the exact sum
    rounded once, for any number of values, unless they cancel to less than 1e-15 of their absolute
    sum. State: 16 bytes; a combine takes about four times as long.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.sum(), sf.rows(2))
    >>> [w.push(x) for x in (1e16, 1.0, 1.0)]
    [1e+16, 1e+16, 2.0]
    >>> w = sf.Window(sf.sum(compensated=True), sf.rows(3))
    >>> [w.push(x) for x in (1e16, 1.0, -1e16)]
    [1e+16, 1e+16, 1.0]
    """
    checked = dtype_of(dtype, "sum")
    if not compensated:
        return Operator("sum", columns_of(column), checked)
    if checked != "float64":
        raise OperatorError(
            f"compensated needs dtype='float64', got {checked!r}; sums of integers are exact "
            "without it"
        )
    params = (("compensated", True),)
    return Operator("sum", columns_of(column), checked, params=params, variant="compensated_sum")


@recorded(
    Record(
        travel=Numbers(unsigned="variant", decimal="variant", duration=True, name="mean"),
        column="mean",
        exact_decimals=True,
        one_pass="numbers",
        spark="avg",
    )
)
def mean(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Compute the arithmetic mean, a float.

    Commutative. Integers and decimals are summed exactly, the result is rounded once, and they are
    invertible. Event by event, decimals with more than 18 digits are summed as floats. State: 16
    bytes for floats, 32 bytes for integers.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.mean(dtype="int64"), sf.rows(3))
    >>> [w.push(x) for x in (-1, -2, -6)]
    [-1.0, -1.5, -3.0]
    """
    return Operator("mean", columns_of(column), dtype_of(dtype, "mean"))


@recorded(Record(travel=Numbers(), one_pass="numbers", as_floats=True))
def geomean(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Compute the geometric mean, from logarithms to avoid overflow and underflow.

    If a value is 0, the result is 0; if a value is negative, it is NaN. Commutative. State: 16
    bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.geomean(), sf.rows(2))
    >>> [round(w.push(x), 9) for x in (2.0, 8.0, 2.0)]
    [2.0, 4.0, 4.0]
    """
    return Operator("geomean", columns_of(column), dtype_of(dtype, "geomean"))


@recorded(_SHAPE)
def skewness(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Compute the skewness of a sample, corrected for bias, as pandas does.

    The result is None if there are fewer than 3 values, and 0 if all are equal. States are combined
    by the pairwise formula. Infinities, NaN, and deviations beyond 1e100, whose third power
    overflows, give NaN. Commutative. State: 48 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.skewness(), sf.rows(3))
    >>> [w.push(x) for x in (1.0, 3.0, 5.0)]
    [None, None, 0.0]
    """
    return Operator("skewness", columns_of(column), dtype_of(dtype, "skewness"))


@recorded(_SHAPE)
def kurtosis(column: Input | None = None, *, dtype: str = "float64") -> Operator:
    """Compute the excess kurtosis of a sample, corrected for bias, as pandas does.

    The result is None if there are fewer than 4 values, and -3 if all are equal. States are
    combined by the pairwise formula. Infinities, NaN, and deviations beyond 1e75, whose fourth
    power overflows, give NaN. Commutative. State: 48 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.kurtosis(), sf.rows(4))
    >>> [w.push(x) for x in (0.0, 1.0, 1.0, 2.0)]
    [None, None, None, 1.5]
    """
    return Operator("kurtosis", columns_of(column), dtype_of(dtype, "kurtosis"))


@recorded(_VAR)
def var(column: Input | None = None, *, ddof: int = 1, dtype: str = "float64") -> Operator:
    """Compute the variance of a sample (`ddof=1`) or of a population (`ddof=0`).

    The result is None if there are at most `ddof` values. States are combined by the pairwise
    formula, which stays accurate for values far from zero and for integers that a float cannot
    represent: the relative error is below 1e-12. Infinities and NaN give NaN. Commutative. State:
    32 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.var(), sf.rows(3))
    >>> [w.push(x) for x in (1.0, 3.0, 5.0)]
    [None, 2.0, 4.0]
    """
    return _spread("var", column, ddof, dtype)


@recorded(_STD)
def std(column: Input | None = None, *, ddof: int = 1, dtype: str = "float64") -> Operator:
    """Compute the standard deviation, the square root of `var`.

    It has the accuracy of `var`, and it is None where `var` is. Commutative. State: 32 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.std(ddof=0), sf.rows(2))
    >>> [w.push(x) for x in (1.0, 3.0, 3.0)]
    [0.0, 1.0, 0.0]
    """
    return _spread("std", column, ddof, dtype)


def _spread(name: str, column: Input | None, ddof: int, dtype: str) -> Operator:
    ddof = whole_of(ddof, 0, name, "ddof", most=2**31 - 1)
    checked = dtype_of(dtype, name)
    return Operator(name, columns_of(column), checked, params=(("ddof", ddof),))
