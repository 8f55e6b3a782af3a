"""When a result is right: exactly, or within 1e-12 of the sum of absolute inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.matrix.oracle import Values, central, finite

NEAR = 1e-12
Check = Callable[[Any, Any, Values], bool]


def same(got: Any, expected: Any, values: Values = ()) -> bool:
    """Tell whether two results are equal; NaN is NaN, and -0.0 is 0.0."""
    if isinstance(expected, list | tuple):
        alike = isinstance(got, list | tuple) and len(got) == len(expected)
        return alike and all(map(same, got, expected))
    if isinstance(expected, dict):
        alike = isinstance(got, dict) and got.keys() == expected.keys()
        return alike and all(same(got[name], expected[name]) for name in expected)
    if got is None or expected is None:
        return got is expected
    if isinstance(expected, bool) or isinstance(got, bool):
        return got is expected
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(got, float) and math.isnan(got)
    if isinstance(expected, int | float | Decimal | Fraction):
        return isinstance(got, int | float | Decimal | Fraction) and bool(
            Fraction(got) == expected if finite(got) and finite(expected) else got == expected
        )
    return type(got) is type(expected) and bool(got == expected)


def within(scale: Callable[[Values], Any], error: float = NEAR) -> Check:
    """Return a comparison with an error of so much of a scale; what is not finite is exact."""

    def near(got: Any, expected: Any, values: Values) -> bool:
        if got is None or expected is None or not (finite(got) and finite(expected)):
            return same(got, expected)
        apart = abs(Fraction(got) - Fraction(expected))
        return bool(apart <= Fraction(error) * (Fraction(scale(values)) + abs(Fraction(expected))))

    return near


def absolute_mean(values: Values) -> Any:
    """Return the mean of the absolute values, the first of each tuple."""
    first = [value[0] if isinstance(value, tuple) else value for value in values]
    return sum(abs(Fraction(x)) for x in first if finite(x)) / len(first)


def absolute_sum(values: Values) -> Any:
    """Return the sum of the absolute values."""
    return absolute_mean(values) * len(values)


relative = within(lambda values: 0)
near_sum = within(absolute_sum)
near_mean = within(absolute_mean)
near_quantile = within(absolute_sum, 1e-15)
near_one = within(lambda values: 1, 1e-9)


def whole_step(got: Any, expected: Any, values: Values) -> bool:
    """Compare a mean that is rounded to a whole step, in whatever direction."""
    return isinstance(got, int) and abs(got - expected) <= 1 + NEAR * absolute_mean(values)


def near_average(got: Any, expected: Any, values: Values) -> bool:
    """Compare means: floats, or durations of whole steps."""
    if isinstance(expected, Fraction):
        return whole_step(got, expected, values)
    return near_mean(got, expected, values)


def near_ratio(got: Any, expected: Any, values: Values) -> bool:
    """Compare a range divided by a mean, which loses the digits that cancel in the mean."""
    if not (finite(got) and finite(expected)):
        return same(got, expected)
    center = abs(sum(map(Fraction, values)) / len(values))
    return bool(abs(got - expected) <= NEAR * abs(expected) * (1 + absolute_mean(values) / center))


def near_product(got: Any, expected: Any, values: Values) -> bool:
    """Compare covariances within 1e-12 of the product of the two spreads."""
    if not (finite(got) and finite(expected)):
        return same(got, expected)
    first, second = _spreads(values)
    return bool(abs(got - expected) <= NEAR * first * second)


def near_slope(got: Any, expected: Any, values: Values) -> bool:
    """Compare slopes within 1e-12 of the steepest one that the spreads allow."""
    if not (finite(got) and finite(expected)):
        return same(got, expected)
    first, second = _spreads(values)
    return bool(abs(got - expected) <= NEAR * first / second)


def _spreads(values: Values) -> list[float]:
    columns = zip(*values, strict=True)
    return [math.sqrt(central(column, column) or 0) for column in columns]
