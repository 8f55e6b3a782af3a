"""What operators give that look at more than the values of a window: at the row, or at its end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa

from tests.matrix.oracle import OVERFLOW, finite
from tests.matrix.oracle import rank as order
from tests.matrix.tables import CLOCKS
from tests.matrix.tallied import added
from tests.matrix.values import Kind
from tests.matrix.windows import Row

_UNITS = {"s": 1, "d": 86400}  # seconds in one of our steps


@dataclass(frozen=True)
class Asked:
    """A window that is asked for: its rows, the row that asks, and where the window ends."""

    held: list[Row]
    row: Row | None  # None with `every=`
    end: int
    clock: str
    least: int

    def having(self, *columns: str) -> list[Row]:
        """Return the rows with values in these columns, none if there are too few."""
        there = [row for row in self.held if all(row[name] is not None for name in columns)]
        return there if len(there) >= self.least else []

    def span(self, steps: int) -> Any:
        """Return a span of time as results have it: seconds, or a number if times are numbers."""
        unit = CLOCKS[self.clock][2]
        return steps if unit is None else Fraction(steps * _UNITS[unit])


def spans(column: Any) -> list[Any]:
    """Return a column of spans in seconds, or as numbers."""
    if not pa.types.is_duration(column.type):
        return list(column.to_pylist())
    steps = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
    whole = column.cast(pa.int64()).to_pylist()
    return [None if value is None else Fraction(value, steps) for value in whole]


# ---- times --------------------------------------------------------------------------------------


def since_last(asked: Asked, kind: Kind, *columns: str) -> Any:
    """Return the time from the last row that has values to the end of the window."""
    times = [row["t"] for row in asked.having(*columns)]
    return asked.span(asked.end - max(times)) if times else None


def since_first(asked: Asked, kind: Kind, *columns: str) -> Any:
    """Return the time from the first row that has values to the end of the window."""
    times = [row["t"] for row in asked.having(*columns)]
    return asked.span(asked.end - min(times)) if times else None


def longest_gap(asked: Asked, kind: Kind) -> Any:
    """Return the longest time between two neighbours."""
    times = [row["t"] for row in asked.having()]
    gaps = [newer - older for older, newer in pairwise(times)]
    return asked.span(max(gaps)) if gaps else None


def decayed_sum(asked: Asked, kind: Kind, half_life: float) -> float | None:
    """Return a sum of x in which rows weigh less, the older they are at the end."""
    there = asked.having("x")
    return _faded(asked, [(row["x"], row["t"]) for row in there], half_life) if there else None


def decayed_count(asked: Asked, kind: Kind, half_life: float) -> float | None:
    """Return the number of rows, each of which weighs less, the older it is at the end."""
    there = asked.having()
    return _faded(asked, [(1, row["t"]) for row in there], half_life) if there else None


def _faded(asked: Asked, rows: list[tuple[Any, int]], half_life: float) -> float:
    return added([(x, math.exp2(-float(asked.span(asked.end - t)) / half_life)) for x, t in rows])


# ---- the row itself -----------------------------------------------------------------------------


def rank(asked: Asked, kind: Kind, method: str, pct: bool) -> float | None:
    """Return where the row's own value stands among the values of its window."""
    assert asked.row is not None
    own, there = asked.row["x"], asked.having("x")
    if own is None or not there:
        return None
    keys = [order(row["x"]) for row in there]
    smaller = sum(key < order(own) for key in keys)
    equal = max(1, keys.count(order(own)))
    place = {"min": smaller + 1, "max": smaller + equal, "average": smaller + (equal + 1) / 2}
    return place[method] / len(there) if pct else float(place[method])


def lag(asked: Asked, kind: Kind, n: int) -> Any:
    """Return the value n rows before."""
    return asked.held[-n]["x"] if len(asked.held) >= n else None


def change(asked: Asked, kind: Kind, n: int) -> Any:
    """Return the difference to the value n rows before."""
    assert asked.row is not None
    own, before = asked.row["x"], lag(asked, kind, n)
    if own is None or before is None:
        return None
    if kind.family == "float":
        return float(own) - float(before)
    apart = Fraction(own) - Fraction(before)
    if kind.family == "decimal":
        return apart
    # Days are turned into seconds first.
    scale = 86400 if pa.types.is_date32(kind.arrow) else 1
    return int(apart) if -(2**63) <= apart * scale < 2**63 else OVERFLOW


def ratio_change(asked: Asked, kind: Kind, n: int) -> float | None:
    """Return the relative change since the value n rows before, by the rules of IEEE."""
    assert asked.row is not None
    own, before = asked.row["x"], lag(asked, kind, n)
    if own is None or before is None:
        return None
    x, y = float(own), float(before)
    if y == 0:
        sign = math.copysign(1.0, y) * math.copysign(1.0, x)
        return math.nan if x == 0 or math.isnan(x) else sign * math.inf
    return x / y - 1.0


def near_ratio(got: Any, expected: Any, values: Any) -> bool:
    """Compare ratios within 1e-12."""
    if not (finite(got) and finite(expected)):
        return got == expected or (math.isnan(got) and math.isnan(expected))
    return bool(abs(got - expected) <= 1e-12 * (1 + abs(expected)))
