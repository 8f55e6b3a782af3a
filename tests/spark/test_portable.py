"""A short set for every version and mode of Spark: each result equals that of this process.

`make test` runs it in a local session, on a Connect server (test_connect.py) and on a cluster
(test_cluster.py); `make test-oldest-spark` runs it on the oldest version.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from tests.questions.support import EVERYTHING, random_events, random_questions
from tests.spark.support import assert_same, collected, frame, near
from tests.spark.test_batch import table_of
from tests.support.streams import Files, drain, written
from tools.crash.workload import DELAY, FEATURES, faults, rows

# Other tests cover a local session of the newest Spark.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.exhaustive]

COLUMNS: dict[str, Any] = {
    "total": sf.sum("x").over("3h"),
    "peak": sf.max_by("id", "y").over("2d", closed="left"),
    "seen": sf.approx_distinct("x").over("4d"),
}
IN_TIME = ("total", "before", "middle", "rank", "words", "some", "ratio")


@sf.operator(state={"sum": "f8"}, returns="f8", compile="never", commutative=True)
class Doubled(sf.Fold):
    identity = staticmethod(lambda: (0.0,))
    lift = staticmethod(lambda x: (2 * x,))
    combine = staticmethod(lambda a, b: (a.sum + b.sum,))
    lower = staticmethod(lambda s: s.sum)


def test_batch(spark: Any) -> None:
    """By key, sorted by Spark, in chunks of time, with a hot key; an operator of the user's own."""
    table, hot = table_of(1500, 40), table_of(1500, 9, 2, hot=0.6)
    keyed = sf.rolling(on="t", by="k", rows=sf.concat("k").over(3), **COLUMNS)
    keyless = sf.rolling(on="t", own=Doubled("y").over("1d"), **COLUMNS)
    skewed = sf.rolling(on="t", by="k", **COLUMNS)
    runs: list[tuple[Any, Any, dict[str, Any]]] = [
        (keyed, table, {}),
        (keyed, table, {"partitions": 5}),
        (keyed, table, {"partitions": 4, "spill": True}),
        (keyless, table, {"partitions": 4}),
        (skewed, hot, {"partitions": 4, "skew": 0.2}),
    ]
    results = [
        definition.run(frame(spark, data, 4), **options) for definition, data, options in runs
    ]
    for (definition, data, options), found in zip(runs, collected(results), strict=True):
        assert_same(found, definition.run(data), definition, str(options))


def test_questions(spark: Any) -> None:
    rng = random.Random(5)
    events, questions = random_events(rng, 300), random_questions(rng, 100)
    left, right = frame(spark, events, 3), frame(spark, questions, 2)
    only = {name: EVERYTHING[name] for name in IN_TIME}
    both: list[tuple[Any, dict[str, Any]]] = [("k", {}), ((), {"partitions": 4})]
    for by, options in both:
        definition: Any = sf.rolling(on="t", by=by, **only)
        found = definition.run(left, at=right, **options).toArrow().sort_by("id")
        expected = definition.run(events, at=questions).sort_by("id")
        for name in expected.column_names:
            pairs = zip(found[name].to_pylist(), expected[name].to_pylist(), strict=True)
            assert all(near(a, b) for a, b in pairs), (by, name)


def test_presorted(spark: Any) -> None:
    table = table_of(500, 6, 6)
    definition = sf.rolling(on="t", by="k", **COLUMNS)
    placed = frame(spark, table).repartition(2, "k")
    found = definition.run(placed.sortWithinPartitions("k", "t"), presorted=True).toArrow()
    assert_same(found, definition.run(table), definition)
    apart = frame(spark, table).repartition(2, "id").sortWithinPartitions("k", "t")
    split = r"presorted=True needs each key in one partition, but k=\w+ is in two, 0 and 1"
    for action in ("collect", "count"):
        with pytest.raises(Exception, match=split):
            getattr(definition.run(apart, presorted=True), action)()
    with pytest.raises(Exception, match="the data is not sorted by k and t"):
        definition.run(placed.sortWithinPartitions("id"), presorted=True).collect()


def test_errors_of_workers(spark: Any) -> None:
    table = pa.table({"t": [1, None, 3], "x": [1, 2, 3]})
    definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(5)))
    with pytest.raises(Exception, match="the column 't' is null"):
        definition.run(frame(spark, table)).collect()


def test_stream(spark: Any, tmp_path: Path) -> None:
    """Rows out of order and late, in three batches and, after a restart, three more."""
    from slidefold.errors import UsageError
    from slidefold.spark.compat import STREAMS, version_of

    files = Files(tmp_path / "in")
    batches = [rows(7, number) for number in range(6)]
    files.add(*batches[:3])
    stream = files.stream(spark, f"{DELAY // 1_000_000} seconds")
    if version_of(spark.version) < STREAMS:
        with pytest.raises(UsageError, match=r"streams need Spark 4\.1 to 4\.3, got 4\.0"):
            FEATURES.run(stream)
        return
    drain(FEATURES.run(stream, late="side", buckets=3), tmp_path)
    files.add(*batches[3:])
    drain(FEATURES.run(stream, late="side", buckets=3), tmp_path)
    assert faults(batches, written(spark, tmp_path)) == []
