"""Files as tables: types, nulls, folders, and rows that are broken."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidefold.errors import DataError
from slidefold.pipeline.broken import BadRow, records
from slidefold.pipeline.settings import Source
from slidefold.pipeline.sources import files_of, schema_of, tables


def read(path: Path, format: str, **more: Any) -> tuple[Any, list[BadRow]]:
    source = Source(str(path), format, **more)
    bad: list[BadRow] = []
    found = [table for _, table in tables(source, schema_of(source), bad.append)]
    return pa.concat_tables(found), bad


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(
        b"\xef\xbb\xbft,k,x,note\r\n"
        b'2024-01-01 00:00:00,a,1,"two\r\nlines, ""quoted"""\r\n'
        b'2024-01-01 00:00:01,,NaN,""\r\n'
        b"2024-01-01 00:00:02,NA,,\r\n"
    )
    table, bad = read(path, "csv", types={"x": pa.float64()})
    assert bad == []
    rows = table.to_pylist()
    assert [row["k"] for row in rows] == ["a", None, "NA"]  # only nothing at all is null
    assert [row["note"] for row in rows] == ['two\r\nlines, "quoted"', "", None]
    assert str([row["x"] for row in rows]) == "[1.0, nan, None]"
    assert pa.types.is_timestamp(table.schema.field("t").type)
    table, _ = read(path, "csv", nulls=("", "NA"), types={"t": pa.timestamp("us")})
    assert table["k"].to_pylist() == ["a", None, None]
    assert table.schema.field("t").type == pa.timestamp("us")


def test_csv_without_a_header_and_with_tabs(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"1\tx\n2\ty\n"))
    table, bad = read(path, "csv", names=("t", "k"), delimiter="\t")
    assert (table.to_pydict(), bad) == ({"t": [1, 2], "k": ["x", "y"]}, [])


BROKEN = """\
t,x,note
1,1.5,"a
b"
2,oops,c
3,3.5
4,4.5,"5"" pipe"
5,5.5,5" pipe
x,6.5,f

7,7.5,"never closed
8,8.5,h
"""


def test_broken_rows_are_told_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(BROKEN)
    table, bad = read(path, "csv", types={"t": pa.int64(), "x": pa.float64()})
    assert table["t"].to_pylist() == [1, 4, 5, 8]
    assert table["note"].to_pylist() == ["a\nb", '5" pipe', '5" pipe', "h"]
    assert [(row.line, row.reason) for row in bad[:3]] == [
        (4, "column 2: expected float64, got 'oops'"),
        (5, "Expected 3 columns, got 2: 3,3.5"),
        (8, "column 1: expected int64, got 'x'"),
    ]
    assert [row.text for row in bad] == ["2,oops,c", "3,3.5", "x,6.5,f", '7,7.5,"never closed']


@given(st.lists(st.sampled_from(["good", "quoted", "short", "long", "text"]), max_size=40))
def test_good_and_broken_rows_add_up(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    shapes = {
        "good": "{n},a\n",
        "quoted": '{n},"a\nb, c"\n',
        "short": "{n}\n",
        "long": "{n},a,b\n",
        "text": "x{n},a\n",
    }
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text("t,k\n" + "".join(shapes[row].format(n=n) for n, row in enumerate(rows)))
    table, bad = read(path, "csv", types={"t": pa.int64(), "k": pa.string()})
    good = [n for n, row in enumerate(rows) if row in ("good", "quoted")]
    assert table["t"].to_pylist() == good
    lines = [2 + n + rows[:n].count("quoted") for n in range(len(rows)) if n not in good]
    assert [row.line for row in bad] == lines


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"t": 1, "x": 1.5, "k": null}\n\n{"t": 2, "k": null, "new": {"a": [1]}}\n'
        '{"t": "three"}\n{"t": 4,\n[5]\n{"t": 6, "x": 7}\n'
    )
    table, bad = read(path, "json", types={"t": pa.int64(), "y": pa.string()})
    assert table.select(["t", "x", "k", "y"]).to_pydict() == {
        "t": [1, 2, 6],
        "x": [1.5, None, 7.0],
        "k": [None, None, None],
        "y": [None, None, None],
    }
    assert table["new"].to_pylist() == [None, {"a": [1]}, None]
    assert [(row.line, row.text) for row in bad] == [
        (4, '{"t": "three"}'),
        (5, '{"t": 4,'),
        (6, "[5]"),
    ]


def test_a_long_json_object_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    long = {"t": 2, "k": "x" * (1 << 22)}
    path.write_text('{"t": 1, "k": "a"}\n' + json.dumps(long) + '\n{"t": 3, "k": "b"}\n')
    table, bad = read(path, "json")
    assert (table["t"].to_pylist(), bad) == ([1, 2, 3], [])


def test_a_folder_is_read_in_order_of_arrival(tmp_path: Path) -> None:
    for age, name in enumerate(("b.parquet", "deep/a.parquet", "c.pq")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pa.table({"t": [age], "k": ["x"]}), path)
        os.utime(path, (age, age))
    for name in ("_SUCCESS", ".d.parquet", "_tmp/e.parquet", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("not data")
    table, _ = read(tmp_path, "parquet")
    assert table["t"].to_pylist() == [0, 1, 2]
    other = pa.table({"t": [3], "z": ["x"]})
    pyarrow.parquet.write_table(other, tmp_path / "z.parquet")
    with pytest.raises(
        DataError, match=r"z\.parquet' and the first file of its folder have different"
    ):
        read(tmp_path, "parquet")
    (tmp_path / "_spark_metadata").mkdir()
    with pytest.raises(DataError, match="was written by a Spark stream"):
        files_of(Source(str(tmp_path), "parquet"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "", "cannot be read: Empty CSV file"),
        ("a.jsonl", "\n\n", "is empty"),
        ("a.jsonl", "[1]\n", "has no line that is a JSON object"),
        ("a.parquet", "no parquet", "cannot be read: "),
    ],
)
def test_files_that_are_nothing(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    format = {"csv": "csv", "jsonl": "json", "parquet": "parquet"}[name.split(".")[1]]
    with pytest.raises(DataError, match=said):
        read(tmp_path / name, format)
    with pytest.raises(DataError, match="has no files that end in"):
        read(tmp_path, {"csv": "json", "json": "csv", "parquet": "csv"}[format])


def test_a_second_csv_with_its_columns_in_another_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,k\n1,x\n")
    (tmp_path / "b.csv").write_text("k,t\ny,2\nz,oops\n")
    os.utime(tmp_path / "a.csv", (1, 1))
    table, bad = read(tmp_path, "csv")
    assert table.to_pydict() == {"t": [1, 2], "k": ["x", "y"]}
    assert [row.line for row in bad] == [3]


def test_records_of_an_empty_text() -> None:
    assert records(b"", b",") == []
