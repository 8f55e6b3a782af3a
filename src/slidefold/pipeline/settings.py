"""Read the tables [source], [stream] and [sink] of a pipeline file."""

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

# The file name endings of each format.
ENDINGS = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "json": (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz"),
}
KEPT = ("console", "memory")  # sinks that write no file
SINKS = (*ENDINGS, *KEPT)
BAD_ROWS = ("fail", "skip", "side")
EMIT = ("final", "arrival", "revise", "change")
LATE = ("drop", "side")
VALUES = ("json",)
SPARK = "spark:"


@dataclass(frozen=True)
class Source:
    """The table [source]: a file or a folder of files."""

    path: str | None
    format: str
    types: Mapping[str, Any] = field(default_factory=dict)
    bad_rows: str = "fail"
    side: Path | None = None
    delimiter: str = ","
    names: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ("",)
    options: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()  # a row is broken if one of these columns is null
    schema: Any = None  # of events that come without files, and of values that are parsed
    value: str | None = None  # how the column `value` of a Spark source is parsed

    @property
    def only_spark(self) -> bool:
        """Whether only Spark can read it."""
        return self.format.startswith(SPARK)


@dataclass(frozen=True)
class Stream:
    """The table [stream]: how to process rows that arrive late and out of order."""

    watermark: str | int | None
    emit: str
    late: str
    id: tuple[str, ...]
    batch: int
    checkpoint: str | None
    files_per_batch: int = 0  # on Spark; 0 reads all available files


@dataclass(frozen=True)
class Sink:
    """The table [sink]: where results go."""

    path: Path | None
    format: str
    exists: str = "fail"
    limit: int = 20
    options: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None  # a place that only Spark can write to

    @property
    def kept(self) -> bool:
        """Whether results stay in this process, to be printed or returned."""
        return self.format in KEPT

    def wants(self, rows: int) -> bool:
        """Tell whether to keep more rows when `rows` are kept already."""
        return self.kept and (self.format == "memory" or self.limit == 0 or rows <= self.limit)

    @property
    def place(self) -> str:
        """Where results go, as text."""
        if self.kept:
            return f"the {self.format}"
        return str(self.path or self.url or self.format.removeprefix(SPARK))

    def check_results(self, results: Any, mistakes: Mistakes) -> None:
        """Note columns that the format cannot hold."""
        if self.format == "csv" and results is not None:
            nested = [field.name for field in results if pa.types.is_nested(field.type)]
            if nested:
                mistakes.note(
                    "sink.format",
                    f"csv cannot hold the nested columns {', '.join(nested)}: use parquet",
                )


@dataclass(frozen=True)
class Questions:
    """The table [questions]: rows whose times and keys results are for."""

    source: Source
    known: str | None = None
    asked: str | None = None
    lateness: str | int | None = None
    schema: Any = None  # None if only Spark can read it

    @property
    def options(self) -> dict[str, Any]:
        """The options of `run`, besides the rows."""
        given = {"known": self.known, "asked": self.asked, "lateness": self.lateness}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Serving:
    """The table [serve]: what a service keeps of events and answers."""

    id: str | None = None  # the column that names each event once
    late: Path | None = None  # a file for late events
    record: Path | None = None  # a folder for answers and events


def read_serving(table: Table, folder: Path) -> Serving:
    """Read the table [serve]."""
    id, late, record = table.text("id"), table.path("late"), table.path("record")
    table.finish()
    return Serving(
        id,
        None if late is None else _target(table, "late", late, folder),
        None if record is None else _target(table, "record", record, folder),
    )


def read_questions(table: Table, folder: Path, engine: str) -> Questions:
    """Read the table [questions]."""
    known, asked = table.text("known"), table.text("asked")
    lateness = table.value("lateness", (str, int), "a duration such as '10m'")
    for name, given in (("asked", asked), ("lateness", lateness)):
        if given is not None and known is None:
            table.note(name, "needs known, the column of arrival times in the source")
    for name in ("bad_rows", "side"):
        if name in table.content:
            table.note(name, "works in [source] only: a broken question fails the run")
    return Questions(read_source(table, folder, engine), known, asked, lateness)


