"""Times in files: with a zone or without one, and rows that have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from slidefold.errors import DataError, PipelineError
from slidefold.pipeline import load, run_pipeline
from slidefold.pipeline.json_lines import depth
from slidefold.pipeline.types import WORDS, type_of, word_of
from tests.cli.support import slidefold

FILE = """\
[source]
path = "{path}"
{more}
[features]
on = "ts"
[features.columns]
n = {{ operator = "count", over = "1h" }}
[sink]
format = "memory"
"""
ROWS = [("2024-01-01 09:00:00", 1.5), (None, 2.5), ("2024-01-01 09:30:00", 3.5), (None, 4.5)]


def results(folder: Path) -> pa.Table:
    found = run_pipeline(folder / "p.toml")
    assert found is not None
    return found


def wrote(folder: Path, format: str, rows: Any = ROWS) -> str:
    """Write rows: of two lines each in CSV, after three empty lines in JSON."""
    path = folder / f"rows.{format}"
    if format == "csv":
        lines = [f'"a\nb",{x},{ts or ""}' for ts, x in rows]
        path.write_text("\n".join(["note,x,ts", *lines]) + "\n")
    elif format == "jsonl":
        lines = [f'{{"x": {x}, "ts": {"null" if ts is None else repr(ts)}}}' for ts, x in rows]
        path.write_text("\n\n\n" + "\n".join(lines).replace("'", '"') + "\n")
    else:
        times = pa.array([ts for ts, _ in rows]).cast(pa.timestamp("us"))
        table = pa.table({"x": [x for _, x in rows], "ts": times})
        pyarrow.parquet.write_table(table, path)
    return path.name


def run(folder: Path, path: str, more: str = "", **options: Any) -> Any:
    (folder / "p.toml").write_text(FILE.format(path=path, more=more))
    return run_pipeline(folder / "p.toml", **options)


LINES = {"csv": ("line 4", "line 8"), "jsonl": ("line 5", "line 7"), "parquet": ("row 2", "row 4")}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("format", LINES)
def test_a_row_without_a_time_is_broken(tmp_path: Path, format: str, stream: bool) -> None:
    path = wrote(tmp_path, format)
    more = '[stream]\nwatermark = "1h"\n'
    with pytest.raises(DataError) as raised:
        run(tmp_path, path, more, stream=stream)
    first, _ = LINES[format]
    assert f"{path}, {first}: the column 'ts' is null (to skip broken rows" in str(raised.value)
    found = run(tmp_path, path, f'bad_rows = "skip"\n{more}', stream=stream)
    assert (found["x"].to_pylist(), found["n"].to_pylist()) == ([1.5, 3.5], [1, 2])
    run(tmp_path, path, f'bad_rows = "side"\nside = "bad.jsonl"\n{more}', stream=stream)
    bad = [line.split(", ") for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert [each[1] for each in bad] == [f'"line": {each.split()[1]}' for each in LINES[format]]


def test_broken_rows_of_all_kinds_are_told_in_order(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("ts,x\n1,1\n,2\n3,oops\n,4\n5,5\n6,6,6\n")
    text = 'columns = { x = "int64" }\nbad_rows = "side"\nside = "bad.jsonl"'
    text = FILE.format(path="rows.csv", more=text).replace('"1h"', "10")
    (tmp_path / "p.toml").write_text(text)
    assert results(tmp_path)["ts"].to_pylist() == [1, 5]
    lines = [line.split(", ")[1] for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert lines == ['"line": 3', '"line": 4', '"line": 5', '"line": 7']


def test_a_row_without_a_distance_is_broken_too(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("ts,km\n1,1.5\n2,\n3,NaN\n4,4.5\n")
    text = FILE.format(path="rows.csv", more='bad_rows = "skip"')
    text = text.replace('"1h"', '{ kind = "delta", range = 10, on = "km" }')
    (tmp_path / "p.toml").write_text(text)
    assert results(tmp_path)["ts"].to_pylist() == [1, 4]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_zones_are_never_lost(tmp_path: Path, format: str) -> None:
    zoned = [("2024-01-01T09:00:00Z", 1.5), ("2024-01-01T12:00:00+02:00", 2.5)]
    path = wrote(tmp_path, format, zoned)
    for more in ("", 'columns = { ts = "timestamp[UTC]" }'):
        found = run(tmp_path, path, more)
        assert found.schema.field("ts").type == pa.timestamp("us", "UTC")
        assert [f"{each:%H:%M}" for each in found["ts"].to_pylist()] == ["09:00", "10:00"]
    with pytest.raises(DataError, match=r'has a zone: set the type "timestamp\[UTC\]" in \[sour'):
        run(tmp_path, path, 'columns = { ts = "timestamp" }')
    naive = wrote(tmp_path, format, [("2024-01-01T09:00:00", 1.5)])
    assert run(tmp_path, naive).schema.field("ts").type == pa.timestamp("us")
    with pytest.raises(DataError, match='has no zone: set the type "timestamp" in'):
        run(tmp_path, naive, 'columns = { ts = "timestamp[UTC]" }')
    mixed = wrote(tmp_path, format, [*zoned, ("2024-01-01T09:00:00", 1.5)])
    with pytest.raises(PipelineError, match="types are inferred from the first rows"):
        run(tmp_path, mixed)


def test_json_has_parts_of_seconds_and_dates(tmp_path: Path) -> None:
    path = wrote(tmp_path, "jsonl", [("2024-01-01T09:00:00.25Z", 1), ("2024-01-01T09:00:01Z", 2)])
    found = run(tmp_path, path)
    assert found.schema.field("ts").type == pa.timestamp("us", "UTC")
    path = wrote(tmp_path, "jsonl", [("2024-01-01", 1), ("2024-01-02", 2)])
    text = FILE.format(path=path, more='columns = { ts = "date" }').replace('"1h"', '"1d"')
    (tmp_path / "p.toml").write_text(text)
    found = results(tmp_path)
    assert found.schema.field("ts").type == pa.date32()


def test_declared_types_keep_the_order_of_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"z": 1, "x": 2}\n{"z": 1, "a": "s", "ts": 1, "x": 2}\n')
    (tmp_path / "a.csv").write_text("z,x,a,ts\n1,2,s,1\n")
    for path in ("a.jsonl", "a.csv"):
        more = 'columns = { x = "float64", ts = "int64" }\nbad_rows = "skip"'
        text = FILE.format(path=path, more=more).replace('"1h"', "1")
        (tmp_path / "p.toml").write_text(text)
        assert results(tmp_path).column_names == ["z", "x", "a", "ts", "n"]


def test_there_is_one_word_for_a_type() -> None:
    assert [word_of(type_of(word)) for word in WORDS] == list(WORDS)
    for kind in WORDS.values():
        assert type_of(str(kind)) == kind
    assert type_of("timestamp with zone") == type_of("timestamp[UTC]")
    assert word_of(type_of("decimal(10, 2)")) == "decimal(10, 2)"


def test_a_folder_without_a_format_is_told_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("ts,x\n1,2\n")
    more = 'columns = { ts = "int64" }\nbad_rows = "skip"\ndelimiter = ","'
    (tmp_path / "p.toml").write_text(FILE.format(path="data", more=more))
    with pytest.raises(PipelineError) as raised:
        load(tmp_path / "p.toml")
    reason = "is missing, and the name 'data' does not imply it: set one of parquet, csv, json; "
    reason += "it has csv files: set "
    assert raised.value.mistakes == [("source.format", f'{reason}format = "csv"')]


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}")])
def test_a_json_bomb_is_a_broken_line(tmp_path: Path, open_: str, close: str) -> None:
    deep = '{"ts": 2, "x": ' + open_ * 50_000 + "1" + close * 50_000 + "}"
    (tmp_path / "a.jsonl").write_text(f'{{"ts": 1, "y": 2}}\n{deep}\n{{"ts": 3, "y": 2}}\n')
    text = FILE.format(path="a.jsonl", more='bad_rows = "fail"').replace('"1h"', "1")
    (tmp_path / "p.toml").write_text(text)
    # In a process of its own: the reader of Arrow would end it.
    done = slidefold(tmp_path, "run", "p.toml")
    assert done.code == 1
    assert done.err.startswith("a.jsonl, line 2: values are nested more than 100 levels deep (to ")
    (tmp_path / "p.toml").write_text(text.replace('"fail"', '"skip"'))
    assert slidefold(tmp_path, "run", "p.toml").code == 0


def test_the_depth_of_json() -> None:
    assert depth(b"") == 0
    assert depth(b'{"a": "]]]", "b": [[1]]}\n' * 3) == 3
    assert depth(rb'{"a\\": ["\"[[[", "\\"], "b": {}}') == 2
    assert depth(b"]]]\n[[\n") == 2
    assert depth(b'["[[""]]", "[", "", "]", [1]]') == 2
    assert depth(b'["never closed, [[[[') == 1
