"""The operators in plain Python.

Floats follow IEEE 754 and integers are exact. NaN is larger than every number and equal to itself:
the maximum is NaN if any value is NaN, the minimum only if all values are. On ties the older value
wins. The result of an empty window is None, except that its count is 0.
"""

# The methods of an operator are documented once, in protocols.py.
# ruff: noqa: D102

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, Generic, NamedTuple

from slidefold.errors import OperatorError, ValueTypeError
from slidefold.reference.protocols import In, Operator, Out, S


def greater(left: Any, right: Any) -> bool:
    """Tell whether left > right, where NaN sorts last.

    >>> greater(float("nan"), 1), greater(1, float("nan")), greater(float("nan"), float("nan"))
    (True, False, False)
    """
    if _is_nan(right):
        return False
    return _is_nan(left) or bool(left > right)


def _is_nan(value: object) -> bool:
    return value != value


class Count:
    """The number of values; invertible."""

    def identity(self) -> int:
        return 0

    def lift(self, value: object) -> int:
        return 1

    def combine(self, older: int, newer: int) -> int:
        return older + newer

    def lower(self, state: int) -> int:
        return state

    def remove(self, whole: int, older: int) -> int:
        return whole - older

    def empty(self) -> int:
        return 0


class Sum:
    """The sum. Not invertible, because float sums are rounded; `IntSum` is."""

    def identity(self) -> float:
        return 0

    def lift(self, value: float) -> float:
        return value

    def combine(self, older: float, newer: float) -> float:
        return older + newer

    def lower(self, state: float) -> float:
        return state