def read_source(table: Table, folder: Path, engine: str) -> Source:
    """Read the table [source]."""
    declared = table.within("schema")
    if declared.content and engine == "serve":
        return _events_only(table, declared)
    path = table.path("path")
    format = _format(table, path, tuple(ENDINGS), engine, folder)
    spark = format.startswith(SPARK)
    if declared.content:
        table.note("schema", "works with `slidefold serve` only: files have columns of their own")
    if path is None and not spark and table.content and "path" not in table.content:
        table.note("path", "is missing: give a file or a folder of files")
    bad_rows = table.word("bad_rows", BAD_ROWS, "fail")
    side = table.path("side")
    if bad_rows == "side" and side is None:
        table.note("side", 'is missing: bad_rows = "side" needs a file for broken rows')
    elif bad_rows != "side" and side is not None:
        table.note("side", 'works only with bad_rows = "side"')
    delimiter = table.text("delimiter", "\t" if path and ".tsv" in path else ",") or ","
    if len(delimiter.encode()) != 1:
        table.note("delimiter", f"must be a single-byte character, got {delimiter!r}")
    names, nulls = table.names("names"), table.names("nulls") or ("",)
    types = {}
    declared = table.within("columns")
    for name, word in declared.content.items():
        try:
            types[name] = type_of(word)
        except SlidefoldError as error:
            declared.note(name, error)
    csv_only = {name: table.content.get(name) for name in ("names", "nulls", "delimiter")}
    for name, value in csv_only.items():
        if value and format not in ("csv", ""):
            table.note(name, f"works for csv only, and the source is {format}")
    value = _value(table, spark, types)
    if types and format not in ("csv", "json", "") and value is None:
        table.note("columns", f"works for csv and json only: {format} files contain their types")
    options = _options(table, spark)
    table.finish()
    target = None if side is None else _target(table, "side", side, folder)
    where = None if path is None else placed(path, folder)
    if where is not None and not spark:
        if is_remote(where):
            table.note("path", f"only Spark can read {path!r}: {_by_spark(format)}")
        elif not Path(where).exists():
            table.note("path", f"there is no file or folder {where!r}{_pattern(where, format)}")
    schema = None if value is None else pa.schema(types)
    return Source(
        where,
        format,
        types,
        bad_rows,
        target,
        delimiter,
        names,
        nulls,
        options,
        schema=schema,
        value=value,
    )


def _value(table: Table, spark: bool, types: Mapping[str, Any]) -> str | None:
    """Return how the column `value` is parsed; it needs declared columns."""
    if "value" not in table.content:
        return None
    value = table.word("value", VALUES, "json")
    if not spark:
        table.note("value", 'works with Spark formats only, such as format = "spark:kafka"')
        return None
    if "columns" not in table.content:
        table.note("columns", "is missing: declare the columns in the values and their types")
        return None
    return value if types else None


def _events_only(table: Table, declared: Table) -> Source:
    """Return a source without files: events come over HTTP, in these columns."""
    fields = []
    for name, word in declared.content.items():
        try:
            fields.append(pa.field(name, type_of(word)))
        except SlidefoldError as error:
            declared.note(name, error)
    table.finish()
    return Source(None, "", schema=pa.schema(fields))


def _by_spark(format: str) -> str:
    return f'set format = "{SPARK}{format or "parquet"}" and use --engine spark'


def _pattern(where: str, format: str) -> str:
    if not has_pattern(where):
        return ""
    return f"; give a folder, or read the pattern with Spark: {_by_spark(format)}"


def _target(table: Table, name: str, path: str, folder: Path) -> Path:
    where = placed(path, folder)
    if is_remote(where):
        table.note(name, f"must be a local file, got {path!r}")
    return Path(where)


