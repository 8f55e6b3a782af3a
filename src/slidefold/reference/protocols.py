"""Define what an operator is: how it folds, and which optional properties it has.

An operator is any object with `identity`, `lift`, `combine` and `lower`. `combine` is associative,
takes the older state first, and returns a new state; it never changes its arguments. Three methods
are optional. `remove` makes an operator invertible. `newer_wins` makes it selective. `empty`
returns the result of an empty window, which is None without it.
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
    """Fold values: lift values to states, combine states, and lower the final state."""

    def identity(self) -> S:
        """Return the state of no values."""

    def lift(self, value: In_contra, /) -> S:
        """Return the state of one value."""

    def combine(self, older: S, newer: S, /) -> S:
        """Return the state of both, older values first."""

    def lower(self, state: S, /) -> Out_co:
        """Return the result for a state."""


class Invertible(Operator[In_contra, S, Out_co], Protocol[In_contra, S, Out_co]):
    """An operator that can remove the oldest part of a state."""

    def remove(self, whole: S, older: S, /) -> S:
        """Return b, given combine(a, b) and a."""


class Selective(Operator[In_contra, S, Out_co], Protocol[In_contra, S, Out_co]):
    """An operator whose combine returns one of its two arguments."""

    def newer_wins(self, older: S, newer: S, /) -> bool:
        """Tell whether combine(older, newer) returns newer."""


def operator_name(op: object) -> str:
    """Return the operator's class name for error messages, without a `Counting` wrapper.

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
    """Raise PairError unless the operator has the method that the algorithm needs."""
    if not has(op, method):
        raise PairError(
            f"{algorithm} needs {property_} operator, but {operator_name(op)} has no {method}"
        )


def empty_result(op: object) -> Any:
    """Return the result of an empty window: None, unless the operator has `empty`."""
    empty = getattr(op, "empty", None)
    return empty() if callable(empty) else None


def fold(op: Operator[In, S, Out], states: Iterable[S]) -> S:
    """Return the aggregate of n states, given oldest first, in n - 1 combines."""
    parts = list(states)
    if not parts:
        return op.identity()
    total = parts[0]
    for state in parts[1:]:
        total = op.combine(total, state)
    return total


def prefixes(op: Operator[In, S, Out], states: Sequence[S]) -> list[S]:
    """Return, for each i, the fold of states[0] to states[i], both included."""
    folds: list[S] = []
    for state in states:
        folds.append(op.combine(folds[-1], state) if folds else state)
    return folds


def suffixes(op: Operator[In, S, Out], states: Sequence[S]) -> list[S]:
    """Return, for each i, the fold of states[i] to the last state, both included."""
    folds: list[S] = []
    for state in reversed(states):
        folds.append(op.combine(state, folds[-1]) if folds else state)
    folds.reverse()
    return folds
