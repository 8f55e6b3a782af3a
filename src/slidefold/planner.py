"""Which algorithm runs a window, and why: pure, and overridable by `algorithm=`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches

import numpy as np

from slidefold import _native
from slidefold.errors import OperatorError, PairError, WindowError
from slidefold.operators import Operator
from slidefold.windows import Given, Length, Rows, Time, WindowKind, lateness_of, window_of

# Names of the algorithms that take single events with insert, evict and query.
EVENT_ALGORITHMS = tuple(name for name, _, _ in _native.algorithms())
LATE_ALGORITHM = "fiba"  # the one that takes events out of order
ORDER_ALGORITHM = "order_statistics"  # what runs median and quantile, late or not
_NO_MONOID = "it is no monoid: the values are kept in order"

_COST = {
    "recalc": "n-1 combines a step",
    "subtract_on_evict": "1 combine and 1 remove a step",
    "two_stacks": "3 combines a step on average, n at worst",
    "two_stacks_lite": "3 combines a step on average, n at worst",
    "daba": "5 combines a step on average, 8 at worst",
    "daba_lite": "4 combines a step on average, 6 at worst",
    "flat_fat": "O(log n) combines a step",
    "flat_fit": "3 combines a step on average, n at worst",
    "slick_deque": "less than 2 comparisons a step on average, n at worst",
    "fiba": "O(log d) combines a step on average, d events out of place; O(1) in order",
    "order_statistics": "O(log n) comparisons a step, no combines",
    "register_queues": "O(1) a row, no combines",
    "amta": "O(1) combines a step on average, O(log n) at worst",
}


@dataclass(frozen=True)
class Plan:
    """The choice of an algorithm with its reason."""

    operator: Operator
    window: Rows | Time
    algorithm: str
    reason: str
    lateness: Length | None = None

    def __str__(self) -> str:
        state = self.operator.traits.state_bytes
        return (
            f"{self.operator} over {self.window.text('right')}\n"
            f"  algorithm: {self.algorithm}, because {self.reason}\n"
            f"  cost:      {_COST.get(self.algorithm, 'see its page')}\n"
            f"  keeps:     {self._kept()}, {state} bytes a state"
        )

    def _kept(self) -> str:
        kept = self.window.retention()
        return kept if self.lateness is None else f"{kept} and {self.lateness} more for late events"


def plan(
    operator: Operator,
    window: Rows | Time | str | timedelta | int | np.timedelta64,
    *,
    optimize: str = "latency",
    algorithm: str | None = None,
    lateness: Given | None = None,
) -> Plan:
    """Choose the algorithm for one live window; `lateness` is how late events may come.

    A string or a timedelta is a time window, an integer a rows window, as for `over`.

    >>> import slidefold as sf
    >>> plan(sf.sum(), sf.rows(100)).algorithm
    'daba_lite'
    >>> plan(sf.max(), sf.rows(100), optimize="throughput").algorithm
    'slick_deque'
    """
    if not isinstance(operator, Operator):
        raise OperatorError(f"an operator is due, such as slidefold.max(), got {operator!r}")
    window = live_window(window)
    lateness = None if lateness is None else lateness_of(lateness)
    if optimize not in ("latency", "throughput"):
        raise WindowError(f"optimize is 'latency' or 'throughput', got {optimize!r}")
    if not operator.monoid:
        return _plan_order(operator, window, algorithm, lateness)
    if lateness is not None:
        return _plan_late(operator, window, algorithm, lateness)
    traits = operator.traits
    if algorithm is not None:
        if algorithm == LATE_ALGORITHM:
            raise PairError(
                "algorithm='fiba' is for late events: give lateness=, 0 if none is late"
            )
        require_algorithm(algorithm)
        return Plan(operator, window, algorithm, "algorithm= asked for it")
    if traits.invertible:
        reason = "the operator is exactly invertible, so that the oldest value can be taken away"
        return Plan(operator, window, "subtract_on_evict", reason)
    if optimize == "latency":
        reason = "its worst step is constant (optimize='latency')"
        return Plan(operator, window, "daba_lite", reason)
    if traits.selective:
        reason = "the operator is selective: values that lost are dropped (optimize='throughput')"
        return Plan(operator, window, "slick_deque", reason)
    reason = "it does the fewest combines on average (optimize='throughput')"
    return Plan(operator, window, "two_stacks_lite", reason)


def live_window(given: object) -> Rows | Time:
    """Read the window of a single operator: as `over` does, but of rows or time only."""
    window = window_of(given)
    if not isinstance(window, Rows | Time):
        raise WindowError(
            f"expected a rows or time window, such as sf.rows(100) or sf.time('1h'), got {window}; "
            "other windows are for sf.rolling"
        )
    return window


def _plan_order(
    operator: Operator,
    window: Rows | Time,
    algorithm: str | None,
    lateness: Length | None,
) -> Plan:
    _require_order(operator, algorithm)
    if lateness is not None:
        if not isinstance(window, Time):
            raise WindowError(f"lateness needs a time window, such as time('1h'), got {window}")
        window.lateness_rule(lateness)
    return Plan(operator, window, ORDER_ALGORITHM, _NO_MONOID, lateness)


def _require_order(operator: Operator, algorithm: str | None) -> None:
    if algorithm not in (None, ORDER_ALGORITHM):
        raise PairError(
            f"{operator.name} is no monoid, so that {algorithm} cannot fold it: leave algorithm out"
        )


def _plan_late(
    operator: Operator,
    window: Rows | Time,
    algorithm: str | None,
    lateness: Length,
) -> Plan:
    if not isinstance(window, Time):
        raise WindowError(f"lateness needs a time window, such as time('1h'), got {window}")
    window.lateness_rule(lateness)
    if algorithm not in (None, LATE_ALGORITHM):
        raise PairError(f"{algorithm} takes events in order; late events need algorithm='fiba'")
    reason = "events may come late, and it is the one that takes them anywhere (lateness=)"
    return Plan(operator, window, LATE_ALGORITHM, reason, lateness)


# Operators that need no fold over a column: the bounds of a window say what the answer is.
_BOUNDS = {
    "count": "the bounds of a window say how many rows it holds",
    "first": "the lower bound of a window is the row",
    "last": "the upper bound of a window is the row",
    "nth": "the row is n below the upper bound of a window",
    "collect": "a window is a range of the sorted column",
    "concat": "a window is a range of the sorted column",
    "collect_distinct": "a row counts unless the one before it of its value is in the window too",
}


@dataclass(frozen=True)
class ColumnPlan:
    """How one column of a rolling definition is computed, and why."""

    operator: Operator
    window: WindowKind
    algorithm: str
    reason: str

    @property
    def cost(self) -> str:
        """What a row costs, in words."""
        return _COST.get(self.algorithm, "no combine at all")

    @property
    def kept(self) -> str:
        """What is kept in memory, in words."""
        if self.algorithm in ("bounds", "register_queues"):
            return f"{self.window.retention()}, no states"
        return f"{self.window.retention()}, {self.operator.traits.state_bytes} bytes a state"


def plan_column(operator: Operator, window: WindowKind, algorithm: str | None) -> ColumnPlan:
    """Choose the algorithm for one column.

    >>> import slidefold as sf
    >>> plan_column(sf.max("x"), sf.time("1h"), None).algorithm
    'two_stacks_lite'
    >>> plan_column(sf.count(), sf.time("1h"), None).algorithm
    'bounds'
    """
    if not operator.monoid:
        _require_order(operator, algorithm)
        return ColumnPlan(operator, window, ORDER_ALGORITHM, _NO_MONOID)
    require_algorithm(algorithm)
    if operator.name in _BOUNDS:
        return ColumnPlan(operator, window, "bounds", _BOUNDS[operator.name])
    if algorithm is not None:
        needs = next(need for need in _native.algorithms() if need[0] == algorithm)
        for needed, word in zip(needs[1:], ("invertible", "selective"), strict=True):
            if needed and not getattr(operator.traits, word):
                raise PairError(
                    f"{algorithm} needs an operator that is {word}: {_typed(operator)} is not"
                )
        return ColumnPlan(operator, window, algorithm, "algorithm= asked for it")
    if operator.name == "approx_distinct":
        reason = "each register keeps a queue of the rows that may still be its largest"
        return ColumnPlan(operator, window, "register_queues", reason)
    if operator.traits.invertible:
        reason = "the operator is exactly invertible, so that the oldest value can be taken away"
        return ColumnPlan(operator, window, "subtract_on_evict", reason)
    reason = "it does the fewest combines on average, in loops without branches"
    return ColumnPlan(operator, window, "two_stacks_lite", reason)


def _typed(operator: Operator) -> str:
    typed = operator.dtype not in ("any", "object")
    return f"{operator.name} of {operator.dtype}" if typed else operator.name


def require_algorithm(algorithm: str | None) -> None:
    """Refuse a name that no algorithm has, naming the nearest."""
    if algorithm is not None and algorithm not in EVENT_ALGORITHMS:
        near = get_close_matches(str(algorithm), EVENT_ALGORITHMS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose of {', '.join(EVENT_ALGORITHMS)}"
        raise PairError(f"there is no algorithm named {algorithm!r} for this window; {hint}")


def fiba_arity(operator: Operator) -> int:
    """The smallest arity of a tree over the operator: large states want few of them in a node."""
    return 4 if operator.traits.state_bytes <= 64 else 2