def read_stream(table: Table, folder: Path, engine: str, streams: bool) -> Stream:
    """Read the table [stream]; with `streams` a watermark is required."""
    watermark = table.value("watermark", (str, int), "a duration such as '10m'")
    if isinstance(watermark, str):
        try:
            nanoseconds(watermark, zero=True)
        except SlidefoldError as error:
            table.note("watermark", error)
    elif watermark is not None and watermark < 0:
        table.note("watermark", f"must not be negative, got {watermark}")
    if streams and watermark is None:
        table.note("watermark", "is missing: --stream needs how late rows may be, such as '10m'")
    emit = table.word("emit", EMIT, "final")
    late = table.word("late", LATE, "drop")
    keys = table.names("id")
    if emit == "revise" and not keys:
        table.note("id", 'is missing: emit = "revise" needs the columns that identify a row')
    elif emit != "revise" and keys:
        table.note("id", 'works only with emit = "revise"')
    batch = table.whole("batch", 10_000)
    checkpoint = table.path("checkpoint")
    if checkpoint is not None:
        checkpoint = placed(checkpoint, folder)
    if streams and engine == "spark" and checkpoint is None:
        table.note(
            "checkpoint", "is missing: --engine spark --stream needs a folder to resume from"
        )
    if streams and engine == "spark" and isinstance(watermark, int):
        table.note("watermark", "must be a duration on Spark, whose streams need timestamps")
    files = table.whole("files_per_batch", 0, least=0)
    table.finish()
    return Stream(watermark, emit, late, keys, batch, checkpoint, files)


def read_sink(table: Table, folder: Path, engine: str) -> Sink:
    """Read the table [sink]."""
    path = table.path("path")
    format = _format(table, path, SINKS, engine, folder)
    spark = format.startswith(SPARK)
    missing = path is None and "path" not in table.content
    if missing and format not in KEPT and not spark and table.content:
        table.note("path", 'is missing: give a file to write, or set format = "console"')
    if path is not None and format in KEPT:
        table.note("path", f'does not apply to format = "{format}": remove it')
    exists = table.word("exists", ("fail", "replace"), "fail")
    limit = table.whole("limit", 20, least=0)
    options = _options(table, spark)
    table.finish()
    where = None if path is None else placed(path, folder)
    if where is not None and is_remote(where) and engine != "spark":
        table.note("path", f"only Spark can write to {path!r}: use --engine spark")
    url = where if where is not None and (is_remote(where) or spark) else None
    target = None if where is None or url is not None else Path(where)
    return Sink(target, format, exists, limit, options, url)


def _format(
    table: Table, path: str | None, known: tuple[str, ...], engine: str, folder: Path
) -> str:
    """Return the given format, or that of the path's ending; empty if there is a mistake."""
    given = table.text("format")
    if given is None and path is not None:
        format = _by_ending(path)
        if format:
            return format
        inside = sorted({_by_ending(name) for name in names_in(placed(path, folder))} - {""})
        hint = f'; it has {inside[0]} files: set format = "{inside[0]}"' if len(inside) == 1 else ""
        table.note(
            "format",
            f"is missing, and the name {path!r} does not imply it: set one of {', '.join(known)}"
            f"{hint}",
        )
    elif given is None and table.content and "path" not in table.content:
        table.note("format", f"is missing: set one of {', '.join(known)}")
    elif given is not None and given.startswith(SPARK) and len(given) > len(SPARK):
        if engine == "spark":
            return given
        table.note("format", f"{given!r} needs --engine spark")
        return given
    elif given is not None and given not in known:
        hint = nearest(given, known) or '; write other Spark formats as "spark:name"'
        table.note("format", f"must be one of {', '.join(known)}, got {given!r}{hint}")
    elif given is not None:
        return given
    return ""


def _by_ending(name: str) -> str:
    endings = ENDINGS.items()
    return next((format for format, ends in endings if name.lower().endswith(ends)), "")


def _options(table: Table, spark: bool) -> dict[str, str]:
    """Return the options of a Spark format as strings, as Spark expects them."""
    options = table.within("options").content
    if options and not spark:
        table.note("options", 'work with Spark formats only, such as format = "spark:delta"')
    strings = {}
    for name, value in options.items():
        if name.lower() == "checkpointlocation":
            table.note(f"options.{name}", "set checkpoint in [stream] instead")
        if isinstance(value, bool):
            strings[name] = str(value).lower()
        elif isinstance(value, str) and "\0" in value:
            table.note(f"options.{name}", f"must not contain a NUL character, got {short(value)}")
        elif isinstance(value, str | int | float):
            strings[name] = str(value)
        else:
            table.note(f"options.{name}", f"must be a string or a number, got {short(value)}")
    return strings