def _integer(value: object, operator: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueTypeError(f"{operator} expects integers, got {value!r}")
    return value


class IntSum:
    """The sum of integers; invertible."""

    def identity(self) -> int:
        return 0

    def lift(self, value: int) -> int:
        return _integer(value, "IntSum")

    def combine(self, older: int, newer: int) -> int:
        return older + newer

    def lower(self, state: int) -> int:
        return state

    def remove(self, whole: int, older: int) -> int:
        return whole - older


class Total(NamedTuple):
    """The number of values and their sum."""

    n: int
    total: float


class Mean:
    """The arithmetic mean."""

    def identity(self) -> Total:
        return Total(0, 0)

    def lift(self, value: float) -> Total:
        return Total(1, value)

    def combine(self, older: Total, newer: Total) -> Total:
        return Total(older.n + newer.n, older.total + newer.total)

    def lower(self, state: Total) -> float | None:
        return state.total / state.n if state.n else None


class IntMean(Mean):
    """The arithmetic mean of integers; invertible."""

    def lift(self, value: float) -> Total:
        return Total(1, _integer(value, "IntMean"))

    def remove(self, whole: Total, older: Total) -> Total:
        return Total(whole.n - older.n, whole.total - older.total)


class Geomean(Mean):
    """The geometric mean, by logarithms; 0 if a value is 0, NaN if a value is negative."""

    def lift(self, value: float) -> Total:
        if value == 0:
            return Total(1, -math.inf)
        return Total(1, math.nan if value < 0 else math.log(value))

    def lower(self, state: Total) -> float | None:
        mean = super().lower(state)
        if mean is None:
            return None
        try:
            return math.exp(mean)
        except OverflowError:  # rounding moved the mean past the logarithm of the largest float
            return math.inf


class Moments(NamedTuple):
    """The number of values, their mean, and the sum of squared distances from the mean."""

    n: int
    mean: float
    squares: float


class Var:
    """The variance, merged pairwise with the formula of Chan, Golub and LeVeque.

    `ddof` is 1 for a sample and 0 for a population. The result is None unless there are more than
    `ddof` values.
    """

    def __init__(self, ddof: int = 1) -> None:
        if ddof not in (0, 1):
            raise OperatorError(f"ddof of {type(self).__name__} must be 0 or 1, got {ddof!r}")
        self.ddof = ddof

    def identity(self) -> Moments:
        return Moments(0, 0.0, 0.0)

    def lift(self, value: float) -> Moments:
        number = float(value)
        return Moments(1, number, number - number)  # NaN for an infinite value

    def combine(self, older: Moments, newer: Moments) -> Moments:
        if not older.n or not newer.n:
            return newer if not older.n else older
        n = older.n + newer.n
        apart = newer.mean - older.mean
        mean = older.mean + apart * (newer.n / n)
        squares = older.squares + newer.squares + apart * apart * (older.n * newer.n / n)
        return Moments(n, mean, squares)

    def lower(self, state: Moments) -> float | None:
        free = state.n - self.ddof
        return state.squares / free if free > 0 else None


class Std(Var):
    """The standard deviation: the square root of the variance."""

    def lower(self, state: Moments) -> float | None:
        variance = super().lower(state)
        return None if variance is None else math.sqrt(variance)


class Max:
    """The largest value, or NaN if any value is NaN; selective. None means no value."""

    def identity(self) -> Any:
        return None

    def lift(self, value: Any) -> Any:
        return value

    def combine(self, older: Any, newer: Any) -> Any:
        return newer if self.newer_wins(older, newer) else older

    def lower(self, state: Any) -> Any:
        return state

    def newer_wins(self, older: Any, newer: Any) -> bool:
        if older is None or newer is None:
            return older is None
        return self._beats(newer, older)

    def _beats(self, challenger: Any, holder: Any) -> bool:
        return greater(challenger, holder)


class Min(Max):
    """The smallest value, or NaN if all values are NaN; selective."""

    def _beats(self, challenger: Any, holder: Any) -> bool:
        return greater(holder, challenger)


class MaxBy(Max):
    """The arg of the pair (arg, key) with the largest key, the oldest on ties; selective."""

    def lift(self, value: Any) -> Any:
        if not isinstance(value, tuple) or len(value) != 2:
            raise ValueTypeError(f"{type(self).__name__} expects pairs (arg, key), got {value!r}")
        return value

    def lower(self, state: Any) -> Any:
        return None if state is None else state[0]

    def _beats(self, challenger: Any, holder: Any) -> bool:
        return greater(challenger[1], holder[1])


class MinBy(MaxBy):
    """The arg of the pair (arg, key) with the smallest key, the oldest on ties; selective."""

    def _beats(self, challenger: Any, holder: Any) -> bool:
        return greater(holder[1], challenger[1])


class Times(NamedTuple):
    """An extreme value and how often it occurs; 0 times means no value."""

    value: Any
    times: int


class MaxCount:
    """How often the largest value occurs."""

    def identity(self) -> Times:
        return Times(None, 0)

    def lift(self, value: Any) -> Times:
        return Times(value, 1)

    def combine(self, older: Times, newer: Times) -> Times:
        if not older.times or not newer.times:
            return newer if not older.times else older
        if self._beats(newer.value, older.value):
            return newer
        if self._beats(older.value, newer.value):
            return older
        return Times(older.value, older.times + newer.times)

    def lower(self, state: Times) -> int | None:
        return state.times or None

    def _beats(self, challenger: Any, holder: Any) -> bool:
        return greater(challenger, holder)


class MinCount(MaxCount):
    """How often the smallest value occurs."""

    def _beats(self, challenger: Any, holder: Any) -> bool:
        return greater(holder, challenger)


class First:
    """The oldest value; selective. The state is a tuple of at most one value."""

    def identity(self) -> tuple[Any, ...]:
        return ()

    def lift(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    def combine(self, older: tuple[Any, ...], newer: tuple[Any, ...]) -> tuple[Any, ...]:
        return newer if self.newer_wins(older, newer) else older

    def lower(self, state: tuple[Any, ...]) -> Any:
        return state[0] if state else None

    def newer_wins(self, older: tuple[Any, ...], newer: tuple[Any, ...]) -> bool:
        return not older


class Last(First):
    """The newest value; selective."""

    def newer_wins(self, older: tuple[Any, ...], newer: tuple[Any, ...]) -> bool:
        return bool(newer)


class Concat:
    """The concatenation of strings: not commutative, but invertible, as a prefix can be removed."""

    def identity(self) -> str:
        return ""

    def lift(self, value: str) -> str:
        if not isinstance(value, str):
            raise ValueTypeError(f"Concat expects strings, got {value!r}")
        return value

    def combine(self, older: str, newer: str) -> str:
        return older + newer

    def lower(self, state: str) -> str:
        return state

    def remove(self, whole: str, older: str) -> str:
        return whole[len(older) :]


class Collect:
    """The values as a list, oldest first; invertible, like Concat."""

    def identity(self) -> tuple[Any, ...]:
        return ()

    def lift(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    def combine(self, older: tuple[Any, ...], newer: tuple[Any, ...]) -> tuple[Any, ...]:
        return older + newer

    def lower(self, state: tuple[Any, ...]) -> list[Any]:
        return list(state)

    def remove(self, whole: tuple[Any, ...], older: tuple[Any, ...]) -> tuple[Any, ...]:
        return whole[len(older) :]


class Counting(Generic[In, S, Out]):
    """A wrapper that counts calls: `combine` in `combines`, `newer_wins` in `choices`.

    Combines on a thread other than the one that created the wrapper are counted in `elsewhere`.

    >>> counted = Counting(Concat())
    >>> counted.combine("a", counted.combine("b", "c")), counted.combines
    ('abc', 2)
    """

    def __init__(self, wrapped: Operator[In, S, Out]) -> None:
        self.wrapped = wrapped
        self.combines = 0
        self.elsewhere = 0
        self.choices = 0
        self._home = threading.get_ident()

    def identity(self) -> S:
        return self.wrapped.identity()

    def lift(self, value: In) -> S:
        return self.wrapped.lift(value)

    def combine(self, older: S, newer: S) -> S:
        if threading.get_ident() == self._home:
            self.combines += 1
        else:
            self.elsewhere += 1
        return self.wrapped.combine(older, newer)

    def lower(self, state: S) -> Out:
        return self.wrapped.lower(state)

    def __getattr__(self, name: str) -> Any:
        """Forward the optional methods, so that the wrapper has the properties of the operator."""
        if name not in ("remove", "newer_wins", "empty"):
            raise AttributeError(name)
        method: Callable[..., Any] = getattr(self.wrapped, name)
        return self._count_choice(method) if name == "newer_wins" else method

    def _count_choice(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def newer_wins(older: S, newer: S) -> Any:
            self.choices += 1
            return method(older, newer)

        return newer_wins
