"""Two columns at once: operators over pairs of values.

Live windows take pairs `(x, y)`, columns a pair of columns. A row with a None in either is skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np

from slidefold.definition.operators.base import Operator, Param, columns_of, dtype_of, whole_of
from slidefold.definition.operators.record import NUMBERS, Record, recorded
from slidefold.definition.operators.travel import (
    TIMES,
    Coding,
    Numbers,
    per_step,
    steps_per_second,
)
from slidefold.definition.windows.durations import nanoseconds, plain_length
from slidefold.errors import OperatorError, ValueTypeError, WindowError


def _spread(
    times: tuple[str, str], unit: Callable[[float, float], float], keyed: str = ""
) -> Record:
    """Return the record of a joint spread, given its results beside times and its unit."""
    return Record(
        key_types=NUMBERS,
        travel=Numbers(unsigned="differences", times=times),
        column="spread",
        unit=unit,
        keyed=keyed,
    )


@recorded(_spread(per_step(lambda steps: 1 / steps), lambda x, y: x * y, keyed="numbers"))
def covariance(
    x: str | None = None,
    y: str | None = None,
    *,
    ddof: int = 1,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """The covariance of two columns: of a sample (`ddof=1`) or of a population (`ddof=0`).

    None where there are not more than `ddof` rows. Beside datetimes or durations it counts these in
    seconds. Parts merge by the pairwise formula, which keeps its digits far from zero: the relative
    error is below 1e-12, or below 1e-14 / |correlation| where that is more, as sums that cancel
    lose digits. Infinities and NaN give NaN. Commutative. State: 48 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.covariance(), sf.rows(3))
    >>> [w.push(pair) for pair in ((1.0, 2.0), (3.0, 6.0), (5.0, 4.0))]
    [None, 4.0, 2.0]
    """
    params = (("ddof", whole_of(ddof, 0, "covariance", "ddof", most=2**31 - 1)),)
    return ScaledPair(*_pair("covariance", x, y, dtype, key_dtype, params))


@recorded(_spread(("plain", "plain"), lambda x, y: 1.0, keyed="numbers"))
def correlation(
    x: str | None = None,
    y: str | None = None,
    *,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """Pearson's correlation of two columns, between -1 and 1.

    None where there are fewer than two rows, or where a column does not vary (spreads below 1e-150
    are none to floats). Numerically as `covariance`. Commutative. State: 64 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.correlation(), sf.rows(2))
    >>> [w.push(pair) for pair in ((1.0, 2.0), (3.0, 6.0), (5.0, 4.0), (6.0, 4.0))]
    [None, 1.0, -1.0, None]
    """
    return Operator(*_pair("correlation", x, y, dtype, key_dtype))


@recorded(_spread(per_step(lambda steps: steps), lambda x, y: x / y))
def trend(
    x: str | None = None,
    ts: str | None = None,
    *,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """The slope of the line that fits x best (least squares), per unit of `ts`.

    Beside a column of datetimes or durations it is per second, whatever unit that counts in. None
    where the rows have fewer than two different times; infinities and NaN give NaN. Times may be
    large, such as nanoseconds since 1970: `key_dtype="int64"` takes them as they are. Commutative.
    State: 56 bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.trend(), sf.rows(3))
    >>> [w.push(pair) for pair in ((1.0, 0.0), (3.0, 10.0), (5.0, 20.0))]
    [None, 0.2, 0.2]
    """
    return ScaledPair(*_pair("trend", x, ts, dtype, key_dtype))


@recorded(
    Record(
        key_types=NUMBERS,
        travel=Numbers(unsigned="second", times=("plain", "plain")),
        column="decayed",
        example=(("half_life", 1),),
    )
)
def decayed_mean(
    x: str | None = None,
    ts: str | None = None,
    *,
    half_life: float | str | timedelta | np.timedelta64,
    dtype: str = "float64",
    key_dtype: str = "float64",
) -> Operator:
    """The mean that forgets: a row weighs half as much for every `half_life` it is old.

    `half_life` is in units of `ts`; beside a column of datetimes or durations, in seconds, or a
    duration such as "10m".
    Weights are `2 ** -((newest ts - ts) / half_life)`, relative to the newest time in the window,
    in whatever order the times come; they never overflow. Commutative. State: 24 bytes; one power
    and one division a combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.decayed_mean(half_life=10), sf.rows(3))
    >>> [w.push(pair) for pair in ((6.0, 0), (3.0, 10), (3.0, 10))]
    [6.0, 4.0, 3.6]
    """
    half_life = plain_length(half_life)
    if isinstance(half_life, timedelta):
        half_life = f"{half_life // timedelta(microseconds=1)}us"
    kept: Param
    if isinstance(half_life, str):
        try:
            nanoseconds(half_life)
        except WindowError as error:
            raise OperatorError(f"decayed_mean needs a half_life > 0: {error}") from None
        if x is None and key_dtype not in TIMES:
            raise OperatorError(
                f"half_life={half_life!r} needs times, such as key_dtype='timestamp'; "
                "beside numbers it is a number"
            )
        kept = half_life
    else:
        number = isinstance(half_life, int | float) and not isinstance(half_life, bool)
        if not number or not 0 < half_life <= sys.float_info.max:  # also integers beyond floats
            raise OperatorError(
                f"decayed_mean needs a half_life > 0 that is finite, got {half_life!r}"
            )
        kept = float(half_life)
    return DecayedMean(*_pair("decayed_mean", x, ts, dtype, key_dtype, (("half_life", kept),)))


def half_life_of(operator: Operator) -> float:
    """Return the half-life as a number; that of a duration in seconds.

    >>> half_life_of(decayed_mean("x", "ts", half_life="10m"))
    600.0
    """
    said: Any = dict(operator.params)["half_life"]
    return nanoseconds(said) / 1e9 if isinstance(said, str) else float(said)


@dataclass(frozen=True, repr=False)
class ScaledPair(Operator):
    """An operator whose result is counted in the unit of its second column."""

    def _coded_result(self, codings: tuple[Coding, ...]) -> str:
        return codings[-1].result


@dataclass(frozen=True, repr=False)
class DecayedMean(Operator):
    """A mean that forgets; its half-life may be a duration."""

    @property
    def native_params(self) -> dict[str, Any]:
        """The half-life in steps of the times, which travel as whole numbers."""
        half_life = half_life_of(self) * steps_per_second(self.key_dtype)
        return super(DecayedMean, replace(self, params=(("half_life", half_life),))).native_params

    @property
    def state_version(self) -> int:
        """The version of its saved state, which changed where times of uint64 became exact."""
        return 2 if self.key_dtype == "uint64" else 1


def _pair(
    name: str,
    x: str | None,
    y: str | None,
    dtype: str,
    key_dtype: str,
    params: tuple[tuple[str, Param], ...] = (),
) -> tuple[str, tuple[str, ...], str, str, tuple[tuple[str, Param], ...]]:
    """Check what operators over two columns of numbers are made of."""
    checked = dtype_of(dtype, name)
    if checked in TIMES:
        raise ValueTypeError(f"{name} takes times in its second column only, got {dtype!r}")
    return name, columns_of(x, y), checked, dtype_of(key_dtype, name, second=True), params
