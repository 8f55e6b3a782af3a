"""Covariance, correlation, trend, weighted and decayed means: operators over two columns.

Live windows take pairs `(x, y)`; columns are a pair of columns. A row with None in either column is
skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from slidefold.definition.expressions.face import Expression
from slidefold.definition.expressions.nodes import Call, Literal, Node, Result
from slidefold.definition.operators.base import (
    Input,
    Operator,
    Param,
    columns_of,
    dtype_of,
    whole_of,
)
from slidefold.definition.operators.record import NUMBERS, Record, recorded
from slidefold.definition.operators.times import newest_time, window_end
from slidefold.definition.operators.travel import (
    TIMES,
    Coding,
    Numbers,
    per_step,
    steps_per_second,
)
from slidefold.definition.windows.durations import nanoseconds, plain_length
from slidefold.errors import OperatorError, ValueTypeError, WindowError

if TYPE_CHECKING:
    from slidefold.definition.operators.over_window import Over
    from slidefold.definition.rolling import Rolling


def _spread(times: tuple[str, str], unit: Callable[[float, float], float]) -> Record:
    """Return the record of an operator, given its scaling for times and its unit."""
    return Record(
        key_types=NUMBERS,
        travel=Numbers(unsigned="differences", times=times),
        column="spread",
        one_pass="pair",
        unit=unit,
    )


@recorded(_spread(per_step(lambda steps: 1 / steps), lambda x, y: x * y))
def covariance(
    x: Input | None = None,
    y: Input | None = None,
    *,
    ddof: int = 1,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """Compute the covariance of two columns: of a sample (`ddof=1`) or a population (`ddof=0`).

    The result is None if there are at most `ddof` rows. If `y` holds datetimes or durations, they
    count in seconds. States are combined by the pairwise formula, which stays accurate for values
    far from zero: the relative error is below 1e-12 or 1e-14 / |correlation|, whichever is larger,
    because sums that cancel lose digits. Infinities and NaN give NaN. Commutative. State: 48 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.covariance(), sf.rows(3))
    >>> [w.push(pair) for pair in ((1.0, 2.0), (3.0, 6.0), (5.0, 4.0))]
    [None, 4.0, 2.0]
    """
    params = (("ddof", whole_of(ddof, 0, "covariance", "ddof", most=2**31 - 1)),)
    return ScaledPair(*_pair("covariance", x, y, dtype, key_dtype, params))


@recorded(_spread(("plain", "plain"), lambda x, y: 1.0))
def correlation(
    x: Input | None = None,
    y: Input | None = None,
    *,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """Compute Pearson's correlation of two columns, from -1 to 1.

    The result is None if there are fewer than two rows, or if a column is constant; deviations
    below 1e-150 count as constant. It has the accuracy of `covariance`. Commutative. State: 64
    bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.correlation(), sf.rows(2))
    >>> [w.push(pair) for pair in ((1.0, 2.0), (3.0, 6.0), (5.0, 4.0), (6.0, 4.0))]
    [None, 1.0, -1.0, None]
    """
    return Operator(*_pair("correlation", x, y, dtype, key_dtype))


@recorded(_spread(per_step(lambda steps: steps), lambda x, y: x / y))
def trend(
    x: Input | None = None,
    ts: Input | None = None,
    *,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """Compute the slope of the least-squares line of x, per unit of `ts`.

    If `ts` holds datetimes or durations of any unit, the slope is per second. The result is None if
    there are fewer than two different times; infinities and NaN give NaN. Integer times may be
    large, such as nanoseconds since 1970: use `key_dtype="int64"`. Commutative. State: 56 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.trend(), sf.rows(3))
    >>> [w.push(pair) for pair in ((1.0, 0.0), (3.0, 10.0), (5.0, 20.0))]
    [None, 0.2, 0.2]
    """
    return ScaledPair(*_pair("trend", x, ts, dtype, key_dtype))


@recorded(Record(key_types=NUMBERS, travel=Numbers()))
def weighted_mean(
    x: Input | None = None,
    weight: Input | None = None,
    *,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """Compute the mean of x, weighted by another column: `sum(x * weight) / sum(weight)`.

    With prices and volumes this is the VWAP. The result is None if the weights add up to 0.
    Commutative. State: 24 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.weighted_mean(), sf.rows(2))
    >>> [w.push(pair) for pair in ((10.0, 1.0), (20.0, 3.0), (20.0, 0.0))]
    [10.0, 17.5, 20.0]
    """
    return Operator(*_pair("weighted_mean", x, weight, dtype, key_dtype))


_DECAYED = Record(
    key_types=NUMBERS,
    travel=Numbers(unsigned="second", times=("plain", "plain")),
    column="decayed",
    example=(("half_life", 1),),
)


def _faded(over: Over, definition: Rolling) -> Node | None:
    """Return a decayed sum as it is seen from the end of the window."""
    operator = over.operator
    assert isinstance(operator, DecayedSum)
    if operator.from_newest or operator.columns[-1] != definition.on:
        return None
    newest = Result(replace(over, operator=replace(operator, from_newest=True)))
    since = Call("subtract", (window_end(over, definition), newest_time(over, definition)))
    return Call("fade", (newest, since), repr(half_life_of(operator)))


@recorded(replace(_DECAYED, expands=_faded))
def decayed_sum(
    x: Input | None = None,
    ts: Input | None = None,
    *,
    half_life: float | str | timedelta | np.timedelta64,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """Compute a sum in which the weight of a row halves with every `half_life` of age.

    In `sf.rolling`, if `ts` is the time column, the age of a row is the time from the row to the
    end of the window; otherwise, and in `sf.Window`, it is the time to the newest row. `half_life`
    is as for `decayed_mean`. Commutative. State: 24 bytes; one power per combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.decayed_sum(half_life=10), sf.rows(3))
    >>> [w.push(pair) for pair in ((6.0, 0), (3.0, 10), (3.0, 10))]
    [6.0, 6.0, 9.0]
    """
    kept = _half_life("decayed_sum", half_life, x, key_dtype)
    return DecayedSum(*_pair("decayed_sum", x, ts, dtype, key_dtype, (("half_life", kept),)))


def _counted(over: Over, definition: Rolling) -> Node:
    operator = over.operator
    one = decayed_sum(Expression(Literal(1.0)), *operator.columns, half_life=_given(operator))
    return Result(replace(over, operator=replace(one, condition=operator.condition)))


def _given(operator: Operator) -> Any:
    return dict(operator.params)["half_life"]


@recorded(Record(expands=_counted, events=False, example=(("half_life", 1),)), built_in=False)
def decayed_count(
    ts: Input | None = None, *, half_life: float | str | timedelta | np.timedelta64
) -> Operator:
    """Count rows, each with a weight that halves with every `half_life` of age.

    Ages are those of `decayed_sum`, and so is `half_life`. Computed from `decayed_sum`, and from
    `max` of the times.

    >>> import pyarrow as pa, slidefold as sf
    >>> counted = sf.decayed_count("t", half_life=10).over(sf.time(100))
    >>> sf.rolling(on="t", n=counted).run(pa.table({"t": [0, 10, 10]}))["n"].to_pylist()
    [1.0, 2.5, 2.5]
    """
    kept = _half_life("decayed_count", half_life, ts, "float64")
    return Operator("decayed_count", columns_of(ts), params=(("half_life", kept),))


@recorded(_DECAYED)
def decayed_mean(
    x: Input | None = None,
    ts: Input | None = None,
    *,
    half_life: float | str | timedelta | np.timedelta64,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """Compute a weighted mean: the weight of a row halves with every `half_life` of age.

    `half_life` is in units of `ts`. If `ts` holds datetimes or durations, it is a number of seconds
    or a duration such as "10m". The weight of a row is `2 ** -((newest ts - ts) / half_life)`,
    where newest is the newest time in the window. Times may arrive in any order, and weights never
    overflow. Commutative. State: 24 bytes; one power and one division per combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.decayed_mean(half_life=10), sf.rows(3))
    >>> [w.push(pair) for pair in ((6.0, 0), (3.0, 10), (3.0, 10))]
    [6.0, 4.0, 3.6]
    """
    kept = _half_life("decayed_mean", half_life, x, key_dtype)
    return DecayedMean(*_pair("decayed_mean", x, ts, dtype, key_dtype, (("half_life", kept),)))


def _half_life(name: str, half_life: Any, x: Any, key_dtype: str) -> Param:
    """Check a half-life: a number, or a duration as a string."""
    half_life = plain_length(half_life)
    if isinstance(half_life, timedelta):
        half_life = f"{half_life // timedelta(microseconds=1)}us"
    if isinstance(half_life, str):
        try:
            nanoseconds(half_life)
        except WindowError as error:
            raise OperatorError(
                f"half_life of {name} must be a number or a duration > 0: {error}"
            ) from None
        if x is None and key_dtype not in TIMES:
            raise OperatorError(
                f"half_life={half_life!r} needs times, such as key_dtype='timestamp', got "
                f"key_dtype={key_dtype!r}: give a number as half_life, or change key_dtype"
            )
        return half_life
    number = isinstance(half_life, int | float) and not isinstance(half_life, bool)
    if not number or not 0 < half_life <= sys.float_info.max:  # also integers beyond floats
        raise OperatorError(f"half_life of {name} must be finite and > 0, got {half_life!r}")
    return float(half_life)


def half_life_of(operator: Operator) -> float:
    """Return the half-life as a number; a duration becomes seconds.

    >>> half_life_of(decayed_mean("x", "ts", half_life="10m"))
    600.0
    """
    half_life: Any = dict(operator.params)["half_life"]
    return nanoseconds(half_life) / 1e9 if isinstance(half_life, str) else float(half_life)


@dataclass(frozen=True, repr=False)
class ScaledPair(Operator):
    """An operator whose result is scaled by the unit of its second column."""

    def _coded_result(self, codings: tuple[Coding, ...]) -> str:
        return codings[-1].result


@dataclass(frozen=True, repr=False)
class DecayedMean(Operator):
    """A decayed mean or sum; its half-life may be a duration."""

    @property
    def native_params(self) -> dict[str, Any]:
        """The half-life in steps of the times, which travel as integers."""
        half_life = half_life_of(self) * steps_per_second(self.key_dtype)
        return super(DecayedMean, replace(self, params=(("half_life", half_life),))).native_params

    @property
    def state_version(self) -> int:
        """The version of the saved state: 2 for exact times of uint64, otherwise 1."""
        return 2 if self.key_dtype == "uint64" else 1


@dataclass(frozen=True, repr=False)
class DecayedSum(DecayedMean):
    """A decayed sum; ages count from the newest row, if they do not count from the end."""

    from_newest: bool = False


def _pair(
    name: str,
    x: Input | None,
    y: Input | None,
    dtype: str,
    key_dtype: str,
    params: tuple[tuple[str, Param], ...] = (),
) -> tuple[str, tuple[str, ...], str, str, tuple[tuple[str, Param], ...]]:
    """Check the arguments of an operator over two columns of numbers."""
    checked = dtype_of(dtype, name)
    if checked in TIMES:
        raise ValueTypeError(
            f"dtype of {name} must be a number, got {dtype!r}: only the second column may hold "
            "times, with key_dtype"
        )
    return name, columns_of(x, y), checked, dtype_of(key_dtype, name, second=True), params
