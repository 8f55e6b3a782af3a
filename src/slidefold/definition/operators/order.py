"""Median and quantile: exact, by an order-statistics structure.

They are no monoids: from the medians of two parts nothing follows for the whole. So no algorithm
folds them; windows and columns keep their values in order instead, at O(log n) a step.

NaN counts as the largest value, as for `max`; between a number and NaN lies NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slidefold.definition.operators.base import Operator, columns_of, dtype_of
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
    because="it has no associative combine: the values are kept sorted",
    engine="multiset",
    middle="whole",
)


@dataclass(frozen=True, repr=False)
class QuantileOperator(Operator):
    """An order statistic: a place among the sorted values."""

    @property
    def native_name(self) -> str:
        """A median is a quantile."""
        return "quantile"

    @property
    def native_params(self) -> dict[str, Any]:
        """The share and the interpolation."""
        travel = self.codings[0] if self.codings else Coding(self.dtype, "plain", "plain")
        # Decimals and unsigned integers are exact; what lies between two of them is a float.
        real = travel.result not in (*TIMES, "plain") and not self.picks
        result = "float" if real else travel.result
        between = {"codec": travel.codec, "result": result, "base": travel.base}
        return {"q": 0.5, **dict(self.params), **between}

    @property
    def monoid(self) -> bool:
        """False: the order of all values has to be kept."""
        return False

    @property
    def q(self) -> float:
        """The share of values that lie below."""
        return float(self.native_params["q"])

    @property
    def interpolation(self) -> str:
        """What is taken between two values."""
        return str(dict(self.params)["interpolation"])

    @property
    def picks(self) -> bool:
        """Whether the result is one of the values."""
        return self.interpolation not in BETWEEN


@recorded(_ORDER)
def median(
    column: str | None = None, *, interpolation: str = "linear", dtype: str = "float64"
) -> QuantileOperator:
    """The value in the middle; of an even number of values the mean of the two, a float.

    Exact. `interpolation` is that of `quantile`. No monoid. State: about 32 bytes a value; O(log n)
    a step.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.median(), sf.rows(3))
    >>> [w.push(x) for x in (5.0, 1.0, 2.0, 9.0)]
    [5.0, 3.0, 2.0, 2.0]
    """
    return _made("median", column, dtype, interpolation)


@recorded(_ORDER)
def quantile(
    column: str | None = None,
    q: float = 0.5,
    *,
    interpolation: str = "linear",
    dtype: str = "float64",
) -> QuantileOperator:
    """The value that a share q of the values lies below, exact.

    Of n sorted values it is the one at place `q * (n - 1)`, counted from 0. Where that lies between
    two values, `interpolation` says what is taken, as in numpy: "linear" (the default) and
    "midpoint" give floats, of times and durations whole units rounded down; "lower", "higher" and
    "nearest" give one of the values, of strings and bytes too. NaN counts as the largest value. No
    monoid. State: about 32 bytes a value; O(log n) a step.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.quantile(q=0.25), sf.rows(5))
    >>> [w.push(x) for x in (4.0, 0.0, 3.0, 1.0, 2.0)]
    [4.0, 1.0, 1.5, 0.75, 1.0]
    """
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise OperatorError(f"quantile needs a q from 0 to 1, got {q!r}")
    return _made("quantile", column, dtype, interpolation, q=float(q))


def _made(
    name: str, column: str | None, dtype: str, interpolation: str, **params: float
) -> QuantileOperator:
    if interpolation not in INTERPOLATIONS:
        hint = nearest(interpolation, INTERPOLATIONS)
        raise OperatorError(
            f"{name} takes interpolation {' or '.join(INTERPOLATIONS)}, got {interpolation!r}{hint}"
        )
    checked = dtype_of(dtype, name)
    if checked in ("str", "binary") and interpolation in BETWEEN:
        raise ValueTypeError(
            f"{name} of {checked} needs interpolation 'lower', 'higher' or 'nearest': "
            "nothing lies between two of them"
        )
    return QuantileOperator(
        name,
        columns_of(column),
        checked,
        params=(*params.items(), ("interpolation", interpolation)),
    )
