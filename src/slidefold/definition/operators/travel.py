"""How values of other types travel to native code and back, event by event.

Native operators fold int64, float64, strings and objects. Values of other types are converted to
one of these, without loss and with the same order, and results are converted back. Dates travel as
days, times and durations as microseconds, decimals as integers of their last digit (decimals with
more than 18 digits as strings of digits), and bytes as characters with the same codes. Over columns
this module is not used: the types of the columns decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

NARROW = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
TIMES = ("date", "timestamp", "timestamp[UTC]", "duration")
CODED = (*NARROW, "uint64", "float32", "bool", "binary", *TIMES)
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")


@dataclass(frozen=True)
class Coding:
    """How a type travels: the native type, the codec, and the type of results.

    The code of a uint64 is the value minus 2**63; the code of a decimal counts its last digit. An
    operator whose result depends on that has a native `variant` for such codes.
    """

    base: str
    codec: str
    result: str
    variant: str = ""


# Returns how values of a type travel, or None if the operator does not take them. The second
# argument is True for the second column of a pair.
Travel = Callable[[str, bool], Coding | None]


def nothing(dtype: str, second: bool) -> Coding | None:
    """Accept no other types."""
    return None


def as_values(dtype: str, second: bool) -> Coding | None:
    """Travel to operators that compare values or return them unchanged."""
    return Coding(_base(dtype), dtype, dtype) if is_coded(dtype) else None


def as_counted(dtype: str, second: bool) -> Coding | None:
    """Travel to operators that distinguish values and return a number."""
    return Coding(_base(dtype), dtype, "plain") if is_coded(dtype) else None


def as_asked(dtype: str, second: bool) -> Coding | None:
    """Travel to sketches whose results answer questions about single values."""
    return Coding(_base(dtype), dtype, f"asked({dtype})") if is_coded(dtype) else None


def as_labels(dtype: str, second: bool) -> Coding | None:
    """Travel to a classifier: codes without fractions."""
    coding = as_counted(dtype, second)
    return coding if coding is None or coding.base != "float64" else None


def as_ordered(dtype: str, second: bool) -> Coding | None:
    """Travel to order statistics: small numbers unchanged, other types by their codecs."""
    return _narrow(dtype) or as_values(dtype, second)


def as_truths(dtype: str, second: bool) -> Coding | None:
    """Travel to operators that only check whether a number is 0."""
    return _narrow(dtype)


def as_range(dtype: str, second: bool) -> Coding | None:
    """Travel to a difference of two values, which may have a type different from theirs."""
    if (coding := _narrow(dtype)) is not None or is_wide(dtype):
        return coding
    differences = {"date": "days", "timestamp": "duration", "timestamp[UTC]": "duration"}
    fits = dtype in TIMES or decimal_of(dtype) is not None
    return Coding("int64", dtype, differences.get(dtype, dtype)) if fits else None


def as_gap(dtype: str, second: bool) -> Coding | None:
    """Travel to a difference of two times, which may be integers."""
    return as_range(dtype, second) if dtype in (*NARROW, *TIMES) else None


@dataclass(frozen=True)
class Numbers:
    """How numbers travel to operators that add values."""

    unsigned: str = "float"  # uint64: float, differences (only they matter), variant, second, none
    decimal: str = "float"  # float, sum (exact, a decimal), variant (exact, a float)
    duration: bool = False  # whether the results of durations are durations
    times: tuple[str, str] | None = None  # the results for dates, and for other times
    name: str = ""  # the name of the operator, for its variants

    def __call__(self, dtype: str, second: bool) -> Coding | None:
        """Return how a type travels."""
        if (coding := _narrow(dtype)) is not None:
            return coding
        if dtype == "uint64":
            return self._unsigned(second)
        if decimal_of(dtype) is not None:
            return self._decimal(dtype)
        if dtype == "duration" and self.duration:
            return Coding("int64", dtype, dtype)
        if dtype in TIMES and self.times is not None:
            return Coding("int64", dtype, self.times[0 if dtype == "date" else 1])
        return None

    def _unsigned(self, second: bool) -> Coding | None:
        if self.unsigned == "none":
            return None
        if self.unsigned == "variant":
            return Coding("int64", "uint64", "plain", f"unsigned_{self.name}")
        if self.unsigned == "differences" or (self.unsigned == "second" and second):
            return Coding("int64", "uint64", "plain")
        return Coding("float64", "plain", "plain")

    def _decimal(self, dtype: str) -> Coding | None:
        if self.decimal == "sum":
            return None if is_wide(dtype) else Coding("int64", dtype, dtype)
        if self.decimal == "variant" and not is_wide(dtype):
            return Coding("int64", dtype, "plain", f"decimal_{self.name}")
        return Coding("float64", "plain", "plain")  # a float has 53 bits


def steps_per_second(dtype: str) -> float:
    """Return the number of steps per second of a time type as it travels; 1 for other types."""
    if dtype not in TIMES:
        return 1.0
    return 1 / 86400 if dtype == "date" else 1e6


def per_step(unit: Callable[[float], float]) -> tuple[str, str]:
    """Return the scaling of results for dates and for other times, given steps per second."""
    dates, others = (f"times({unit(steps_per_second(kind))!r})" for kind in ("date", "timestamp"))
    return dates, others


def is_coded(dtype: str) -> bool:
    """Tell whether a type travels as another type."""
    return dtype in CODED or decimal_of(dtype) is not None


def known_types(travel: Travel, *, text: bool = False) -> tuple[str, ...]:
    """Return the types that travel as another type, with one example of a decimal."""
    dtypes = [dtype for dtype in (*CODED, "decimal(18, 2)") if travel(dtype, False) is not None]
    return ("str", *dtypes) if text else tuple(dtypes)


def spelled(dtype: str) -> str:
    """Return the standard spelling of a type: decimals with one space.

    >>> spelled("decimal(10,2)")
    'decimal(10, 2)'
    """
    decimal = decimal_of(dtype)
    return dtype if decimal is None else f"decimal({decimal[0]}, {decimal[1]})"


def unit_of(dtype: str) -> int:
    """Return the code of 1 for a type as it travels: 10 ** scale for a decimal."""
    decimal = decimal_of(dtype)
    return 1 if decimal is None else int(10 ** decimal[1])


def decimal_of(dtype: str) -> tuple[int, int] | None:
    """Return the precision and the scale of a decimal type; None for other types."""
    match = _DECIMAL.fullmatch(dtype)
    if match is None:
        return None
    precision, scale = int(match[1]), int(match[2])
    return (precision, scale) if 1 <= precision <= 38 and scale <= precision else None


def is_wide(dtype: str) -> bool:
    """Tell whether a type is a decimal too wide for 64 bits, which travels as a string."""
    decimal = decimal_of(dtype)
    return decimal is not None and decimal[0] > 18


def _base(dtype: str) -> str:
    if is_wide(dtype):
        return "str"
    return {"float32": "float64", "binary": "str"}.get(dtype, "int64")


def _narrow(dtype: str) -> Coding | None:
    """Return how small numbers travel; their results need no conversion."""
    if dtype in (*NARROW, "float32", "bool"):
        return Coding(_base(dtype), dtype, "plain")
    return None
