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

INT_MAX, INT_MIN = 2**63 - 1, -(2**63)
SLACK = Fraction(1, 10**12)


def moments(xs: list[float], ys: list[float]) -> tuple[Fraction, Fraction, Fraction]:
    """The sums of (x - mean x)(y - mean y), of xx and of yy."""
    left, right = ([Fraction(v) for v in values] for values in (xs, ys))
    centers = [sum(values, Fraction()) / len(values) for values in (left, right)]
    a, b = (
        [v - center for v in values] for values, center in zip((left, right), centers, strict=True)
    )
    return (
        sum((p * q for p, q in zip(a, b, strict=True)), Fraction()),
        sum((p * p for p in a), Fraction()),
        sum((q * q for q in b), Fraction()),
    )


def near(got: float, truth: Fraction, slack: Fraction = SLACK) -> bool:
    return abs(Fraction(got) - truth) <= slack * abs(truth)


@pytest.mark.parametrize("far", [0.0, 1e9, -1e12])
@pytest.mark.parametrize("window", [2, 50, 5000])
def test_spread_far_from_zero(window: int, far: float) -> None:
    """Relative errors below 1e-12, where a sum of squares less the square of a sum has no digit."""
    random = np.random.default_rng(window)
    noise = random.random(8000)
    xs, ys = far + noise, far + noise + random.random(8000)  # correlated, so that nothing cancels
    table = pa.table({"t": np.arange(8000), "x": xs, "y": ys})
    made = sf.rolling(
        on="t",
        order="input",
        var=sf.var("x").over(window),
        std=sf.std("x", ddof=0).over(sf.time(window)),
        cov=sf.covariance("x", "y").over(window),
        cor=sf.correlation("x", "y").over(window),
        trend=sf.trend("y", "x").over(window),
    )
    found = made.run(table)
    for row in (window - 1, window, window + 7, 6001, 7999):
        low = row - window + 1
        held = xs[low : row + 1].tolist(), ys[low : row + 1].tolist()
        both, left, right = moments(*held)
        got = {name: found[name][row].as_py() for name in made.columns}
        assert near(got["var"], left / (window - 1))
        assert near(got["std"] ** 2, left / window, 4 * SLACK)
        if window == 2:  # the covariance of two rows may cancel to nearly nothing
            continue
        assert near(got["cov"], both / (window - 1), 10 * SLACK)
        assert near(got["cor"] ** 2, both * both / (left * right), 20 * SLACK)
        assert near(got["trend"], both / left, 20 * SLACK)


def test_late_windows_keep_their_digits() -> None:
    """Deviations of 1e9 plus noise in a window whose events come late."""
    random = np.random.default_rng(3)
    values = (1e9 + random.random(600)).tolist()
    order = np.argsort(np.arange(600) + random.integers(0, 30, 600), kind="stable").tolist()
    window = sf.Window(sf.std(), sf.time(200), lateness=50)
    for time in order:
        window.push(time, values[time])
    assert window.late == 0
    _, squares, _ = moments(values[400:], values[400:])
    assert near(window.query() ** 2, squares / 199, 4 * SLACK)


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
