"""Quantiles over frames: exact order statistics, which no algorithm folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.values import Array, Restore, is_temporal, real_numbers, to_arrow
from slidefold.definition.operators import QuantileOperator
from slidefold.definition.windows.sorted_rows import Ints


def quantiles(
    operator: QuantileOperator, values: Any, ordered: tuple[Array, Restore], lo: Ints, hi: Ints
) -> Any:
    """Return the quantile of each frame; `ordered` are the values as numbers in their order.

    A value of the column keeps its type. Numbers between two values are floats, times whole units.
    None if the type has nothing between two values.
    """
    numbers, restore = ordered
    kind = values.type

    def found(interpolation: str, whole: bool = False) -> tuple[Array, Array]:
        return _native.quantile_frames(numbers, lo, hi, operator.q, interpolation, whole)

    if operator.picks or pa.types.is_null(kind):
        return restore(*found(operator.interpolation))
    if is_temporal(kind):
        return restore(*found(operator.interpolation, True))
    if pa.types.is_decimal(kind) or pa.types.is_uint64(kind):
        # Their order is exact; what lies between two of them is a float.
        low, high = (restore(*found(end)) for end in ("lower", "higher"))
        share = _shares(operator, hi - lo)
        valid = hi > lo
        least, most = (real_numbers(end.fill_null(0)) for end in (low, high))
        return to_arrow(_between(least, most, share), valid)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return to_arrow(*found(operator.interpolation))
    return None


def _shares(operator: QuantileOperator, count: Ints) -> Array:
    """Return how far each quantile lies between its lower and its higher value, from 0 to 1."""
    place = operator.q * np.maximum(count - 1, 0)
    share = place - np.floor(place)
    return np.where(share > 0, 0.5, 0.0) if operator.interpolation == "midpoint" else share


def _between(low: Array, high: Array, share: Array) -> Array:
    apart = high - low
    found: Array = np.where(share < 0.5, low + apart * share, high - apart * (1 - share))
    return found
