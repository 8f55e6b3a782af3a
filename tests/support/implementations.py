"""The two implementations of every algorithm: native code, and `slidefold.reference`.

The tests of conformance run both. An operator that has no plain version runs in native code only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from slidefold import reference
from slidefold.reference import operators as plain
from tests.support.algorithms import REGISTERED, STEPPING, fitting, make
from tests.support.cases import Case

IMPLEMENTATIONS = ["native", "reference"]

# The plain operators, by the case whose operator they repeat.
PLAIN: dict[str, Any] = {
    "count": plain.Count(),
    "sum-float64": plain.Sum(),
    "sum-int64": plain.IntSum(),
    "mean-float64": plain.Mean(),
    "mean-int64": plain.IntMean(),
    "geomean-float64": plain.Geomean(),
    "var-float64-0": plain.Var(ddof=0),
    "var-int64-1": plain.Var(),
    "std-float64-1": plain.Std(),
    "std-int64-0": plain.Std(ddof=0),
    "max-float64": plain.Max(),
    "min-float64": plain.Min(),
    "max-int64": plain.Max(),
    "min-int64": plain.Min(),
    "max-str": plain.Max(),
    "max_by-str-float64": plain.MaxBy(),
    "min_by-object-int64": plain.MinBy(),
    "max_count-float64": plain.MaxCount(),
    "max_count-int64": plain.MaxCount(),
    "min_count-int64": plain.MinCount(),
    "first-str": plain.First(),
    "last-object": plain.Last(),
    "concat": plain.Concat(),
    "collect-int64": plain.Collect(),
}


class Counted:
    """A window of the reference that reports its combines, as a native window does."""

    def __init__(self, cls: Any, operator: Any, **options: Any) -> None:
        self._operator: Any = plain.Counting(operator)
        self._window = cls(self._operator, **options)

    @property
    def combines(self) -> int:
        """Calls of `combine` on this thread; a selective operator is only compared."""
        return int(self._operator.combines + self._operator.choices)

    def __len__(self) -> int:
        return len(self._window)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._window, name)


def build(
    code: str,
    name: str,
    case: Case,
    *,
    checked: bool = False,
    counted: bool = False,
    **options: Any,
) -> Any:
    """Make an algorithm by name, in one of the implementations."""
    if code == "native":
        asked = {"checked": checked, "counted": counted}
        return make(name, case.operator, **{k: v for k, v in asked.items() if v}, **options)
    cls = getattr(reference, REGISTERED[name].__name__)
    if counted:
        return Counted(cls, PLAIN[case.id], **options)
    return cls(PLAIN[case.id], **options)


def codes_of(case: Case) -> list[str]:
    """Return the implementations that have the operator of a case."""
    return IMPLEMENTATIONS if case.id in PLAIN else ["native"]


def every(cases: Sequence[Case], names: list[str] = STEPPING) -> list[Any]:
    """Return every implementation with every algorithm and case that fit, as parameters."""
    return [
        pytest.param(code, name, case, id=f"{code}-{name}-{case}")
        for case in cases
        for code in codes_of(case)
        for name in fitting(case.operator, names)
    ]


def column_of(code: str, case: Case, values: list[Any]) -> Any:
    """Return values as a column that `slide` of an implementation takes."""
    return case.kind.column(values) if code == "native" else values
