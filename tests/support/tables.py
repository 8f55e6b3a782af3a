"""Random tables for rolling definitions: ties, gaps, keys, nulls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

# name: (rows, keys, times are below so many a row, share of nulls)
SHAPES: dict[str, tuple[int, int, float, float]] = {
    "one key": (300, 1, 1.0, 0.0),
    "few keys with nulls": (300, 4, 1.0, 0.3),
    "many keys": (400, 150, 2.0, 0.1),
    "ties": (300, 2, 0.1, 0.1),
    "gaps": (200, 3, 30.0, 0.1),
    "no rows": (0, 1, 1.0, 0.0),
    "one row": (1, 1, 1.0, 0.0),
    "all null": (60, 2, 1.0, 1.0),
}


def random_table(shape: str, seed: int = 0) -> Any:
    """Return columns id, k, t, x (int64), y (float64 in quarters, so that sums are exact).

    Rows come in no order.
    """
    rows, keys, spread, nulls = SHAPES[shape]
    rng = np.random.default_rng([seed, rows, keys])
    x = rng.integers(-50, 50, rows)
    y = rng.integers(-400, 400, rows) / 4
    return pa.table(
        {
            "id": pa.array(np.arange(rows)),
            "k": pa.array([f"k{n}" for n in rng.integers(0, keys, rows)], pa.string()),
            "t": pa.array(rng.integers(-50, 1 + int(rows * spread), rows)),
            "x": pa.array(x, mask=rng.random(rows) < nulls),
            "y": pa.array(y, mask=rng.random(rows) < nulls),
        }
    )


def assert_same(found: Any, expected: Any, what: str) -> None:
    """Compare two columns value by value: nulls are nulls, floats nearly equal."""
    got, due = found.to_pylist(), expected.to_pylist()
    assert len(got) == len(due), what
    for row, (a, b) in enumerate(zip(got, due, strict=True)):
        if a is None or b is None:
            assert a is b, f"{what}, row {row}: {a} and not {b}"
        else:
            assert abs(float(a) - float(b)) <= 1e-9 * max(1.0, abs(float(b))), (
                f"{what}, row {row}: {a} and not {b}"
            )
