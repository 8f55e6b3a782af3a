"""Median and quantile: exact, by an order-statistics structure.

They have no associative combine: the medians of two parts do not determine the median of the whole.
So no algorithm folds them. Windows and columns keep the values sorted instead, at O(log n) per
step.

NaN is the largest value, as for `max`; interpolating between a number and NaN gives NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slidefold.definition.operators.base import Input, Operator, columns_of, dtype_of
from slidefold.definition.operators.record import KEYS, Record, recorded
from slidefold.definition.operators.travel import TIMES, Coding, as_ordered
from slidefold.errors import OperatorError, ValueTypeError, nearest

BETWEEN = ("linear", "midpoint")
INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")
_ORDER = Record(
    types=KEYS,
    travel=as_ordered,
    column="quantile",
    reads="compared",
    algorithm="order_statistics",
    because="it has no associative combine, so the values are kept sorted",
    engine="multiset",
    middle="whole",
    grows=True,
)


@dataclass(frozen=True, repr=False)
class QuantileOperator(Operator):
    """An order statistic: a position among the sorted values."""

    @property
    def native_name(self) -> str:
        """The native name; a median is a quantile."""
        return "quantile"

    @property
    def native_params(self) -> dict[str, Any]:
        """The share q, the interpolation and the types."""
        travel = self.codings[0] if self.codings else Coding(self.dtype, "plain", "plain")
        # Decimals and unsigned integers are exact; an interpolated value is a float.
        real = travel.result not in (*TIMES, "plain") and not self.picks
        result = "float" if real else travel.result
        between = {"codec": travel.codec, "result": result, "base": travel.base}
        return {"q": 0.5, **dict(self.params), **between}

    @property
    def monoid(self) -> bool:
        """False: all values must be kept sorted."""
        return False

    @property
    def q(self) -> float:
        """The share of values below the result, from 0 to 1."""
        return float(self.native_params["q"])

    @property
    def interpolation(self) -> str:
        """The result for a position between two values."""
        return str(dict(self.params)["interpolation"])

    @property
    def picks(self) -> bool:
        """Whether the result is one of the values."""
        return self.interpolation not in BETWEEN


@recorded(_ORDER)
def median(
    column: Input | None = None, *, interpolation: str = "linear", dtype: str = "float64"
) -> QuantileOperator:
    """Compute the exact median, by default a float.

    For an even number of values it is the mean of the two middle values; `interpolation` changes
    that, as for `quantile`. It has no associative combine, so the values are kept sorted. State:
    about 32 bytes per value; O(log n) per step.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.median(), sf.rows(3))
    >>> [w.push(x) for x in (5.0, 1.0, 2.0, 9.0)]
    [5.0, 3.0, 2.0, 2.0]
    """
    return _quantile("median", column, dtype, interpolation)


@recorded(_ORDER)
def quantile(
    column: Input | None = None,
    q: float = 0.5,
    *,
    interpolation: str = "linear",
    dtype: str = "float64",
) -> QuantileOperator:
    """Compute the exact q-quantile.

    Of n sorted values it is the one at position `q * (n - 1)`, counted from 0. If the position is
    between two values, `interpolation` decides, as in numpy. "linear" (the default) and "midpoint"
    give floats; for times and durations they give whole units, rounded down. "lower", "higher" and
    "nearest" give one of the values; they also work for strings and bytes. NaN is the largest
    value. It has no associative combine, so the values are kept sorted. State: about 32 bytes per
    value; O(log n) per step.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.quantile(q=0.25), sf.rows(5))
    >>> [w.push(x) for x in (4.0, 0.0, 3.0, 1.0, 2.0)]
    [4.0, 1.0, 1.5, 0.75, 1.0]
    """
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise OperatorError(f"q of quantile must be a number from 0 to 1, got {q!r}")
    return _quantile("quantile", column, dtype, interpolation, q=float(q))


def _quantile(
    name: str, column: Input | None, dtype: str, interpolation: str, **params: float
) -> QuantileOperator:
    if interpolation not in INTERPOLATIONS:
        hint = nearest(interpolation, INTERPOLATIONS)
        raise OperatorError(
            f"interpolation of {name} must be {' or '.join(INTERPOLATIONS)}, got "
            f"{interpolation!r}{hint}"
        )
    checked = dtype_of(dtype, name)
    if checked in ("str", "binary") and interpolation in BETWEEN:
        raise ValueTypeError(
            f"{name} of {checked} needs interpolation 'lower', 'higher' or 'nearest', got "
            f"{interpolation!r}: only numbers and times can be interpolated"
        )
    return QuantileOperator(
        name,
        columns_of(column),
        checked,
        params=(*params.items(), ("interpolation", interpolation)),
    )
