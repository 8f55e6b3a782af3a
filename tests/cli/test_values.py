"""Values that are JSON objects, such as those of Kafka: parsed one by one, broken ones named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from slidefold.errors import PipelineError
from slidefold.pipeline import load
from slidefold.pipeline.json_lines import ParseValues
from slidefold.pipeline.settings import Source

SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "card": pa.string(), "amount": pa.int64()})
PARSE = ParseValues(Source(None, "spark:kafka", required=("ts",), schema=SCHEMA), SCHEMA)
GOOD = b'{"ts": "2026-01-01T12:00:00Z", "card": "a", "amount": 3}'
PIPELINE = """
[source]
format = "spark:kafka"
value = "json"
columns = { ts = "timestamp[UTC]", card = "string", amount = "int64" }
bad_rows = "side"
side = "bad.jsonl"

[source.options]
"kafka.bootstrap.servers" = "localhost:9092"
subscribe = "payments"

[features]
on = "ts"
by = "card"

[features.columns]
spent = { operator = "sum", columns = "amount", over = "1h" }

[stream]
watermark = "10m"
checkpoint = "checkpoint"

[sink]
path = "out"
format = "parquet"
"""


def parsed(*values: bytes | None) -> tuple[Any, list[tuple[str, int | None, str, str]]]:
    table, bad = PARSE(values, [("payments[0]", 100 + i) for i in range(len(values))])
    assert table.schema == SCHEMA
    return table["amount"].to_pylist(), [tuple(vars(row).values()) for row in bad]


def test_each_value_is_one_row_or_one_broken_row() -> None:
    amounts, bad = parsed(
        GOOD,
        None,
        b"",
        b"not json",
        b'{"ts": "2026-01-01T12:00:00Z",\r\n "amount": 4}\n',  # breaks between keys
        b'{"ts": "2026-01-01T12:00:00Z", "amount": 5}{"ts": "2026-01-01T12:00:00Z"}',
        b'{"ts": null, "amount": 6}',
        b'{"ts": "2026-01-01T12:00:00Z", "amount": "seven"}',
        b"[1, 2]",
        b"\xff\xfe",
        b'{"ts": "2026-01-01T12:00:00Z", "amount": 8, "more": {"x": [1]}}',
    )
    assert amounts == [3, 4, 8]
    assert [place for _, place, _, _ in bad] == [101, 102, 103, 105, 106, 107, 108, 109]
    reasons = {place: reason for _, place, reason, _ in bad}
    assert reasons[101] == "the value is null"
    assert reasons[102] == "the value is empty"
    assert reasons[105] == "expected one JSON object"
    assert reasons[106] == "the column 'ts' is null"
    assert bad[2] == ("payments[0]", 103, reasons[103], "not json")


def test_two_objects_in_one_value_do_not_hide_a_missing_one() -> None:
    """The number of rows is right by accident if another value is lost."""
    amounts, bad = parsed(GOOD + GOOD, b" ", GOOD)
    assert amounts == [3]
    assert [place for _, place, _, _ in bad] == [101, 100]


def test_no_values_give_no_rows() -> None:
    assert parsed() == ([], [])


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ('value = "json"', 'value = "xml"', "source.value: must be .*json.* got 'xml'"),
        ("columns = {", "colums = {", "source.columns: is missing: declare the columns"),
        ('"spark:kafka"', '"json"', "source.value: works with Spark formats only"),
        ('"int64"', '"int46"', "source.columns.amount: expected a type"),
        ('columns = "amount"', 'columns = "amont"', "no column 'amont'"),
    ],
)
def test_mistakes_are_found_before_spark_starts(
    tmp_path: Path, wrong: str, right: str, message: str
) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text(PIPELINE)
    assert load(file, engine="spark", stream=True).schema == SCHEMA
    file.write_text(PIPELINE.replace(wrong, right))
    with pytest.raises(PipelineError, match=message):
        load(file, engine="spark", stream=True)
