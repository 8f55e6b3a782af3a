"""The types of values, event by event: what the native operators fold, and what travels as that.

Native operators fold int64, float64, strings and objects. Other types travel as one of these, in
the same order and without loss, and results come back as what they were: dates as days, times and
durations as microseconds, decimals as integers of their last digit, bytes as the characters of the
same numbers. Over columns the types of the columns decide instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NARROW = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
_TIMES = ("date", "timestamp", "timestamp[UTC]", "duration")
_CODED = (*NARROW, "uint64", "float32", "bool", "binary", *_TIMES)
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")

# Operators that give back values as they are, or compare them and nothing else.
_VALUES = {"min", "max", "first", "last", "nth", "collect", "collect_distinct", "top_k", "m4"}
_COUNTS = {"max_count", "min_count", "approx_distinct"}
_PAIRS = {"max_by", "min_by"}
_TWO_NUMBERS = {"covariance", "correlation", "trend", "decayed_mean"}
_REALS = {"mean", "geomean", "var", "std", "relative_variation", "histogram", "moments"}
_REALS |= _TWO_NUMBERS
_TEXTS = {"min", "max", "max_count", "min_count", "max_by", "min_by", "top_k"}


@dataclass(frozen=True)
class Coding:
    """How a type travels: as which native type, by which codec, and how results come back."""

    base: str
    codec: str
    result: str


def has_two_columns(name: str) -> bool:
    """Tell whether an operator takes pairs, each part of a type of its own."""
    return name in _PAIRS or name in _TWO_NUMBERS


def native_text(name: str) -> bool:
    """Tell whether an operator compares strings by code of its own."""
    return name in _TEXTS


def is_coded(dtype: str) -> bool:
    """Tell whether a type travels as another one."""
    return dtype in _CODED or _decimal(dtype) is not None


def known_types(name: str) -> tuple[str, ...]:
    """Return the types that travel as another one to an operator, an example of a decimal too."""
    found = [dtype for dtype in (*_CODED, "decimal(18, 2)") if coding(name, dtype) is not None]
    return ("str", *found) if native_text(name) else tuple(found)


def spelled(dtype: str) -> str:
    """Return a type as it is written: decimals with one blank.

    >>> spelled("decimal(10,2)")
    'decimal(10, 2)'
    """
    found = _decimal(dtype)
    return dtype if found is None else f"decimal({found[0]}, {found[1]})"


def coding(name: str, dtype: str) -> Coding | None:
    """Return how values of a type travel to an operator, None if it does not take them.

    >>> coding("range", "date")
    Coding(base='int64', codec='date', result='days')
    >>> coding("sum", "date") is None
    True
    """
    if not is_coded(dtype):
        return None
    base = {"float32": "float64", "binary": "str"}.get(dtype, "int64")
    if name in _VALUES | _PAIRS:
        return None if (name, dtype) == ("m4", "binary") else Coding(base, dtype, dtype)
    if name in _COUNTS:
        return Coding(base, dtype, "plain")
    if dtype in (*NARROW, "float32", "bool"):
        adds = name in _REALS or name in ("sum", "range", "median", "quantile", "any", "all")
        return Coding(base, dtype, "plain") if adds else None
    if name == "range":
        apart = {"date": "days", "timestamp": "duration", "timestamp[UTC]": "duration"}
        fits = dtype in _TIMES or _decimal(dtype) is not None
        return Coding(base, dtype, apart.get(dtype, dtype)) if fits else None
    if name in ("sum", "mean") and dtype == "duration":
        return Coding(base, dtype, dtype)
    if name == "sum" and _decimal(dtype) is not None:
        return Coding(base, dtype, dtype)
    if name in _REALS and (dtype == "uint64" or _decimal(dtype) is not None):
        return Coding("float64", "plain", "plain")  # as a float, which has 53 bits
    if name in ("median", "quantile") and dtype in _TIMES:
        return Coding(base, dtype, dtype)
    return None


def _decimal(dtype: str) -> tuple[int, int] | None:
    found = _DECIMAL.fullmatch(dtype)
    if found is None:
        return None
    digits, behind = int(found[1]), int(found[2])
    return (digits, behind) if 1 <= digits <= 18 and behind <= digits else None
