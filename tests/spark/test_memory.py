"""A file that is small on disk and large in memory: workers stay small in a default session.

50 million rows by default: `make test-all`, or `pytest -s tests/spark/test_memory.py` for this test
alone; the variable MEMORY_ROWS sets another number.
"""

from __future__ import annotations

import os

import pytest

from benchmarks import goals
from benchmarks.figures.spark_memory import Sizes, measure, show

pytestmark = [pytest.mark.spark, pytest.mark.exhaustive]
ROWS = int(os.environ.get("MEMORY_ROWS", "50000000"))


def test_workers_stay_below_a_gigabyte() -> None:
    rows = measure(Sizes(ROWS))  # fails if a result is wrong
    assert rows[0]["file_bytes"] < ROWS  # of 24 bytes each in memory
    print(show(rows))
    (goal,) = goals.workers(rows)
    assert goal.met
