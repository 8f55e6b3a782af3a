"""The types of values, event by event: what the native operators fold, and what travels as that.

Native operators fold int64, float64, strings and objects. Other types travel as one of these, in
the same order and without loss, and results come back as what they were: dates as days, times and
durations as microseconds, decimals as integers of their last digit (of more than 18 digits as
strings of them), bytes as the characters of the same numbers. Over columns the types of the columns
decide instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NARROW = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
TIMES = ("date", "timestamp", "timestamp[UTC]", "duration")
_CODED = (*NARROW, "uint64", "float32", "bool", "binary", *TIMES)
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")

# Operators that give back values as they are, or compare them and nothing else.
_VALUES = {"min", "max", "first", "last", "nth", "collect", "collect_distinct", "top_k", "m4"}
_ASKED = {"bloom", "count_min"}
_COUNTS = {"max_count", "min_count", "approx_distinct"}
_PAIRS = {"max_by", "min_by"}
_TWO_NUMBERS = {"covariance", "correlation", "trend", "decayed_mean"}
_SPREADS = {"var", "std", "covariance", "correlation", "trend"}  # which no shift changes
_REALS = {"mean", "geomean", "var", "std", "relative_variation", "histogram", "moments"}
_REALS |= _TWO_NUMBERS
_UNSIGNED = {"mean", "relative_variation", "histogram"}
_TEXTS = {"min", "max", "max_count", "min_count", "max_by", "min_by", "top_k", "m4"}


@dataclass(frozen=True)
class Coding:
    """How a type travels: as which native type, by which codec, and how results come back."""

    base: str
    codec: str
    result: str


def has_two_columns(name: str) -> bool:
    """Tell whether an operator takes pairs, each part of a type of its own."""
    return name in _PAIRS or name in _TWO_NUMBERS or name == "naive_bayes"


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


def steps_per_second(dtype: str) -> float:
    """Return how many steps a second has, as times travel; 1 for what is no time."""
    if dtype not in TIMES:
        return 1.0
    return 1 / 86400 if dtype == "date" else 1e6


def coding(name: str, dtype: str, second: bool = False) -> Coding | None:
    """Return how values of a type travel to an operator, None if it does not take them.

    `second` are those of the second column.

    >>> coding("range", "date")
    Coding(base='int64', codec='date', result='days')
    >>> coding("sum", "date") is None
    True
    """
    if not is_coded(dtype):
        return None
    base = {"float32": "float64", "binary": "str"}.get(dtype, "int64")
    if _is_wide(dtype):
        base = "str"
    if name in _VALUES | _PAIRS:
        return Coding(base, dtype, dtype)
    if name in _ASKED:
        return Coding(base, dtype, f"asked({dtype})")
    if name == "naive_bayes":
        return Coding(base, dtype, "plain") if base != "float64" else None
    if name in _COUNTS:
        return Coding(base, dtype, "plain")
    if dtype in (*NARROW, "float32", "bool"):
        adds = name in _REALS or name in ("sum", "range", "median", "quantile", "any", "all")
        return Coding(base, dtype, "plain") if adds else None
    if variant_of(name, dtype):
        return Coding(base, dtype, "plain")
    if name in _REALS and _decimal(dtype) is not None:
        return Coding("float64", "plain", "plain")  # as a float, which has 53 bits
    if name in ("median", "quantile"):
        return Coding(base, dtype, dtype)
    if _is_wide(dtype):
        return None
    if name == "range":
        apart = {"date": "days", "timestamp": "duration", "timestamp[UTC]": "duration"}
        fits = dtype in TIMES or _decimal(dtype) is not None
        return Coding(base, dtype, apart.get(dtype, dtype)) if fits else None
    if name in ("sum", "mean") and dtype == "duration":
        return Coding(base, dtype, dtype)
    if name == "sum" and _decimal(dtype) is not None:
        return Coding(base, dtype, dtype)
    if dtype == "uint64" and (name in _SPREADS or (name == "decayed_mean" and second)):
        return Coding(base, dtype, "plain")  # only differences matter
    if name in _TWO_NUMBERS and dtype in TIMES:
        per = {"covariance": 1 / steps_per_second(dtype), "trend": steps_per_second(dtype)}
        return Coding(base, dtype, f"times({per[name]!r})" if name in per else "plain")
    if name in _REALS and dtype == "uint64":
        return Coding("float64", "plain", "plain")
    return None


def variant_of(name: str, dtype: str) -> str:
    """Return the native operator that knows how a type travels; "" if the usual one will do.

    Codes of uint64 are 2**63 less than the values, those of decimals count their last digit: both
    matter where values are added or compared with other numbers.

    >>> [variant_of("mean", dtype) for dtype in ("uint64", "decimal(9, 2)", "bool")]
    ['unsigned_mean', 'decimal_mean', '']
    """
    if dtype == "uint64" and name in _UNSIGNED:
        return f"unsigned_{name}"
    return "decimal_mean" if name == "mean" and _decimal(dtype) and not _is_wide(dtype) else ""


def unit_of(dtype: str) -> int:
    """Return how many steps make 1 as a type travels: those of the last digit of a decimal."""
    found = _decimal(dtype)
    return 1 if found is None else int(10 ** found[1])


def _decimal(dtype: str) -> tuple[int, int] | None:
    found = _DECIMAL.fullmatch(dtype)
    if found is None:
        return None
    digits, behind = int(found[1]), int(found[2])
    return (digits, behind) if 1 <= digits <= 38 and behind <= digits else None


def _is_wide(dtype: str) -> bool:
    """Tell whether a type is a decimal of more digits than 64 bits have: it travels as a string."""
    found = _decimal(dtype)
    return found is not None and found[0] > 18
