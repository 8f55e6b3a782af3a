"""The record of an operator: everything that engines need to know about it, in one place.

A record is next to the function that creates its operators. Engines read the record and never
compare an operator's name, so a user's class named `sum` is never treated as the built-in. Records
refer to kernels by name, because engines are in a higher layer: `columns/folds.py` and
`columns/middles.py` have one function per name, and a test finds names without a function.
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
    """The properties of an operator that engines use."""

    # ---- event by event
    types: tuple[str, ...] = NUMBERS  # types that native code folds, the default first
    key_types: tuple[str, ...] = ()  # types of the second column; empty if there is one column
    travel: Travel = nothing  # how values of other types are converted for native code
    text: bool = False  # whether native code has a separate operator that compares strings
    plain: tuple[str, ...] = ()  # types that native code takes without their usual conversion
    rows: bool = False  # whether it counts rows if it has no column
    never_null: bool = False  # whether an empty window has a result that is not null
    refolds: bool = False  # whether results can be folded in place of the values they come from
    events: bool = True  # whether it folds single events; if not, it is for definitions only

    # ---- in definitions
    expands: Callable[..., Any] | None = None  # makes it an expression of other operators
    grows: bool = False  # whether its state grows with the number of rows
    own_window: bool = False  # whether it has a window already, so that it takes no `over`
    reads_row: bool = False  # whether it reads the row that asks, which every= does not have
    peers_matter: bool = True  # whether it depends on the order of peers, if it does not commute

    # ---- over columns
    column: str = "numbers"  # the fold, see columns/folds.py
    reads: str = "numbers"  # or compared, hashed, truths, bits, labels: see columns/reading.py
    exact_decimals: bool = False  # whether decimals are folded as integers of their last digit
    one_pass: str = ""  # how the native pass over all windows reads it, see columns/windows.py
    as_floats: bool = False  # whether that pass reads every column as floats
    unit: Callable[[float, float], float] = _unitless  # of results, given the columns' units
    result_bytes: Callable[[dict[str, Any]], int] = _unknown  # of sketches, given the parameters
    algorithm: str = ""  # its own algorithm over columns, if the general ones do not fold it
    because: str = ""  # why it has its own algorithm

    # ---- in order of arrival
    engine: str = "fold"  # or multiset, bounds: how the engine stores it

    # ---- in chunks of time
    middle: str = "state"  # the middle of a chunk travels as: state, rows (picked), whole (all)
    picks: str = ""  # which rows are picked, see columns/middles.py

    # ---- on Spark
    spark: str = ""  # the function of Spark's OVER that gives the same results

    # ---- in the documentation
    example: tuple[tuple[str, Any], ...] = ()  # values for the arguments that have no default

    @property
    def pair(self) -> bool:
        """Whether it takes two columns, which may differ in type."""
        return bool(self.key_types)


Function = TypeVar("Function", bound=Callable[..., Any])

RECORDS: dict[str, Record] = {}
# NAMED has every operator; BUILT_IN leaves out those that need an optional package.
BUILT_IN: dict[str, Callable[..., Any]] = {}
NAMED: dict[str, Callable[..., Any]] = {}


def recorded(record: Record, *, built_in: bool = True) -> Callable[[Function], Function]:
    """Register the function that creates an operator, together with its record."""

    def register(function: Function) -> Function:
        name = function.__name__
        RECORDS[name], NAMED[name] = record, function
        if built_in:
            BUILT_IN[name] = function
        return function

    return register
