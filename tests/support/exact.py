"""Spreads in exact arithmetic, and the errors that floats may make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

SLACK = Fraction(1, 10**12)
Column = np.ndarray[Any, Any]
INT_MAX, INT_MIN = 2**63 - 1, -(2**63)


@dataclass(frozen=True)
class Moments:
    """The sums of squared and mixed deviations of two columns, as fractions."""

    n: int
    xx: Fraction
    yy: Fraction
    xy: Fraction

    @cached_property
    def scale(self) -> Fraction:
        """The largest size that the sum of mixed deviations may have: the root of xx * yy."""
        square = self.xx * self.yy
        more = 2 ** max(0, 400 - square.numerator.bit_length() + square.denominator.bit_length())
        return Fraction(math.isqrt(int(square * more * more)), more)

    def right(self, name: str, got: float | None) -> bool:
        """Judge a result: its relative error is below 1e-12, of a joint one unless that cancels.

        The condition of a sum of mixed deviations is scale / xy, one over the correlation: that
        much they cancel, and with them the digits of any sum of floats. 1e-14 of the scale is what
        can be asked for then; from a correlation of 0.01 on that is 1e-12 of the result.
        """
        if name in ("var", "std"):
            assert got is not None
            value = Fraction(got) if name == "var" else Fraction(got) ** 2
            wide = 1 if name == "var" else 2  # the error of a root is half of that
            return abs(value * (self.n - 1) - self.xx) <= wide * SLACK * self.xx
        due = {"covariance": Fraction(self.n - 1), "trend": self.yy, "correlation": self.scale}[
            name
        ]
        if not due or (name == "correlation" and not self.xx * self.yy):
            return got is None
        assert got is not None
        return abs(Fraction(got) * due - self.xy) <= max(SLACK * abs(self.xy), self.scale / 10**14)


def moments_of(xs: Sequence[Any], ys: Sequence[Any]) -> Moments:
    """Return the moments of two columns, in integers of one small unit each."""
    (a, unit), (b, step) = (_whole(values) for values in (xs, ys))
    n, left, right = len(a), sum(a), sum(b)
    return Moments(
        n,
        Fraction(n * sum(x * x for x in a) - left * left, n) * unit * unit,
        Fraction(n * sum(y * y for y in b) - right * right, n) * step * step,
        Fraction(n * sum(x * y for x, y in zip(a, b, strict=True)) - left * right, n) * unit * step,
    )


def _whole(values: Sequence[Any]) -> tuple[list[int], Fraction]:
    ratios = [value.as_integer_ratio() for value in values]
    unit = max(below for _, below in ratios)  # powers of two
    return [above * (unit // below) for above, below in ratios], Fraction(1, unit)


def hard_columns(rows: int) -> dict[str, tuple[Column, Column]]:
    """Return pairs of columns on which running subtraction, or a mean that is rounded, is wrong."""
    random = np.random.default_rng(rows)
    noise, other = random.random(rows), random.random(rows)
    peaks = noise.copy()
    peaks[:: max(rows // 20, 1)] = 1e16
    small = random.integers(0, 1000, rows)
    return {
        "1e9 plus noise": (1e9 + noise, -1e9 + noise + other),
        "1e9 plus noise, apart": (1e9 + noise, 1e9 + other),
        "1e16, then small": (peaks, noise + other),
        "int64 limits": (
            random.choice(np.array([INT_MAX, INT_MIN, INT_MAX - 1, 5]), rows),
            random.choice(np.array([INT_MAX, INT_MIN, INT_MIN + 7]), rows),
        ),
        "near 2**62": (2**62 + small, 3 - 2**62 + small + random.integers(0, 1000, rows)),
        "near the largest": (INT_MAX - small, INT_MAX - small[::-1].copy()),
        "rising": (np.arange(rows) + noise, 1e6 + np.arange(rows) + other),
    }
