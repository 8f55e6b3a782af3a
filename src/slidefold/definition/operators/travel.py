"""How values of other types reach native code, event by event.

Native operators fold int64, float64, strings and objects. Other types travel as one of these, in
the same order and without loss, and results come back as what they were: dates as days, times and
durations as microseconds, decimals as integers of their last digit (decimals of more than 18 digits
as strings of digits), bytes as the characters of the same numbers. Over columns the types of the
columns decide instead.
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
    """How a type travels: as which native type, by which codec, and how results come back.

    Codes of uint64 are 2**63 less than the values, codes of decimals count their last digit. An
    operator for which that matters has a native `variant` that knows it.
    """

    base: str
    codec: str
    result: str
    variant: str = ""


# Returns how values of a type travel, None if the operator does not take them. The second argument
# tells the second column from the first.
Travel = Callable[[str, bool], Coding | None]


def nothing(dtype: str, second: bool) -> Coding | None:
    """Take no other types."""
    return None


def as_values(dtype: str, second: bool) -> Coding | None:
    """Travel to operators that compare values or return them as they are."""
    return Coding(_base(dtype), dtype, dtype) if is_coded(dtype) else None


def as_counted(dtype: str, second: bool) -> Coding | None:
    """Travel to operators that tell values apart and return a number."""
    return Coding(_base(dtype), dtype, "plain") if is_coded(dtype) else None


def as_asked(dtype: str, second: bool) -> Coding | None:
    """Travel to sketches whose results are asked about single values."""
    return Coding(_base(dtype), dtype, f"asked({dtype})") if is_coded(dtype) else None


def as_labels(dtype: str, second: bool) -> Coding | None:
    """Travel to a classifier: codes without fractions."""
    found = as_counted(dtype, second)
    return found if found is None or found.base != "float64" else None


def as_ordered(dtype: str, second: bool) -> Coding | None:
    """Travel to order statistics: small numbers as they are, all else by its codec."""
    return _narrow(dtype) or as_values(dtype, second)


def as_truths(dtype: str, second: bool) -> Coding | None:
    """Travel to operators that only ask whether a number is 0."""
    return _narrow(dtype)


def as_range(dtype: str, second: bool) -> Coding | None:
    """Travel to a difference of two values, which may have another type than they."""
    if (found := _narrow(dtype)) is not None or is_wide(dtype):
        return found
    apart = {"date": "days", "timestamp": "duration", "timestamp[UTC]": "duration"}
    fits = dtype in TIMES or decimal_of(dtype) is not None
    return Coding("int64", dtype, apart.get(dtype, dtype)) if fits else None


@dataclass(frozen=True)
class Numbers:
    """How numbers travel to operators that add."""

    unsigned: str = "float"  # uint64: float, differences (only those matter), variant, none
    decimal: str = "float"  # float, sum (exact, a decimal), variant (exact, a float)
    duration: bool = False  # results of durations are durations
    times: tuple[str, str] | None = None  # results beside dates, and beside other times
    name: str = ""  # of the operator, for its variants

    def __call__(self, dtype: str, second: bool) -> Coding | None:
        """Return how a type travels."""
        if (found := _narrow(dtype)) is not None:
            return found
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
        return Coding("float64", "plain", "plain")  # as a float, which has 53 bits


def steps_per_second(dtype: str) -> float:
    """Return how many steps a second has, as times travel; 1 for what is not a time."""
    if dtype not in TIMES:
        return 1.0
    return 1 / 86400 if dtype == "date" else 1e6


def per_step(unit: Callable[[float], float]) -> tuple[str, str]:
    """Return how results beside times are scaled, given the steps of a second: dates, others."""
    dates, others = (f"times({unit(steps_per_second(each))!r})" for each in ("date", "timestamp"))
    return dates, others


def is_coded(dtype: str) -> bool:
    """Tell whether a type travels as another one."""
    return dtype in CODED or decimal_of(dtype) is not None


def known_types(travel: Travel, *, text: bool = False) -> tuple[str, ...]:
    """Return the types that travel as another one, an example of a decimal too."""
    found = [dtype for dtype in (*CODED, "decimal(18, 2)") if travel(dtype, False) is not None]
    return ("str", *found) if text else tuple(found)


def spelled(dtype: str) -> str:
    """Return a type as it is written: decimals with one blank.

    >>> spelled("decimal(10,2)")
    'decimal(10, 2)'
    """
    found = decimal_of(dtype)
    return dtype if found is None else f"decimal({found[0]}, {found[1]})"


def unit_of(dtype: str) -> int:
    """Return how many steps make 1 as a type travels: those of the last digit of a decimal."""
    found = decimal_of(dtype)
    return 1 if found is None else int(10 ** found[1])


def decimal_of(dtype: str) -> tuple[int, int] | None:
    """Return the digits of a decimal type and those behind the point; None for other types."""
    found = _DECIMAL.fullmatch(dtype)
    if found is None:
        return None
    digits, behind = int(found[1]), int(found[2])
    return (digits, behind) if 1 <= digits <= 38 and behind <= digits else None


def is_wide(dtype: str) -> bool:
    """Tell whether a type is a decimal of more digits than 64 bits have: it travels as a string."""
    found = decimal_of(dtype)
    return found is not None and found[0] > 18


def _base(dtype: str) -> str:
    if is_wide(dtype):
        return "str"
    return {"float32": "float64", "binary": "str"}.get(dtype, "int64")


def _narrow(dtype: str) -> Coding | None:
    """Return how small numbers travel: as they are."""
    if dtype in (*NARROW, "float32", "bool"):
        return Coding(_base(dtype), dtype, "plain")
    return None
