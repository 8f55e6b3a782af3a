"""The papers' experiments on Spark: both sides give the same answers, and a figure runs."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.papers import FIGURES, report
from benchmarks.papers import spark as experiments
from benchmarks.papers.__main__ import run
from benchmarks.papers.figure import Context

pytestmark = pytest.mark.spark


def test_both_sides_agree(spark: Any) -> None:
    data = experiments.table(spark, 300, distance=5)
    for operator in ("sum", "max"):
        sides = [
            make(data, operator, 16)
            for make in (experiments.rows_features, experiments.rows_window)
        ]
        ours, own = ({(row.k, row.ts): row.r for row in side.collect()} for side in sides)
        assert ours.keys() == own.keys()
        assert len(ours) == 300
        assert all(ours[key] == pytest.approx(own[key], abs=1e-9) for key in own)
    data.unpersist()


def test_a_figure_runs(spark: Any, tmp_path: Path) -> None:
    figure, context = FIGURES["pba.fig8"], Context("smoke")
    run([figure], context, tmp_path)
    result = report.judged(figure, context, tmp_path)
    assert {row["side"] for row in result.rows} == {"slidefold", "spark"}
    assert result.claims
