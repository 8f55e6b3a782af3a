"""The record of an operator: everything that the software knows about it, in one place.

A record stands beside the function that makes its operators. Engines read it and never ask for an
operator's name, so that a user's class named `sum` stays a user's class. Records name kernels in
words, because engines lie above definitions: `columns/folds.py` and `columns/middles.py` have one
function for each word, and a test finds words that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from slidefold.definition.operators.travel import Travel, nothing

NUMBERS = ("float64", "int64")
KEYS = ("float64", "int64", "str")
VALUES = ("float64", "int64", "str", "object")


def _unitless(first: float, last: float) -> float:
    return 1.0


def _unknown(params: dict[str, Any]) -> int:
    return 0


@dataclass(frozen=True)
class Record:
    """What is known of an operator."""

    # ---- event by event
    types: tuple[str, ...] = NUMBERS  # that native code folds, the default first
    key_types: tuple[str, ...] = ()  # of the second column; none if there is one column
    travel: Travel = nothing  # how values of other types reach native code
    text: bool = False  # native code compares strings by an operator of its own
    plain: tuple[str, ...] = ()  # types that native code takes although they usually travel
    rows: bool = False  # without a column it counts rows
    never_null: bool = False  # also an empty window has a result

    # ---- over columns
    column: str = "numbers"  # the fold, see columns/folds.py
    reads: str = "numbers"  # or compared, hashed, truths, bits, labels: see columns/reading.py
    exact_decimals: bool = False  # decimals are folded as integers of their last digit
    one_pass: bool = False  # the native pass over all windows of a table folds it
    as_floats: bool = False  # that pass reads floats, whatever the column holds
    same_type: bool = False  # results are of the type of the values
    unit: Callable[[float, float], float] = _unitless  # of results, from those of the columns
    result_bytes: Callable[[dict[str, Any]], int] = _unknown  # of sketches, from their parameters
    algorithm: str = ""  # of its own, where no algorithm folds it over columns
    because: str = ""  # why

    # ---- in order of arrival
    engine: str = "fold"  # or multiset, bounds: how the engine keeps it
    keyed: str = ""  # which columns are kept as states by key; see live/incremental.py

    # ---- in chunks of time
    middle: str = "state"  # what stands for many rows: a state, picked rows, or all (whole)
    picks: str = ""  # which rows are picked, see columns/middles.py

    # ---- on Spark
    spark: str = ""  # the function of Spark's own OVER that gives the same results

    # ---- in the documentation
    example: tuple[tuple[str, Any], ...] = ()  # arguments without which it cannot be made

    @property
    def pair(self) -> bool:
        """Whether it takes two columns, each of a type of its own."""
        return bool(self.key_types)


Function = TypeVar("Function", bound=Callable[..., Any])

RECORDS: dict[str, Record] = {}
# Every operator by name; those of an optional package are not built in.
BUILT_IN: dict[str, Callable[..., Any]] = {}
NAMED: dict[str, Callable[..., Any]] = {}


def recorded(record: Record, *, built_in: bool = True) -> Callable[[Function], Function]:
    """Register the function that makes an operator together with its record."""

    def register(function: Function) -> Function:
        name = function.__name__
        RECORDS[name], NAMED[name] = record, function
        if built_in:
            BUILT_IN[name] = function
        return function

    return register
