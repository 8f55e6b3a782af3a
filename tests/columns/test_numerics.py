"""Numerics over columns and late windows, against exact arithmetic in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ResultOverflowError
from tests.support.exact import hard_columns, moments_of

INT_MAX, INT_MIN = 2**63 - 1, -(2**63)
SLACK = Fraction(1, 10**12)


COLUMNS = hard_columns(6000)


def folded(window: Any) -> dict[str, Any]:
    pairs = {
        name: getattr(sf, name)("x", "y").over(window)
        for name in ("covariance", "correlation", "trend")
    }
    return {"var": sf.var("x").over(window), "std": sf.std("x").over(window), **pairs}


@pytest.mark.parametrize("hard", COLUMNS)
@pytest.mark.parametrize("window", [2, 50, 2500])
def test_spreads_in_every_engine(window: int, hard: str) -> None:
    """Rows and time windows over columns, and live: relative errors below 1e-12."""
    xs, ys = COLUMNS[hard]
    table = pa.table({"t": np.arange(len(xs)), "x": xs, "y": ys})
    by_rows = sf.rolling(on="t", order="input", columns=folded(window)).run(table)
    by_time = sf.rolling(on="t", columns=folded(sf.time(window)))
    live = by_time.live(lateness=0, emit="arrival")
    fed = [live.feed(part) for part in (table.slice(0, 3000), table.slice(3000))]
    timed, arrived = by_time.run(table), pa.concat_tables(fed)
    for row in (window - 1, window + 7, 2 * window - 1, 5001, 5999):
        exact = moments_of(*(c[row + 1 - window : row + 1].tolist() for c in (xs, ys)))
        for found in (by_rows, timed, arrived):
            for name in folded(window):
                got = found[name][row].as_py()
                assert exact.right(name, got), (name, row, got)


@pytest.mark.parametrize("huge", [1e16, -1e300, math.inf, math.nan])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "relative_variation", "covariance"])
def test_what_has_left_leaves_no_trace(name: str, huge: float) -> None:
    """Once a huge value has left all windows, results are those of a table without it."""
    random = np.random.default_rng(5)
    clean = random.random(300)
    dirty = clean.copy()
    dirty[100] = huge
    make: Any = getattr(sf, name)
    columns = ("x", "y") if name == "covariance" else ("x",)
    made = sf.rolling(on="t", r=make(*columns).over(20))
    results = [
        made.run(pa.table({"t": np.arange(300), "x": x, "y": clean}))["r"].to_numpy()
        for x in (clean, dirty)
    ]
    np.testing.assert_allclose(results[1][120:], results[0][120:], rtol=1e-12)
    assert not np.array_equal(results[1][100:120], results[0][100:120])


def test_integers_at_their_limits() -> None:
    """Sums in 128 bits: only a result that needs more than 64 is an error, and it says which."""
    values = [INT_MAX, INT_MAX, -INT_MAX, INT_MIN, INT_MAX, 5]
    table = pa.table({"t": range(6), "x": values})
    thirds = sf.rolling(on="t", every=3, s=sf.sum("x").over(3))  # what lies between needs 65 bits
    assert thirds.run(table)["s"].to_pylist() == [INT_MAX, INT_MIN + INT_MAX + 5]
    with pytest.raises(ResultOverflowError, match="64 bits at row 1"):
        sf.rolling(on="t", s=sf.sum("x").over(3)).run(table)
    means = sf.rolling(on="t", m=sf.mean("x").over(4)).run(table)["m"].to_pylist()
    for row, got in enumerate(means):
        held = values[max(0, row - 3) : row + 1]
        truth = Fraction(sum(held), len(held))
        assert abs(Fraction(got) - truth) <= abs(truth) / 2**51 + Fraction(1, 10**300)


def test_long_windows_do_not_drift() -> None:
    """Sums of 0.1 over a long window: within 1e-12 of the sum of absolute inputs, to the end."""
    values = np.where(np.arange(60_000) % 3 == 0, -0.1, 0.1)
    table = pa.table({"t": np.arange(60_000), "x": values})
    made = sf.rolling(
        on="t",
        plain=sf.sum("x").over(20_000),
        exact=sf.sum("x", compensated=True).over(20_000),
    )
    found = made.run(table)
    for row in (19_999, 20_000, 59_999):
        held = values[row - 19_999 : row + 1].tolist()
        truth = sum(map(Fraction, held), Fraction())
        assert abs(Fraction(found["plain"][row].as_py()) - truth) <= SLACK * 2000
        assert found["exact"][row].as_py() == float(truth)
