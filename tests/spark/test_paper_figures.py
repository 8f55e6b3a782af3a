"""The papers' experiments on Spark: both sides give the same answers, and a figure runs."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.papers import FIGURES, report
from benchmarks.papers import spark as experiments
from benchmarks.papers.__main__ import run
from benchmarks.papers.data import plugs
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


def test_generated_rows_have_all_their_keys(spark: Any) -> None:
    data = experiments.table(spark, 2_000, keys=4)
    assert sorted(row.k for row in data.select("k").distinct().collect()) == [0, 1, 2, 3]
    data.unpersist()


def test_the_plugs_of_a_file_are_measured(spark: Any, tmp_path: Path) -> None:
    lines = [f"{i},{100 + i // 4},{i % 7},1,{i % 3},0,0" for i in range(400)]
    (tmp_path / "debs2014.csv").write_text("\n".join(lines) + "\n")
    context = Context("smoke", tmp_path)
    events = plugs(context, 400)
    data = experiments.table_of(spark, events)
    found = data.orderBy("ts").collect()
    assert [(row.k, row.x) for row in found] == list(zip(events.keys, events.values, strict=True))
    data.unpersist()
    run([FIGURES["pba.fig8"]], context, tmp_path)
    result = report.judged(FIGURES["pba.fig8"], context, tmp_path)
    assert "data: debs2014.csv" in result.title
    assert {row["rows"] for row in result.rows} == {400}


@pytest.mark.exhaustive
def test_a_figure_runs(spark: Any, tmp_path: Path) -> None:
    figure, context = FIGURES["pba.fig8"], Context("smoke")
    run([figure], context, tmp_path)
    result = report.judged(figure, context, tmp_path)
    assert {row["side"] for row in result.rows} == {"slidefold", "spark"}
    assert result.claims
