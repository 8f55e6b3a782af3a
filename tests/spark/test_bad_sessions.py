"""What Spark lacks is told in one sentence with its fix, before any job starts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import slidefold as sf
import slidefold.spark
from slidefold.errors import DefinitionError, OperatorError, SlidefoldError, StateError, UsageError

pytestmark = pytest.mark.spark
FEATURES: Any = sf.rolling(on="ts", by="k", s=sf.sum("x").over("1h"))


@pytest.fixture
def no_jobs(spark: Any) -> Any:
    """Fail if a test starts a job."""
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    yield
    assert set(tracker.getJobIdsForGroup(None)) == before


def batch(spark: Any) -> Any:
    return spark.range(9).selectExpr("timestamp_seconds(id) ts", "id % 2 k", "id x")


def stream(spark: Any) -> Any:
    ticks = spark.readStream.format("rate").load().selectExpr("timestamp ts", "value k", "value x")
    return ticks.withWatermark("ts", "1 minute")


def test_an_unknown_option(spark: Any, no_jobs: None) -> None:
    with pytest.raises(DefinitionError, match=r"^run has no partition=; did you mean partitions="):
        FEATURES.run(batch(spark), partition=3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"presorted": "no"}, "presorted must be True or False, got 'no'"),
        ({"spill": 1}, "spill must be True, False or None, got 1"),
        ({"presorted": True, "partitions": 4}, "partitions= has no effect with presorted="),
        ({"engine": None}, "expected engine 'native' or 'spark', got None"),
        ({"partitions": 10**10}, "partitions must be an integer from 1 to 2**31 - 1, got 10000"),
        ({"types": 3}, "types must be a dict of Spark types"),
        ({"at": 3}, "at= must be a batch DataFrame of Spark, as the events, got int"),
        ({"known": "x"}, "known= needs at="),
    ],
    ids=str,
)
def test_wrong_options_of_a_batch(
    spark: Any, no_jobs: None, options: dict[str, Any], sentence: str
) -> None:
    for function in (FEATURES.run, FEATURES.explain):
        with pytest.raises(DefinitionError, match=f"^{re.escape(sentence)}"):
            function(batch(spark), **options)


def test_options_that_questions_do_not_take(spark: Any, no_jobs: None) -> None:
    questions = batch(spark).drop("x")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"presorted": True}, "presorted= has no effect with at=: leave one of them out"),
        ({"spill": True}, "spill= has no effect with at="),
        ({"engine": "spark"}, "engine= has no effect with at="),
        ({"partitions": 0}, "partitions must be an integer from 1"),
    ]
    for options, sentence in wrong:
        for function in (FEATURES.run, FEATURES.explain):
            with pytest.raises(DefinitionError, match=f"^{re.escape(sentence)}"):
                function(batch(spark), at=questions, **options)
    with pytest.raises(DefinitionError, match=r"^scale= has no effect with at="):
        FEATURES.explain(batch(spark), at=questions, scale={"rows": 1e9})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"id": 3}, "id must be a name or a list of names, got 3"),
        ({"cache_bytes": -1}, "cache_bytes must be an integer of at least 0, got -1"),
        ({"cache_bytes": "1 GB"}, "cache_bytes must be an integer of at least 0, got '1 GB'"),
        ({"metrics": ""}, "metrics must be a name, got ''"),
        ({"initial": 3}, "initial must be a batch DataFrame, got int"),
        ({"checkpoint": 3}, "checkpoint must be the folder of a query, got 3"),
    ],
    ids=str,
)
def test_wrong_options_of_a_stream(
    spark: Any, no_jobs: None, options: dict[str, Any], sentence: str
) -> None:
    from slidefold.spark.compat import STREAMS, version_of

    if version_of(spark.version) < STREAMS:
        sentence = (
            f"streams need Spark 4.1 to 4.3, got {spark.version}: pip install 'pyspark==4.3.*'"
        )
    with pytest.raises(SlidefoldError, match=f"^{re.escape(sentence)}$"):
        FEATURES.run(stream(spark), **options)


def test_wrong_arguments_of_readers_of_a_checkpoint(spark: Any, no_jobs: None) -> None:
    for read in (sf.spark.tail, sf.spark.export_state, sf.spark.emitted_until):
        with pytest.raises(StateError, match=r"^checkpoint must be the folder of a query, got 3$"):
            read(3)


@pytest.mark.parametrize("version", ["3.5.9", "4.4.0"])
def test_another_version_of_spark(
    spark: Any, no_jobs: None, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """A Connect server may have another version than its client."""
    data = batch(spark)
    monkeypatch.setattr(type(spark), "version", property(lambda _: version))
    sentence = f"slidefold needs Spark 4.0 to 4.3, got {version}: pip install 'pyspark==4.3.*'"
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        FEATURES.run(data)


def test_streams_need_a_newer_version(
    spark: Any, no_jobs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = stream(spark)
    monkeypatch.setattr(type(spark), "version", property(lambda _: "4.0.2"))
    with pytest.raises(UsageError, match=r"^streams need Spark 4\.1 to 4\.3, got 4\.0"):
        FEATURES.run(data)


def test_a_session_without_rocksdb(spark: Any, no_jobs: None) -> None:
    from slidefold.spark.compat import STREAMS, version_of
    from slidefold.spark.settings import PROVIDER, ROCKS

    if version_of(spark.version) < STREAMS:
        pytest.skip("this version has no streams for slidefold")
    spark.conf.unset(PROVIDER)
    try:
        with pytest.raises(UsageError) as raised:
            FEATURES.run(stream(spark))
    finally:
        spark.conf.set(PROVIDER, ROCKS)
    sentence = str(raised.value)
    assert sentence.startswith("a stream needs the RocksDB state store, and the session uses HDFS")
    assert f'spark.conf.set("{PROVIDER}", "{ROCKS}")' in sentence


@pytest.mark.parametrize("java", ["missing", "8", "11"])
def test_java_is_missing_or_old(java: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slidefold.spark.startup import start

    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "java"
    number = "1.8.0_312" if java == "8" else f"{java}.0.2"
    if java != "missing":
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{number}\"' >&2\n")
        program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    actual = "" if java == "missing" else f", and {program} is Java {java}"
    sentence = f"Spark needs Java 17 or newer{actual}: install it, or set JAVA_HOME"
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        start("local[1]", tmp_path / "log.txt")


def test_an_operator_that_a_worker_cannot_import() -> None:
    from slidefold.definition.operators.definition import _imported

    with pytest.raises(OperatorError, match="the operator Mine is in the module not_there, which"):
        _imported("not_there", "Mine")


def test_a_scale_without_rows_to_sample(spark: Any) -> None:
    """Rows are made up from their types, as for a stream; they took 0 bytes each before."""
    text = FEATURES.explain(batch(spark).limit(0), scale={"rows": 1e9})
    assert "at scale: 1 G rows of 24 bytes: 24 GB in memory" in text, text
