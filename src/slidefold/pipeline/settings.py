"""What the tables [source], [stream] and [sink] of a pipeline file say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from slidefold.definition.windows.durations import nanoseconds
from slidefold.definition.wording import short
from slidefold.errors import SlidefoldError, nearest
from slidefold.pipeline.patterns import has_pattern
from slidefold.pipeline.places import is_remote, names_in, placed
from slidefold.pipeline.tables import Mistakes, Table
from slidefold.pipeline.types import type_of

# How the files of a format end; the first is what a directory of them is searched for too.
ENDINGS = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "json": (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz"),
}
KEPT = ("console", "memory")  # results that are not written
SINKS = (*ENDINGS, *KEPT)
BAD_ROWS = ("fail", "skip", "side")
EMIT = ("final", "arrival", "revise", "change")
LATE = ("drop", "side")
SPARK = "spark:"


@dataclass(frozen=True)
class Source:
    """Where rows come from: a file or a folder of files."""

    path: str | None
    format: str
    types: Mapping[str, Any] = field(default_factory=dict)
    bad_rows: str = "fail"
    side: Path | None = None
    delimiter: str = ","
    names: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ("",)
    options: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()  # columns without which a row is broken: its time

    @property
    def only_spark(self) -> bool:
        """Whether only Spark can read it."""
        return self.format.startswith(SPARK)


@dataclass(frozen=True)
class Stream:
    """How rows are taken when they come late and out of order."""

    watermark: str | int | None
    emit: str
    late: str
    id: tuple[str, ...]
    batch: int
    checkpoint: str | None
    files_per_batch: int = 0  # on Spark; 0 takes all that are there


@dataclass(frozen=True)
class Sink:
    """Where results go."""

    path: Path | None
    format: str
    exists: str = "fail"
    limit: int = 20
    options: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None  # where only Spark can write

    @property
    def kept(self) -> bool:
        """Whether results stay in this process: to be shown, or to be returned."""
        return self.format in KEPT

    def wants(self, rows: int) -> bool:
        """Whether more rows are to be kept when there are so many."""
        return self.kept and (self.format == "memory" or self.limit == 0 or rows <= self.limit)

    @property
    def place(self) -> str:
        """Where results go, in words."""
        if self.kept:
            return f"the {self.format}"
        return str(self.path or self.url or self.format.removeprefix(SPARK))

    def check_results(self, results: Any, mistakes: Mistakes) -> None:
        """Refuse columns that the format cannot hold."""
        if self.format == "csv" and results is not None:
            nested = [each.name for each in results if pa.types.is_nested(each.type)]
            if nested:
                mistakes.note("sink.format", f"csv cannot hold {', '.join(nested)}: use parquet")


def read_source(table: Table, folder: Path, engine: str) -> Source:
    """Read the table [source]."""
    path = table.text("path")
    format = _format(table, path, tuple(ENDINGS), engine, folder)
    spark = format.startswith(SPARK)
    if path is None and not spark and table.told and "path" not in table.told:
        table.note("path", "is missing: a file, or a folder of files")
    bad_rows = table.word("bad_rows", BAD_ROWS, "fail")
    side = table.text("side")
    if (side is not None) != (bad_rows == "side"):
        table.note("side", 'is where bad rows go, and belongs to bad_rows = "side"')
    delimiter = table.text("delimiter", "\t" if path and ".tsv" in path else ",") or ","
    if len(delimiter.encode()) != 1:
        table.note("delimiter", f"must be one character, got {delimiter!r}")
    names, nulls = table.names("names"), table.names("nulls") or ("",)
    types = {}
    declared = table.within("columns")
    for name, word in declared.told.items():
        try:
            types[name] = type_of(word)
        except SlidefoldError as error:
            declared.note(name, error)
    told = {name: table.told.get(name) for name in ("names", "nulls", "delimiter")}
    for name, value in told.items():
        if value and format not in ("csv", ""):
            table.note(name, f"is for csv, and the source is {format}")
    if types and format not in ("csv", "json", ""):
        table.note("columns", f"is for csv and json: {format} files know their types")
    options = _options(table, spark)
    table.finish()
    target = None if side is None else _target(table, "side", side, folder)
    where = None if path is None else placed(path, folder)
    if where is not None and not spark:
        if is_remote(where):
            table.note("path", f"{path!r} is read by Spark: {_by_spark(format)}")
        elif not Path(where).exists():
            table.note("path", f"there is no file or folder {where!r}{_pattern(where, format)}")
    return Source(where, format, types, bad_rows, target, delimiter, names, nulls, options)


def _by_spark(format: str) -> str:
    return f'set format = "{SPARK}{format or "parquet"}" and --engine spark'


def _pattern(where: str, format: str) -> str:
    if not has_pattern(where):
        return ""
    return f"; give a folder, or let Spark read the pattern: {_by_spark(format)}"


def _target(table: Table, name: str, path: str, folder: Path) -> Path:
    where = placed(path, folder)
    if is_remote(where):
        table.note(name, f"must be a file on this machine, got {path!r}")
    return Path(where)


def read_stream(table: Table, folder: Path, engine: str, streams: bool) -> Stream:
    """Read the table [stream]; a watermark is needed where rows are streamed."""
    watermark = table.value("watermark", (str, int), "a duration such as '10m'")
    if isinstance(watermark, str):
        try:
            nanoseconds(watermark, zero=True)
        except SlidefoldError as error:
            table.note("watermark", error)
    elif watermark is not None and watermark < 0:
        table.note("watermark", f"must not be negative, got {watermark}")
    if streams and watermark is None:
        table.note("watermark", "--stream needs it: how late rows may come, such as '10m'")
    emit = table.word("emit", EMIT, "final")
    late = table.word("late", LATE, "drop")
    keys = table.names("id")
    if (emit == "revise") != bool(keys):
        table.note("id", 'names the columns that tell rows apart, and belongs to emit = "revise"')
    batch = table.whole("batch", 10_000)
    checkpoint = table.text("checkpoint")
    if checkpoint is not None:
        checkpoint = placed(checkpoint, folder)
    if streams and engine == "spark" and checkpoint is None:
        table.note(
            "checkpoint", "--engine spark --stream needs it: a folder that it continues from"
        )
    if streams and engine == "spark" and isinstance(watermark, int):
        table.note("watermark", "must be a duration on Spark, which streams timestamps only")
    files = table.whole("files_per_batch", 0, least=0)
    table.finish()
    return Stream(watermark, emit, late, keys, batch, checkpoint, files)


def read_sink(table: Table, folder: Path, engine: str) -> Sink:
    """Read the table [sink]."""
    path = table.text("path")
    format = _format(table, path, SINKS, engine, folder)
    spark = format.startswith(SPARK)
    missing = path is None and "path" not in table.told
    if missing and format not in KEPT and not spark and table.told:
        table.note("path", 'is missing: a file to write, or format = "console"')
    if path is not None and format in KEPT:
        table.note("path", f"the {format} has none")
    exists = table.word("exists", ("fail", "replace"), "fail")
    limit = table.whole("limit", 20, least=0)
    options = _options(table, spark)
    table.finish()
    where = None if path is None else placed(path, folder)
    if where is not None and is_remote(where) and engine != "spark":
        table.note("path", f"{path!r} is written by --engine spark only")
    url = where if where is not None and (is_remote(where) or spark) else None
    target = None if where is None or url is not None else Path(where)
    return Sink(target, format, exists, limit, options, url)


def _format(
    table: Table, path: str | None, known: tuple[str, ...], engine: str, folder: Path
) -> str:
    """Return the format that is given, or that a path ends in; nothing where there is a mistake."""
    said = table.text("format")
    if said is None and path is not None:
        found = _by_ending(path)
        if found:
            return found
        held = sorted({_by_ending(name) for name in names_in(placed(path, folder))} - {""})
        hint = f'; it has {held[0]} files: set format = "{held[0]}"' if len(held) == 1 else ""
        table.note("format", f"is missing, and {path!r} does not tell: {', '.join(known)}{hint}")
    elif said is None and table.told and "path" not in table.told:
        table.note("format", f"is missing: {', '.join(known)}")
    elif said is not None and said.startswith(SPARK) and len(said) > len(SPARK):
        if engine == "spark":
            return said
        table.note("format", f"{said!r} needs --engine spark")
        return said
    elif said is not None and said not in known:
        hint = nearest(said, known) or '; other formats of Spark are "spark:name"'
        table.note("format", f"{said!r} is none of {', '.join(known)}{hint}")
    elif said is not None:
        return said
    return ""


def _by_ending(name: str) -> str:
    return next((each for each, ends in ENDINGS.items() if name.lower().endswith(ends)), "")


def _options(table: Table, spark: bool) -> dict[str, str]:
    """Return the options of a Spark format, all as strings, as Spark takes them."""
    options = table.within("options").told
    if options and not spark:
        table.note("options", 'are for formats of Spark, such as format = "spark:delta"')
    found = {}
    for name, value in options.items():
        if name.lower() == "checkpointlocation":
            table.note(f"options.{name}", "belongs into [stream], as checkpoint")
        if isinstance(value, bool):
            found[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            found[name] = str(value)
        else:
            table.note(f"options.{name}", f"must be a string or a number, got {short(value)}")
    return found
