"""JSON values of a Spark source in a pipeline: rows go on, broken values go to the side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slidefold.cli.output import Output
from slidefold.errors import ColumnError, DataError
from slidefold.pipeline import load, on_spark, spark_stream
from slidefold.pipeline.json_lines import ParseValues
from slidefold.spark import pipeline_io
from tests.cli.test_values import GOOD, PIPELINE, SCHEMA
from tests.spark.test_pipelines import in_session

pytestmark = pytest.mark.spark
__all__ = ["in_session"]


def text(folder: Path) -> str:
    """Return the pipeline with text files in place of a broker: they too have a column `value`."""
    return PIPELINE.replace('"spark:kafka"', f'"spark:text"\npath = "{folder}/in"').replace(
        '"kafka.bootstrap.servers" = "localhost:9092"\nsubscribe = "payments"', ""
    )


def test_a_stream_of_values_writes_good_rows_and_broken_ones(
    tmp_path: Path, in_session: Any
) -> None:
    (tmp_path / "in").mkdir()
    later = GOOD.decode().replace("12:00", "14:00")
    lines = [GOOD.decode(), "not json", GOOD.decode().replace("3}", "4}"), later]
    (tmp_path / "in" / "1.txt").write_text("\n".join(lines))
    file = tmp_path / "pipeline.toml"
    file.write_text(text(tmp_path))
    pipeline = load(file, engine="spark", stream=True)
    spark_stream.stream_spark(pipeline, Output(), False, "", follow=False)
    found = in_session.read.parquet(str(tmp_path / "out")).toArrow()
    assert sorted(found["spent"].to_pylist()) == [7, 7]
    side = in_session.read.text(str(tmp_path / "bad.jsonl")).collect()
    (bad,) = (json.loads(row.value) for row in side)
    assert (bad["file"], bad["line"], bad["text"]) == ("text", None, "not json")
    file.write_text(text(tmp_path).replace('bad_rows = "side"\nside = "bad.jsonl"', ""))
    strict = load(file, engine="spark", overwrite=True)
    with pytest.raises(DataError, match=r"text: .*bad_rows = \"skip\""):
        on_spark.run_spark(strict, Output(), True, "")


def test_values_of_kafka_are_named_by_their_offsets(spark: Any) -> None:
    rows = [(GOOD, "payments", 3, 7), (b"x", "payments", 3, 8), (None, "payments", 4, 0)]
    kafka = spark.createDataFrame(rows, "value binary, topic string, partition int, offset long")
    parse = ParseValues(pipeline_source(), SCHEMA)
    parsed = pipeline_io.read_values(kafka, "kafka", parse, SCHEMA, on_spark.as_json)
    good = pipeline_io.good_rows(parsed).toArrow()
    assert (good["card"].to_pylist(), good["amount"].to_pylist()) == (["a"], [3])
    bad = sorted((json.loads(line) for line in pipeline_io.bad_rows(parsed)), key=str)
    assert [(row["file"], row["line"]) for row in bad] == [("payments[3]", 8), ("payments[4]", 0)]
    other = spark.range(1).selectExpr("id t")
    with pytest.raises(ColumnError, match="the column 'value', which rate does not have: it has t"):
        pipeline_io.read_values(other, "rate", parse, SCHEMA, on_spark.as_json)


def pipeline_source() -> Any:
    from slidefold.pipeline.settings import Source

    return Source(None, "spark:kafka", required=("ts",), schema=SCHEMA)
