"""Pipeline files that are wrong: each mistake with its key, its reason and the nearest word."""

from __future__ import annotations

from pathlib import Path

import pytest

from slidefold.errors import PipelineError
from slidefold.pipeline import load
from tests.cli.support import PIPELINE, slidefold, write


def mistakes(folder: Path, text: str, **options: bool | str) -> list[tuple[str, str]]:
    with pytest.raises(PipelineError) as raised:
        load(write(folder, text), **options)  # type: ignore[arg-type]
    return raised.value.mistakes


CASES = {
    # what is replaced, by what, the key at fault, the reason
    "no TOML": ("[sink]", "[sink", "", "is not valid TOML: "),
    "no source": ('[source]\npath = "trades.csv"', "", "source", "the table [source] is missing"),
    "no sink": ('[sink]\npath = "out.parquet"', "", "sink", "the table [sink] is missing"),
    "an unknown table": ("[sink]", "[sinks]\n[sink]", "sinks", "did you mean 'sink'?"),
    "an unknown key": ('path = "trades', 'pth = 1\npath = "trades', "source.pth", "'path'?"),
    "a table that is none": (
        "[source]",
        "stream = 3\n[source]",
        "stream",
        "must be a table, got 3",
    ),
    "no such file": ("trades.csv", "trade.csv", "source.path", "there is no file or folder"),
    "a format from nowhere": (
        "out.parquet",
        "out.xls",
        "sink.format",
        "and the name 'out.xls' does",
    ),
    "an unknown format": ("[sink]", '[sink]\nformat = "parqet"', "sink.format", "mean 'parquet'?"),
    "a Spark format": ("[sink]", '[sink]\nformat = "spark:delta"', "sink.format", "--engine spark"),
    "an unknown type": (
        "[features]",
        'columns = {ts = "timestmp"}\n[features]',
        "source.columns.ts",
        "mean 'timestamp'?",
    ),
    "a type of no column": (
        "[features]",
        'columns = {tz = "date"}\n[features]',
        "source.path",
        "names 'tz', but",
    ),
    "side without a policy": (
        "[features]",
        'side = "b"\n[features]',
        "source.side",
        'bad_rows = "side"',
    ),
    "an unknown policy": (
        "[features]",
        'bad_rows = "skp"\n[features]',
        "source.bad_rows",
        "mean 'skip'?",
    ),
    "a wide delimiter": (
        "[features]",
        'delimiter = "||"\n[features]',
        "source.delimiter",
        "single-byte character",
    ),
    "options of no Spark": (
        "[features]",
        "options = {a = 1}\n[features]",
        "source.options",
        "Spark formats only",
    ),
    "no operator": ("count", "cuont", "features.columns.n.operator", "did you mean 'count'?"),
    "no module": (
        '"mean"',
        '"no.such:Op"',
        "features.columns.mean.operator",
        "cannot be imported: No module",
    ),
    "no window": (
        '["1h", "6h"]',
        '"1 hour"',
        "features.columns.n.over",
        "got '1 hour'",
    ),
    "no such times": (
        'on = "ts"',
        'on = "tss"',
        "features.on",
        "no column 'tss'; did you mean 'ts'?",
    ),
    "text for times": ('on = "ts"', 'on = "venue"', "features.on", "in [source.columns])"),
    "no such key column": ('"symbol"', '"symbl"', "features.by", "did you mean 'symbol'?"),
    "no such column": ('"price"', '"prise"', "features.columns.mean", "did you mean 'price'?"),
    "text for numbers": (
        '"price"',
        '"venue"',
        "features.columns.mean",
        "the column 'venue' is string",
    ),
    "a name that is taken": (
        "mean =",
        "venue =",
        "features.columns.venue",
        "has a column 'venue' already",
    ),
    "times in input order": (
        "[features.columns]",
        'order = "input"\n[features.columns]',
        "features.order",
        "'input'",
    ),
    "a wrong watermark": (
        "[sink]",
        '[stream]\nwatermark = "1mo"\n[sink]',
        "stream.watermark",
        "months",
    ),
    "revisions without id": (
        "[sink]",
        '[stream]\nemit = "revise"\n[sink]',
        "stream.id",
        "identify a row",
    ),
    "an unknown emit": (
        "[sink]",
        '[stream]\nemit = "last"\n[sink]',
        "stream.emit",
        "final, arrival, revise",
    ),
    "no folder": ("out.parquet", "no/out.parquet", "sink.path", "the folder "),
    "a sink in the source": ("out.parquet", "trades.csv", "sink.path", "is the same as the source"),
    "lists in csv": (
        '[sink]\npath = "out.parquet"',
        'all = { operator = "collect", columns = "price", over = 2 }\n[sink]\npath = "out.csv"',
        "sink.format",
        "csv cannot hold the nested columns all",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mistake_is_found(tmp_path: Path, case: tuple[str, str, str, str]) -> None:
    before, after, key, reason = case
    assert before in PIPELINE
    text = PIPELINE.replace(before, after, 1)
    assert [(at, reason in said) for at, said in mistakes(tmp_path, text)] == [(key, True)]


def test_mistakes_are_listed_together(tmp_path: Path) -> None:
    text = PIPELINE.replace("trades.csv", "no.csv").replace("count", "cuont").replace("1h", "1x")
    found = mistakes(tmp_path, text.replace("[sink]", "[sink]\nexist = true"))
    assert [key for key, _ in found] == [
        "source.path",
        "sink.exist",
        "features.columns.n.operator",
        "features.columns.n.over",
        "features.columns.mean.over",
    ]


def test_what_exists_is_replaced_only_if_that_is_said(tmp_path: Path) -> None:
    file = write(tmp_path, out_parquet="")
    with pytest.raises(PipelineError, match=r"out\.parquet' already exists: remove it, or"):
        load(file)
    load(file, overwrite=True)
    load(file, writes=False)
    load(write(tmp_path, PIPELINE.replace("[sink]", '[sink]\nexists = "replace"')))


def test_streams_need_a_watermark(tmp_path: Path) -> None:
    assert mistakes(tmp_path, PIPELINE, stream=True)[0][0] == "stream.watermark"
    found = mistakes(tmp_path, PIPELINE, stream=True, engine="spark")
    assert [key for key, _ in found] == ["stream.watermark", "stream.checkpoint"]


def test_a_spark_stream_continues_with_its_results_or_not_at_all(tmp_path: Path) -> None:
    text = PIPELINE.replace("[sink]", '[stream]\nwatermark = "1h"\ncheckpoint = "c"\n[sink]')
    file = write(tmp_path, text)
    load(file, stream=True, engine="spark")
    (tmp_path / "out.parquet").mkdir()
    with pytest.raises(PipelineError, match="exists: remove it"):
        load(file, stream=True, engine="spark")
    (tmp_path / "c").mkdir()
    load(file, stream=True, engine="spark")
    (tmp_path / "out.parquet").rmdir()
    with pytest.raises(
        PipelineError, match=r"stream\.checkpoint: .* exists but the results do not"
    ):
        load(file, stream=True, engine="spark")
    # What is only shown or kept goes on without earlier results.
    load(write(tmp_path, text.replace('path = "out.parquet"', 'format = "memory"')), stream=True)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "p.toml", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(PipelineError, match=reason):
            load(path)
    (tmp_path / "p.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PipelineError, match="is not UTF-8 text"):
        load(tmp_path / "p.toml")


def test_a_column_without_over_is_told_so(tmp_path: Path) -> None:
    """The message showed a whole table, and a guess such as `window = 3` looked like it."""
    (tmp_path / "d.csv").write_text("t,x\n1,2\n")
    (tmp_path / "p.toml").write_text(
        '[source]\npath = "d.csv"\n[features]\non = "t"\n'
        '[features.columns]\ns = { operator = "sum", columns = "x", window = 3 }\n'
        '[sink]\nformat = "console"\n'
    )
    done = slidefold(tmp_path, "explain", "p.toml")
    assert done.code == 2
    assert """the column 's' has no window: give over, such as over = "1h" or over = 100""" in (
        done.err
    )
