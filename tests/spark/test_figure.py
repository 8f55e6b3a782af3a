"""The figure of Spark batch runs, and its goals find what they look for."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import goals
from benchmarks.figures import spark_batch, spark_chunks, spark_questions, spark_small

pytestmark = [pytest.mark.spark, pytest.mark.slow]
_SIDES = ("slidefold", "floor", "spark", "spark tree")


def test_the_figure_runs(spark: Any) -> None:
    sizes = spark_batch.SIZES["smoke"]
    rows = spark_batch.measure(sizes)
    assert {row["side"] for row in rows} == {*_SIDES, "chunks"}
    assert all(row["us_per_row"] > 0 for row in rows)
    assert "no key: us per row" in spark_batch.show(rows)
    assert spark.range(3).count() == 3  # the session is still there


@pytest.mark.exhaustive
def test_the_figure_of_chunks_runs(spark: Any) -> None:
    rows = spark_chunks.measure(spark_chunks.SIZES["smoke"])
    assert [row["what"] for row in rows] == [
        *("no key, whole", "no key, 3 chunks", "by key, whole", "by key, 1 hot"),
    ]
    assert "no key, 3 chunks" in spark_chunks.show(rows)
    made = [{"columns": 35, "what": "no key, 5 chunks", "seconds": 3.0}]
    assert [goal.met for goal in goals.cut_in_time(made)] == [None, None, False, None]


@pytest.mark.exhaustive
def test_the_figure_of_questions_runs(spark: Any) -> None:
    rows = spark_questions.measure(spark_questions.SIZES["smoke"])
    assert all(row["seconds"] > 0 for row in rows)
    assert "one key has half of the rows" in spark_questions.show(rows)
    (goal,) = goals.asked_on_spark(rows)
    assert goal.met is not None


def test_the_goals_read_their_rows() -> None:
    place = {"part": "by key", "operator": "sum", "keys": 100, "frame": 1_000}
    costs = {"slidefold": 1.0, "floor": 0.9, "spark": 9.0, "spark tree": 2.0}
    rows = [{**place, "side": side, "us_per_row": cost} for side, cost in costs.items()]
    found = {goal.goal: goal.met for goal in goals.clusters(rows)}
    assert found["Spark / slidefold, frames of 1,000 rows, sum and max"] is True
    assert found["Spark's segment tree / slidefold, frames of 1,000 rows"] is False
    assert found["slidefold / the floor, sum and max"] is True
    assert found["Spark / slidefold, 100,000 keys"] is None


@pytest.mark.exhaustive
def test_the_figure_of_small_jobs_runs(spark: Any) -> None:
    rows = spark_small.measure(spark_small.SIZES["smoke"])
    assert {(row["job"], row["side"]) for row in rows} == {
        (job, side) for job in ("first", "later") for side in spark_small.SIDES
    }
    assert "first job of a session: seconds" in spark_small.show(rows)
    assert all(goal.met is not None for goal in goals.small_jobs(rows))


def test_the_goals_of_small_jobs_read_their_rows() -> None:
    place = {"settings": "default", "rows": 10_000}
    costs = {"slidefold": 1.1, "spark": 1.0, "identity": 1.0}
    made = [
        {**place, "job": job, "side": side, "seconds": cost}
        for job in ("first", "later")
        for side, cost in costs.items()
    ]
    assert [goal.met for goal in goals.small_jobs(made)] == [False, True]
