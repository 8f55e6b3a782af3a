"""Compare two states: exactly, except for the rounding of floats.

Integers, strings and the states of selective operators must be equal. Floats that were summed in
a different order may differ in their last bits. They are compared within 1e-12 of the inputs, or of
their squares if those are larger, because a variance holds squares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from slidefold.reference.protocols import has

ROUNDING = 1e-12


def tolerance(op: object, inputs: Sequence[object]) -> float:
    """Return how much two float states of the same lifted inputs may differ."""
    if has(op, "newer_wins"):
        return 0.0
    scale = max((abs(x) for state in inputs for x in _finite_floats(state)), default=0.0)
    return ROUNDING * len(inputs) * max(scale, scale * scale)


def agree(left: object, right: object, tolerance: float) -> bool:
    """Tell whether two states are equal within the tolerance.

    >>> agree((2, 0.1 + 0.2), (2, 0.3), tolerance=1e-12)
    True
    >>> agree(3, 4, tolerance=10.0)
    False
    """
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(
            agree(a, b, tolerance) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, float) or isinstance(right, float):
        return _agree_floats(left, right, tolerance)
    return left == right


def _agree_floats(left: object, right: object, tolerance: float) -> bool:
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return False
    if left == right or (math.isnan(left) and math.isnan(right)):
        return True
    if math.isnan(left) or math.isnan(right):
        return math.isinf(tolerance)
    return abs(left - right) <= tolerance


def _finite_floats(state: object) -> Iterator[float]:
    if isinstance(state, float):
        if math.isfinite(state):
            yield state
    elif isinstance(state, tuple | list):
        for part in state:
            yield from _finite_floats(part)
