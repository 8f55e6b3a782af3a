"""DESIGN's rules on Spark batch: all cases in one job, and a few of them in chunks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from tests.support.golden import Case, cases

pytestmark = pytest.mark.spark


def takes_spark(case: Case) -> bool:
    """Tell whether Spark has the types of a case, and order to offer."""
    lacking = any(pa.types.is_unsigned_integer(field.type) for field in case.data.schema)
    finer = any(str(field.type).startswith("timestamp[ns") for field in case.data.schema)
    return not lacking and not finer and case.engines is None


CASES = [case for case in cases() if takes_spark(case)]


def check(spark: Any, chosen: list[Case], **options: Any) -> None:
    from tests.spark.support import assert_same, collected, frame, spark_table

    definitions = [sf.Rolling.from_dict(case.definition) for case in chosen]
    results = [
        definition.run(frame(spark, case.data), **options)
        for definition, case in zip(definitions, chosen, strict=True)
    ]
    wrong = []
    for case, definition, found in zip(chosen, definitions, collected(results), strict=True):
        expected = case.expect
        if definition.slide is None:
            expected = case.data
            for name in case.expect.column_names:
                expected = expected.append_column(name, case.expect[name])
        expected = spark_table(expected)
        try:
            assert_same(found.select(expected.column_names), expected, definition, case.name)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)


def test_golden(spark: Any) -> None:
    assert len(CASES) >= 80
    check(spark, CASES, partitions=1)


def test_golden_in_partitions(spark: Any) -> None:
    """Keys apart, and time in chunks: the cases that differ most."""
    words = ("peers", "several windows", "1600", "offset", "NaN is one key", "rows closed left")
    chosen = [case for case in CASES if any(word in case.name for word in words)][:12]
    assert len(chosen) == 12
    check(spark, chosen, partitions=3)
