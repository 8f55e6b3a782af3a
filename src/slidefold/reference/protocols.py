"""What an operator is: how to fold, and which properties it may have besides.

An operator is any object with `identity`, `lift`, `combine` and `lower`. `combine` is associative,
takes the older state first, and returns a new state: it never changes its arguments. Three methods
are optional. `remove` makes an operator invertible, `newer_wins` makes it selective, `empty` is the
result of a window that holds nothing (without it that result is None).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

from slidefold.errors import PairError

In = TypeVar("In")
S = TypeVar("S")
Out = TypeVar("Out")
In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)


class Operator(Protocol[In_contra, S, Out_co]):
    """How to fold: values are lifted to states, states combined, the last state lowered."""

    def identity(self) -> S:
        """Return the state of no values at all."""

    def lift(self, value: In_contra, /) -> S:
        """Return the state of one value."""

    def combine(self, older: S, newer: S, /) -> S:
        """Return the state of both, in time order."""

    def lower(self, state: S, /) -> Out_co:
        """Return the result that a state stands for."""


class Invertible(Operator[In_contra, S, Out_co], Protocol[In_contra, S, Out_co]):
    """An operator that can take the oldest part out again."""

    def remove(self, whole: S, older: S, /) -> S:
        """Return b, given combine(a, b) and a."""


class Selective(Operator[In_contra, S, Out_co], Protocol[In_contra, S, Out_co]):
    """An operator whose combine returns one of its two arguments."""

    def newer_wins(self, older: S, newer: S, /) -> bool:
        """Tell whether combine(older, newer) is newer."""


def operator_name(op: object) -> str:
    """Return the name that error messages use: the class, seen through a `Counting` wrapper.

    >>> from slidefold.reference.operators import Counting, Max
    >>> operator_name(Counting(Max()))
    'Max'
    """
    wrapped = getattr(op, "wrapped", op)
    kind = wrapped if isinstance(wrapped, type) else type(wrapped)
    return kind.__name__


def has(op: object, method: str) -> bool:
    """Tell whether the operator defines an optional method."""
    return callable(getattr(op, method, None))


def require(op: object, method: str, algorithm: str, property_: str) -> None:
    """Raise PairError unless the operator has the method that the algorithm is built on."""
    if not has(op, method):
        raise PairError(
            f"{algorithm} needs {property_} operator; {operator_name(op)} has no {method}"
        )


def empty_result(op: object) -> Any:
    """Return the result of an empty window: None, unless the operator says otherwise."""
    empty = getattr(op, "empty", None)
    return empty() if callable(empty) else None


def fold(op: Operator[In, S, Out], states: Iterable[S]) -> S:
    """Return the aggregate of n states, oldest first, in n - 1 combines."""
    parts = list(states)
    if not parts:
        return op.identity()
    total = parts[0]
    for state in parts[1:]:
        total = op.combine(total, state)
    return total


def prefixes(op: Operator[In, S, Out], states: Sequence[S]) -> list[S]:
    """Return for each i the fold of states[0] up to and including states[i]."""
    found: list[S] = []
    for state in states:
        found.append(op.combine(found[-1], state) if found else state)
    return found


def suffixes(op: Operator[In, S, Out], states: Sequence[S]) -> list[S]:
    """Return for each i the fold of states[i] up to and including the last."""
    found: list[S] = []
    for state in reversed(states):
        found.append(op.combine(state, found[-1]) if found else state)
    found.reverse()
    return found
