"""The figure of operators: its peers do what ours do, and it covers every operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from benchmarks.figures import operators
from benchmarks.operator_peers import peers
from slidefold.definition.operators import NAMED

ESTIMATES = ("approx_distinct", "approx_quantile")  # each library has its own


def listed(result: Any) -> Any:
    if isinstance(result, pa.Table):
        result = result["r"]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(result, method):
            return getattr(result, method)()
    raise AssertionError(f"no list: {result!r}")


@pytest.mark.parametrize("name", [n for n in NAMED if peers(n) and n not in ESTIMATES])
def test_peers_give_the_same_answers(name: str) -> None:
    table = operators.table_of(300)
    made = sf.rolling(on="t", order="input", r=operators.column_of(name, 7))
    due = made.run(table)["r"].to_pylist()
    for library, peer in peers(name).items():
        found = listed(peer(table, 7))
        for got, ours in zip(found[3:], due[3:], strict=True):  # of few rows, they disagree
            if isinstance(ours, list):
                assert np.allclose(got, ours), library
            else:
                assert got == pytest.approx(ours, rel=1e-9, abs=1e-12), library


def test_every_operator_is_measured_at_every_window() -> None:
    """But for those whose states grow with the window."""
    assert {*operators._LARGEST, *operators._COLUMNS, *operators._OPTIONS} <= {*NAMED}
    sizes = operators.SIZES["full"]
    assert sizes.rows == 1_000_000
    assert min(sizes.windows) == 10
    assert max(sizes.windows) == max(sizes.median) == 100_000


def test_sides_that_are_slow_get_fewer_rows() -> None:
    table = operators.table_of(30_000)
    sizes = operators.SIZES["smoke"]
    asked: list[int] = []
    assert operators._affordable(lambda rows: asked.append(len(rows)), table, sizes) == 30_000
    assert asked == [20, 2_000, 20_000]
    patient = operators.Sizes(30_000, (10,), 1, 0.0, (10,))
    assert operators._affordable(len, table, patient) == 2_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_is_that_of_the_run_alone() -> None:
    """However much the process has had that measures: a result of 8 MB is seen to grow."""
    large = np.ones(40_000_000)  # 320 MB, more than the measured process ever has
    assert large[-1] == 1
    assert operators._memory(1_000_000, 10)["megabytes"] > 7
