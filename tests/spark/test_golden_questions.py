"""DESIGN's rules about questions on Spark batch: all cases in one job."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.spark.support import collected, frame
from tests.support.golden import equal
from tests.support.golden_questions import Question, golden_questions

pytestmark = pytest.mark.spark


def test_golden(spark: Any) -> None:
    cases = golden_questions()
    found = collected([answers(spark, case, {"partitions": 1}) for case in cases])
    wrong = [told for case, table in zip(cases, found, strict=True) for told in wrongs(case, table)]
    assert not wrong, "\n".join(wrong)


def test_golden_in_partitions(spark: Any) -> None:
    """Keys apart, and a hot key in chunks of time."""
    cases = [case for case in golden_questions() if case.name in ("time windows", "a delay")]
    for options in ({"partitions": 3}, {"partitions": 3, "skew": 0.3}):
        found = collected([answers(spark, case, options) for case in cases])
        for case, table in zip(cases, found, strict=True):
            assert not wrongs(case, table), options


def answers(spark: Any, case: Question, options: dict[str, Any]) -> Any:
    numbered = case.questions.append_column("place", pa.array(range(len(case.questions))))
    events = frame(spark, case.events)
    return case.definition.run(events, at=frame(spark, numbered), **case.options, **options)


def wrongs(case: Question, found: Any) -> list[str]:
    found = found.sort_by("place")
    return [
        f"{case} {name}: {found[name].to_pylist()}"
        for name in case.expect.column_names
        if not equal(found[name], case.expect[name])
    ]
