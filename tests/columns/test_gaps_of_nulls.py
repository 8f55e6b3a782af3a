"""Windows that hold few values because of gaps of nulls, against counting them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf

ROWS = 450
RANDOM = np.random.default_rng(16)


def gaps(longest: int) -> list[float | None]:
    """Values between gaps of up to so many nulls, one of them of that length."""
    values: list[float | None] = [float(n) for n in range(ROWS)]
    start = 0
    while start < ROWS:
        length = int(RANDOM.integers(1, longest + 1))
        values[start : start + length] = [None] * len(values[start : start + length])
        start += length + int(RANDOM.integers(1, 4))
    values[100 : 100 + longest] = [None] * longest
    return values


def expected(values: list[Any], keys: list[int], window: int, least: int, left: bool) -> list[Any]:
    results: list[Any] = []
    for row, key in enumerate(keys):
        own = [i for i in range(row + (not left)) if keys[i] == key][-window:]
        held = [values[i] for i in own if values[i] is not None]
        results.append(sum(held) if len(held) >= max(least, 1) else None)
    return results


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("longest", [1, 14, 15, 300])
def test_least_values(longest: int, groups: int) -> None:
    values = gaps(longest)
    keys = [int(key) for key in RANDOM.integers(0, groups, ROWS)]
    table = pa.table({"t": range(ROWS), "k": keys, "x": pa.array(values, pa.float64())})
    for window in (1, 8, 40):
        for least in (None, 5, 2**62):
            for closed in ("right", "left"):
                over = sf.sum("x").over(window, closed=closed, min_count=least)
                smallest = sf.min("x").over(window, closed=closed, min_count=least)
                results = sf.rolling(on="t", by="k", s=over, m=smallest).run(table)
                truth = expected(values, keys, window, least or 1, closed == "left")
                assert results["s"].to_pylist() == truth
                assert results["m"].is_null().to_pylist() == [one is None for one in truth]


@pytest.mark.parametrize("longest", [1, 14, 15, 300])
def test_least_values_of_time_windows(longest: int) -> None:
    values = gaps(longest)
    table = pa.table({"t": range(ROWS), "x": pa.array(values, pa.float64())})
    for length in (1, 8, 40):
        for least in (None, 5, 2**62):
            over = sf.sum("x").over(sf.time(length), min_count=least)
            results = sf.rolling(on="t", s=over).run(table)["s"].to_pylist()
            assert results == expected(values, [0] * ROWS, length, least or 1, False)
