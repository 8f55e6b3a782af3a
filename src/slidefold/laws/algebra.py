"""Call an operator's functions one by one, in plain Python or in native code."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from slidefold import _native
from slidefold.definition.operators import Operator, UserOperator
from slidefold.definition.operators.definition import Definition
from slidefold.errors import ValueTypeError


class Algebra(Protocol):
    """The functions of an operator."""

    has: frozenset[str]  # which of identity, remove and newer_wins exist

    def identity(self) -> Any:
        """Return the neutral state."""
        ...

    def lift(self, value: Any) -> Any:
        """Return the state of one value."""
        ...

    def combine(self, older: Any, newer: Any) -> Any:
        """Return the state of both."""
        ...

    def lower(self, state: Any) -> Any:
        """Return the result."""
        ...

    def remove(self, whole: Any, older: Any) -> Any:
        """Return the whole without its older part."""
        ...

    def newer_wins(self, older: Any, newer: Any) -> bool:
        """Tell whether combine returns the newer state."""
        ...

    def seen(self, state: Any) -> Any:
        """Return the state in the form that is compared and shown."""
        ...


class PlainAlgebra:
    """The plain Python functions of a user's class."""

    def __init__(self, definition: Definition) -> None:
        functions = definition.plain
        self.has = frozenset({"identity", "remove", "newer_wins"} & functions.keys())
        self.identity: Callable[[], Any] = functions.get("identity", _missing)
        self.lift: Callable[[Any], Any] = functions["lift"]
        self.combine: Callable[[Any, Any], Any] = functions["combine"]
        self.lower: Callable[[Any], Any] = functions["lower"]
        self.remove: Callable[[Any, Any], Any] = functions.get("remove", _missing)
        self.newer_wins: Callable[[Any, Any], bool] = functions.get("newer_wins", _missing)

    def seen(self, state: Any) -> Any:
        """Return a copy of the state, because the functions might change it."""
        return copy.deepcopy(state)


class NativeAlgebra(_native.OperatorCore):
    """The native functions; a state is compared by its result."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(operator)
        properties = {"remove": "invertible", "newer_wins": "selective"}
        self.has = frozenset(
            {"identity", *(f for f, word in properties.items() if getattr(operator.traits, word))}
        )

    def seen(self, state: Any) -> Any:
        """Return the result of the state."""
        return self.lower(state)


def _missing(*_: Any) -> Any:
    raise NotImplementedError


def algebra_of(operator: Operator) -> Algebra:
    """Return the functions whose laws are checked."""
    if isinstance(operator, UserOperator):
        return PlainAlgebra(operator.definition)
    return NativeAlgebra(operator)


def close(a: Any, b: Any, tolerance: float, scale: float) -> bool:
    """Tell whether two results are equal; floats are compared with a tolerance.

    >>> close((1, 0.1 + 0.2), (1, 0.3), 1e-9, 1.0), close(float("nan"), float("nan"), 0.0, 1.0)
    (True, True)
    """
    if isinstance(a, float) and isinstance(b, (int, float)):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or abs(a - b) <= tolerance * max(abs(a), abs(b), scale)
    if isinstance(b, float) and isinstance(a, int):
        return close(b, a, tolerance, scale)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        same = np.shape(a) == np.shape(b)
        return same and close(np.asarray(a).tolist(), np.asarray(b).tolist(), tolerance, scale)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(close(x, y, tolerance, scale) for x, y in pairs)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(close(a[k], b[k], tolerance, scale) for k in a)
    return bool(a == b)


def scale_of(value: Any) -> float:
    """Return the largest finite number in a value; rounding errors are relative to it."""
    if isinstance(value, (tuple, list)):
        return max(map(scale_of, value), default=0.0)
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        size = abs(float(value))
        return size if math.isfinite(size) else 0.0
    return 0.0


_FLOATS = [0.0, 1.0, 2.0, -1.0, 0.5, 3.0, -2.5, 7.25, 0.1, 12.0, -30.7, 100.3]
_INTEGERS = [0, 1, 2, 3, -1, 5, -4, 7, 12, 100, -30]
_NATURALS = [0, 1, 2, 3, 5, 7, 12, 100]
_TEXTS = ["", "a", "b", "ab", "ba", "c", "abc"]
_BOOLS = [False, True]


def _paired(*parts: list[Any]) -> list[Any]:
    """Return tuples that contain every value of every part, in different combinations."""
    most = max(map(len, parts))
    return [
        tuple(
            part[(row * (1 + 2 * number) + number) % len(part)] for number, part in enumerate(parts)
        )
        for row in range(2 * most)
    ]


def default_samples(operator: Operator) -> list[Any] | None:
    """Return values of the types that an operator takes, or None if the types are unknown."""
    if isinstance(operator, UserOperator):
        if operator.definition.state is None:
            return None
        kinds: dict[str, list[Any]] = {"f": _FLOATS, "i": _INTEGERS, "u": _NATURALS, "b": _BOOLS}
        parts = [kinds[code[0]] for code in operator.definition.inputs.codes]
        return list(parts[0]) if len(parts) == 1 else _paired(*parts)
    core = _native.OperatorCore(operator)
    listed: dict[str, list[Any]] = {"int64": _INTEGERS, "str": _TEXTS}
    first = listed.get(operator.dtype, _FLOATS)
    kinds_of_value: tuple[list[Any], ...] = (first, _FLOATS, _INTEGERS, _TEXTS, _BOOLS)
    guesses = [
        *kinds_of_value,
        *(_paired(a, b) for a in kinds_of_value for b in (_FLOATS, _INTEGERS)),
    ]
    for guess in guesses:
        try:
            for value in guess:
                core.lift(value)
        except ValueTypeError:
            continue
        return list(guess)
    return None
