"""Count, sum and the means and spreads: operators that add."""

from __future__ import annotations

from dataclasses import replace

from slidefold.definition.operators.base import Operator, columns_of, dtype_of, whole_of
from slidefold.definition.operators.record import Record, recorded
from slidefold.definition.operators.travel import Numbers
from slidefold.errors import OperatorError

_SPREAD = Record(
    travel=Numbers(unsigned="differences"), column="spread", one_pass=True, keyed="numbers"
)
_VAR = replace(_SPREAD, unit=lambda first, _: first * first)
_STD = replace(_SPREAD, unit=lambda first, _: first)


@recorded(
    Record(
        types=("any",),
        rows=True,
        never_null=True,
        column="count",
        one_pass=True,
        algorithm="bounds",
        because="the bounds of a window say how many rows it holds",
        engine="bounds",
        keyed="any",
        spark="count",
    )
)
def count(column: str | None = None) -> Operator:
    """How many rows there are; of a column, how many values that are not None.

    0 for an empty window. Commutative and invertible. State: 8 bytes.

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
        column="sum",
        exact_decimals=True,
        one_pass=True,
        keyed="numbers",
        spark="sum",
    )
)
def sum(
    column: str | None = None, *, dtype: str = "float64", compensated: bool = False
) -> Operator:
    """The sum.

    Commutative. Integers are summed in 128 bits, are invertible, and raise `ResultOverflowError`
    only if a result needs more than 64 bits. Floats follow IEEE and are never subtracted, so that a
    large value leaves no trace once it has left the window. State: 16 or 8 bytes.

    `compensated=True` keeps what rounding takes away from a float sum: the result is the exact sum
    rounded once, unless values cancel to less than 1e-15 of their absolute sum, and that however
    many there are. State: 16 bytes; about four times the time of a combine.

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
        raise OperatorError("compensated is for float64: sums of int64 are exact as they are")
    params = (("compensated", True),)
    return Operator("sum", columns_of(column), checked, params=params, variant="compensated_sum")


@recorded(
    Record(
        travel=Numbers(unsigned="variant", decimal="variant", duration=True, name="mean"),
        column="mean",
        exact_decimals=True,
        one_pass=True,
        keyed="numbers",
        spark="avg",
    )
)
def mean(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The arithmetic mean, a float.

    Commutative. Integers and decimals are summed exactly, and the result is rounded once; they are
    invertible. Event by event, decimals of more than 18 digits are summed as floats. State: 16 or
    32 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.mean(dtype="int64"), sf.rows(3))
    >>> [w.push(x) for x in (-1, -2, -6)]
    [-1.0, -1.5, -3.0]
    """
    return Operator("mean", columns_of(column), dtype_of(dtype, "mean"))


@recorded(Record(travel=Numbers(), one_pass=True, as_floats=True, keyed="signed"))
def geomean(column: str | None = None, *, dtype: str = "float64") -> Operator:
    """The geometric mean, computed from logarithms so that it neither over- nor underflows.

    A zero among the values gives 0, a negative value NaN. Commutative. State: 16 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.geomean(), sf.rows(2))
    >>> [round(w.push(x), 9) for x in (2.0, 8.0, 2.0)]
    [2.0, 4.0, 4.0]
    """
    return Operator("geomean", columns_of(column), dtype_of(dtype, "geomean"))


@recorded(_VAR)
def var(column: str | None = None, *, ddof: int = 1, dtype: str = "float64") -> Operator:
    """The variance: of a sample (`ddof=1`) or of a population (`ddof=0`).

    None where there are not more than `ddof` values. Parts merge by the pairwise formula, which
    keeps its digits far from zero, also those of integers that no float holds: the relative error
    is below 1e-12. Infinities and NaN give NaN. Commutative. State: 32 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.var(), sf.rows(3))
    >>> [w.push(x) for x in (1.0, 3.0, 5.0)]
    [None, 2.0, 4.0]
    """
    return _spread("var", column, ddof, dtype)


@recorded(_STD)
def std(column: str | None = None, *, ddof: int = 1, dtype: str = "float64") -> Operator:
    """The standard deviation, the square root of `var`.

    Its numerics, and where it is None, are those of `var`. Commutative. State: 32 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.std(ddof=0), sf.rows(2))
    >>> [w.push(x) for x in (1.0, 3.0, 3.0)]
    [0.0, 1.0, 0.0]
    """
    return _spread("std", column, ddof, dtype)


def _spread(name: str, column: str | None, ddof: int, dtype: str) -> Operator:
    ddof = whole_of(ddof, 0, name, "ddof", most=2**31 - 1)
    checked = dtype_of(dtype, name)
    return Operator(name, columns_of(column), checked, params=(("ddof", ddof),))
