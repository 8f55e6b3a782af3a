"""Source, sink, side file, checkpoint and pipeline file: no two of them may overlap."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from slidefold.errors import PipelineError, SlidefoldError
from slidefold.pipeline import load, run_pipeline
from slidefold.pipeline.patterns import matches, touches
from tests.cli.support import TRADES, slidefold

TEXT = """\
[source]
path = "{source}"
format = "{format}"
{side}
[features]
on = "ts"
[features.columns]
n = {{ operator = "count", over = "1h" }}
[stream]
watermark = "1h"
checkpoint = "{checkpoint}"
[sink]
path = "{sink}"
format = "{sink_format}"
exists = "replace"
"""
RUNS = [{}, {"stream": True}, {"engine": "spark"}, {"engine": "spark", "stream": True}]


def content(folder: Path) -> dict[str, str | None]:
    """Everything below a folder, links as they are."""
    return {
        str(each.relative_to(folder)): os.readlink(each)
        if each.is_symlink()
        else None
        if each.is_dir()
        else each.read_text()
        for each in sorted(folder.rglob("*"))
    }


def made(folder: Path, **told: str) -> Path:
    """A folder with data in it, and a pipeline file with these paths."""
    (folder / "data" / "src" / "deep").mkdir(parents=True)
    (folder / "data" / "src" / "a.csv").write_text(TRADES)
    (folder / "data" / "src" / "deep" / "b.csv").write_text(TRADES)
    (folder / "data" / "notes.txt").write_text("years of work")
    (folder / "one.csv").write_text(TRADES)
    (folder / "empty").mkdir()
    (folder / "linked").symlink_to("data")
    (folder / "hard.csv").hardlink_to(folder / "data" / "src" / "a.csv")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "c.csv").write_text(TRADES)
    (folder / "links").mkdir()
    (folder / "links" / "c.csv").symlink_to("../elsewhere/c.csv")
    (folder / "links" / "loop").symlink_to("../links")
    (folder / "out.lnk").symlink_to("data/src/out.csv")
    side = told.pop("side", None)
    values = {"source": "data/src", "format": "csv", "checkpoint": "check", "sink": "out.csv"}
    values |= {"sink_format": "csv"} | told
    said = "" if side is None else f'bad_rows = "side"\nside = "{side}"'
    file = folder / "p.toml"
    file.write_text(TEXT.format(side=said, **values).replace("HERE", str(folder)))
    return file


OVERLAPS: dict[str, tuple[dict[str, str], str, str]] = {
    # what the file says, the key at fault, the reason
    "sink above source": ({"sink": "data"}, "sink.path", "contains the source"),
    "sink is source": ({"sink": "data/src"}, "sink.path", "is the same as the source"),
    "sink in source": ({"sink": "data/src/x/out.csv"}, "sink.path", "lies in the source"),
    "sink is the file read": ({"source": "one.csv", "sink": "one.csv"}, "sink.path", "the same"),
    "sink with dots": ({"sink": "empty/../data/./src/.."}, "sink.path", "contains the source"),
    "sink through a link": ({"sink": "linked/src"}, "sink.path", "is the same as the source"),
    "source through a link": ({"source": "linked/src", "sink": "data"}, "sink.path", "contains"),
    "a link that leads into the source": ({"sink": "out.lnk"}, "sink.path", "lies in the source"),
    "a hard link of the file": (
        {"source": "data/src/a.csv", "sink": "hard.csv"},
        "sink.path",
        "is the same as the source",
    ),
    "a hard link of a file in it": (
        {"sink": "hard.csv"},
        "sink.path",
        "through a link, the source",
    ),
    "what a link in it leads to": (
        {"source": "links", "sink": "elsewhere"},
        "sink.path",
        "overlaps, through a link, the source",
    ),
    "as an address": ({"sink": "file://HERE/data"}, "sink.path", "contains the source"),
    "a source as an address": (
        {"source": "file:HERE/data/src", "sink": "data"},
        "sink.path",
        "contains the source",
    ),
    "sink is the pipeline file": ({"sink": "p.toml"}, "sink.path", "the same as the pipeline file"),
    "sink above everything": ({"sink": "."}, "sink.path", "contains the pipeline file"),
    "source is the pipeline file": (
        {"source": "p.toml"},
        "source.path",
        "the pipeline file itself",
    ),
    "side is sink": ({"side": "out.csv"}, "source.side", "is the same as the sink"),
    "side is sink, with dots": (
        {"side": "empty/../out.csv"},
        "source.side",
        "the same as the sink",
    ),
    "side in sink": ({"sink": "new", "side": "new/bad.jsonl"}, "source.side", "lies in the sink"),
    "side is source": (
        {"source": "one.csv", "side": "one.csv"},
        "source.side",
        "the same as the source",
    ),
    "side in source": ({"side": "data/src/bad.jsonl"}, "source.side", "lies in the source"),
    "side is the pipeline file": ({"side": "p.toml"}, "source.side", "same as the pipeline file"),
    "checkpoint is source": ({"checkpoint": "data/src"}, "stream.checkpoint", "is the same as"),
    "checkpoint above source": ({"checkpoint": "data"}, "stream.checkpoint", "contains the source"),
    "checkpoint in source": (
        {"checkpoint": "data/src/c"},
        "stream.checkpoint",
        "lies in the source",
    ),
    "checkpoint is sink": ({"checkpoint": "out.csv"}, "stream.checkpoint", "the same as the sink"),
    "checkpoint in sink": ({"checkpoint": "out.csv/c"}, "stream.checkpoint", "lies in the sink"),
    "sink in checkpoint": ({"sink": "check/x"}, "stream.checkpoint", "contains the sink"),
    "side in checkpoint": ({"side": "check/x"}, "stream.checkpoint", "contains the side file"),
    "checkpoint above everything": ({"checkpoint": ".."}, "stream.checkpoint", "contains the pipe"),
}


@pytest.mark.parametrize("options", RUNS, ids=["local", "live", "spark", "stream"])
@pytest.mark.parametrize("case", OVERLAPS.values(), ids=OVERLAPS)
def test_an_overlap_is_refused(tmp_path: Path, case: Any, options: dict[str, Any]) -> None:
    told, key, reason = case
    folder = tmp_path / "here"
    folder.mkdir()
    file = made(folder, **told)
    before = content(folder)
    with pytest.raises(PipelineError) as raised:
        run_pipeline(file, overwrite=True, **options)
    assert [(at, reason in said) for at, said in raised.value.mistakes if at == key] == [
        (key, True)
    ]
    assert content(folder) == before


FORMAT = {"format": "spark:csv", "sink_format": "spark:csv"}
ON_SPARK: dict[str, tuple[dict[str, str], str]] = {
    "a pattern that matches the sink": ({"source": "data/*", "sink": "data/out"}, "overlaps"),
    "a pattern in a folder": ({"source": "data/*/*.csv", "sink": "data/out"}, "overlaps"),
    "alternatives": ({"source": "data/{src,out}/*.csv", "sink": "data/out"}, "overlaps"),
    "a pattern below the sink": ({"source": "data/s*/a.csv", "sink": "data"}, "contains"),
    "a link that a pattern matches": ({"source": "links/*.csv", "sink": "elsewhere"}, "through a"),
    "another file system": ({"source": "s3://b/x/y", "sink": "s3a://b//x"}, "contains the source"),
    "a sink of Spark": ({"sink": "data"}, "contains the source"),
    "an address": ({"sink": "file:///HERE/data/src"}, "is the same as the source"),
}


@pytest.mark.parametrize("case", ON_SPARK.values(), ids=ON_SPARK)
def test_an_overlap_in_what_only_spark_reads_is_refused(tmp_path: Path, case: Any) -> None:
    told, reason = case
    file = made(tmp_path, **{**FORMAT, **told})
    with pytest.raises(PipelineError) as raised:
        load(file, engine="spark", overwrite=True)
    assert [(key, reason in said) for key, said in raised.value.mistakes] == [("sink.path", True)]


APART = [
    {"sink": "data/out.csv"},
    {"sink": "data/src.csv", "side": "data/src-bad"},
    {"source": "data/src/a.csv", "sink": "data/src/out.csv", "side": "data/src/bad"},
    {"sink": "out", "side": "outside", "checkpoint": "out.check"},
    {"source": "one.csv", "sink": "hard.csv"},
]


@pytest.mark.parametrize("told", APART)
def test_what_lies_apart_is_allowed(tmp_path: Path, told: dict[str, str]) -> None:
    load(made(tmp_path, **told), overwrite=True)


@pytest.mark.parametrize(
    "told",
    [
        {"source": "data/s*/*.csv", "sink": "data/out"},
        {"source": "data/{a,b}/*.csv", "sink": "data/c"},
        {"source": "s3://b/x", "sink": "s3://c/x", "checkpoint": "s3://b/xx"},
        {"source": "hdfs://b/x", "sink": "x"},
    ],
)
def test_what_lies_apart_on_spark_is_allowed(tmp_path: Path, told: dict[str, str]) -> None:
    load(made(tmp_path, **{**FORMAT, **told}), engine="spark", overwrite=True)


@pytest.mark.parametrize(
    ("told", "key"),
    [
        ({"sink": "s3://b/out"}, "sink.path"),
        ({"sink": "out", "checkpoint": "hdfs://b/check"}, "stream.checkpoint"),
        ({"sink": ""}, "sink.format"),
    ],
)
def test_what_overwrite_cannot_remove_is_refused(
    tmp_path: Path, told: dict[str, str], key: str
) -> None:
    """Nothing is touched: new results beside old ones, or a new sink at an old checkpoint."""
    file = made(tmp_path, **{**FORMAT, **told})
    if not told["sink"]:
        file.write_text(file.read_text().replace('path = ""\n', ""))
    load(file, engine="spark", stream=True)
    with pytest.raises(PipelineError, match="--overwrite cannot remove") as raised:
        load(file, engine="spark", stream=True, overwrite=True)
    assert [key for key, _ in raised.value.mistakes] == [key]


def test_paths_in_options_count(tmp_path: Path) -> None:
    file = made(tmp_path, **{**FORMAT, "sink": "out"})
    text = file.read_text().replace('path = "out"\n', "")
    for option, key in (
        ("Path", "sink.options.path"),
        ("checkpointLocation", "sink.options.check"),
    ):
        file.write_text(f'{text}options = {{ {option} = "file:{tmp_path}/data/src" }}\n')
        with pytest.raises(PipelineError) as raised:
            load(file, engine="spark")
        assert raised.value.mistakes[0][0].startswith(key)


def test_an_address_on_this_machine_is_a_path(tmp_path: Path) -> None:
    file = made(tmp_path, source="file://HERE/one.csv", sink="file:HERE/out.csv")
    run_pipeline(file)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 5


def test_what_spark_reads_elsewhere_is_told_how(tmp_path: Path) -> None:
    for source in ("s3://bucket/x.csv", "data/*.csv"):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        for engine in ("local", "spark"):
            tmp_path.joinpath(engine).mkdir()
            with pytest.raises(SlidefoldError, match='format = "spark:csv" and use --engine spark'):
                load(made(tmp_path / engine, source=source), engine=engine)


def test_the_source_is_there_after_a_refusal(tmp_path: Path) -> None:
    made(tmp_path, sink="data")
    done = slidefold(tmp_path, "run", "p.toml", "--overwrite")
    assert done.code == 2
    assert done.err == (
        "p.toml: sink.path: 'data' contains the source 'data/src': choose separate paths\n"
    )
    assert (tmp_path / "data" / "src" / "a.csv").read_text() == TRADES


def test_patterns(tmp_path: Path) -> None:
    for name in ("a1/x.csv", "a2/x.csv", "b1/x.csv", "a1/y.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = matches(f"{tmp_path}/{{a,c}}[^2]/*.csv")
    assert [os.path.relpath(each, tmp_path) for each in found] == ["a1/x.csv"]
    assert touches(["[!a]?"], ["b1"])
    assert not touches(["[!a]?"], ["a1"])
    assert touches(["{a/b,c}"], ["q"])  # not sure, so it may
    assert touches(["[z-a]"], ["q"])
    assert touches(["{" * 30 + "a,b" + "}" * 30] * 2, ["a", "b"])


@pytest.mark.parametrize("key", ["sink", "side"])
def test_a_target_that_is_no_file_is_not_replaced(tmp_path: Path, key: str) -> None:
    """With --overwrite, a sink of /dev/null made the device a regular file."""
    os.mkfifo(tmp_path / "pipe.csv")
    file = made(tmp_path, **{key: "pipe.csv"})
    done = slidefold(tmp_path, "run", file.name, "--overwrite")
    assert done.code == 2
    assert "pipe.csv' is a device or a pipe: name a file" in done.err
    assert (tmp_path / "pipe.csv").is_fifo()
    assert not (tmp_path / "out.csv").exists()


def test_a_pipe_is_no_source(tmp_path: Path) -> None:
    """It was opened and waited for a writer for ever."""
    os.mkfifo(tmp_path / "pipe.csv")
    file = made(tmp_path, source="pipe.csv")
    for command in ("explain", "run"):
        done = slidefold(tmp_path, command, file.name)
        assert done.code == 2
        assert "pipe.csv' is a device or a pipe: name a file or a folder" in done.err


@pytest.mark.parametrize("key", ["source", "sink", "side", "checkpoint"])
def test_a_path_with_nul_is_a_mistake(tmp_path: Path, key: str) -> None:
    """The system calls refuse it with a ValueError, which came out as a traceback."""
    file = made(tmp_path, **{key: "a\\u0000b.csv"})
    done = slidefold(tmp_path, "explain", file.name)
    assert done.code == 2
    assert "must not contain a NUL character, got 'a\\x00b.csv'" in done.err
    assert "Traceback" not in done.err
