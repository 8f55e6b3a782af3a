"""The cells that are refused: which types an operator does not take, and why.

A type is named by its family or its own name. What is not listed must give results. A refusal is a
typed error of one sentence, the same on every engine.
"""

from __future__ import annotations

from tests.matrix.cases import Case
from tests.matrix.values import Kind

_TIMES = ("date", "timestamp", "duration")
_WORDS = ("text", "binary")
_FLOATS = ("float", "decimal")

# operator or case: the types that it does not take
REFUSED: dict[str, tuple[str, ...]] = {
    # Sums of moments mean nothing; those of durations do. Decimals are summed in 38 digits.
    "sum": ("date", "timestamp", *_WORDS, "decimal256(50,3)"),
    "mean": ("date", "timestamp", *_WORDS),
    "range": _WORDS,
    # Numbers only: a product or a square of times has no unit that a column could have.
    "geomean": (*_TIMES, *_WORDS),
    "relative_variation": (*_TIMES, *_WORDS),
    "var": (*_TIMES, *_WORDS),
    "skewness": (*_TIMES, *_WORDS),
    "kurtosis": (*_TIMES, *_WORDS),
    "weighted_mean": (*_TIMES, *_WORDS),
    "ratio_change": ("bool", "date", "timestamp", *_WORDS, "decimal256(50,3)"),
    # A difference: of truths and words there is none.
    "change": ("bool", *_WORDS, "decimal256(50,3)"),
    "longest_gap x": ("bool", *_FLOATS, *_WORDS),
    # An expression of `x`.
    "since_last x": ("decimal256(50,3)",),
    "since_first x": ("decimal256(50,3)",),
    "decayed_sum of ages": (*_TIMES, *_WORDS, "decimal256(50,3)"),
    "std": (*_TIMES, *_WORDS),
    "histogram": (*_TIMES, *_WORDS),
    "moments": (*_TIMES, *_WORDS),
    "any": (*_TIMES, *_WORDS),
    "all": (*_TIMES, *_WORDS),
    "user declared": _WORDS,
    # Beside a column of numbers, times count in seconds.
    "covariance": _WORDS,
    "correlation": _WORDS,
    "trend": _WORDS,
    "decayed_mean": _WORDS,
    "decayed_sum": _WORDS,
    # There is nothing between two words.
    "median linear": _WORDS,
    "quantile 0.25 linear": _WORDS,
    "quantile 0.25 midpoint": _WORDS,
    "quantile 0.9 linear": _WORDS,
    # Of one kind of values.
    "concat": ("bool", "int", *_FLOATS, *_TIMES, "binary"),
    "frequent_items": ("bool", "int", *_FLOATS, *_TIMES, "binary"),
    "bit_and": (*_FLOATS, *_TIMES, *_WORDS),
    "bit_or": (*_FLOATS, *_TIMES, *_WORDS),
    "bit_xor": (*_FLOATS, *_TIMES, *_WORDS),
    "naive_bayes": (*_FLOATS, *_TIMES, "binary"),
    "approx_quantile": (*_TIMES, *_WORDS),
    "theta": ("binary",),
}
# What only `sf.Window` refuses, or only columns do, and why.
EVENTS_REFUSED: dict[str, tuple[str, ...]] = {
    # Sums and ranges of these need more than 64 bits event by event; columns have room.
    "sum": ("uint64", "decimal128(30,6)"),
    "range": ("uint64", "decimal128(30,6)"),
    "longest_gap x": ("uint64",),
    # Only floats round; over columns the sums of other types are exact all the same.
    "sum compensated": ("bool", "int", "float32", "decimal", "duration"),
    # An event has no type of its own: these operators know Python's bools, ints and floats.
    "any": ("uint64", "decimal"),
    "all": ("uint64", "decimal"),
    "theta": ("decimal", *_TIMES),
    "user declared": ("decimal", *_TIMES),
}
EVENTS_TAKEN: dict[str, tuple[str, ...]] = {
    # A model of events gives labels back as they were; a column of models has integers or strings.
    "naive_bayes": ("decimal", *_TIMES, "binary"),
}
# Values that are refused though their type is taken: integers from 2**63 on.
TOO_LARGE: dict[str, tuple[str, ...]] = {
    "columns": ("naive_bayes", "change", "ratio_change", "longest_gap"),
    "events": ("bit_and", "bit_or", "bit_xor"),
}
# The first column of these pairs takes no times.
_NO_TIMES_FIRST = ("covariance", "correlation", "trend", "decayed_mean", "decayed_sum")


def refused(case: Case, kind: Kind) -> bool:
    """Tell whether an operator does not take columns of a type."""
    times = case.registered in _NO_TIMES_FIRST and case.columns[0] == "x"
    return _listed(REFUSED, case, kind) or (times and kind.family in _TIMES)


def refused_events(case: Case, kind: Kind) -> bool:
    """Tell whether `sf.Window` does not take events of a type."""
    if _listed(EVENTS_REFUSED, case, kind):
        return True
    return refused(case, kind) and not _listed(EVENTS_TAKEN, case, kind)


def too_large(case: Case, kind: Kind, nulls: str, where: str) -> bool:
    """Tell whether the values under test are larger than an operator takes."""
    wild = kind.name == "uint64" and nulls.startswith("wild")
    return wild and case.registered in TOO_LARGE[where]


def _listed(table: dict[str, tuple[str, ...]], case: Case, kind: Kind) -> bool:
    types = table.get(case.name, table.get(case.registered, ()))
    return kind.family in types or kind.name in types
