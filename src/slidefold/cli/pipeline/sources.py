"""Files as Arrow tables: Parquet, CSV, JSON lines, one file or a folder of them."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from slidefold.cli.pipeline.broken import BadRow, never_closed, records, salvage
from slidefold.cli.pipeline.settings import ENDINGS, Source
from slidefold.errors import DataError

_BLOCK = 1 << 20  # bytes that types are read off
_ARROW = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError, pa.ArrowNotImplementedError)


def files_of(source: Source) -> list[Path]:
    """Return the files of a source, those of a folder in the order in which they came."""
    assert source.path is not None
    path = Path(source.path)
    if not path.is_dir():
        return [path]
    if (path / "_spark_metadata").exists():
        raise DataError(f"{str(path)!r} was written by a Spark stream: read it with --engine spark")
    found = [
        each
        for each in path.rglob("*")
        if each.is_file()
        and each.name.lower().endswith(ENDINGS[source.format])
        # As Spark: names that begin so are not data, but notes about it.
        and not any(part.startswith(("_", ".")) for part in each.relative_to(path).parts)
    ]
    if not found:
        ends = " or ".join(ENDINGS[source.format])
        raise DataError(f"the folder {str(path)!r} has no files that end in {ends}")
    return sorted(found, key=lambda each: (each.stat().st_mtime_ns, each.as_posix()))


def schema_of(source: Source) -> Any:
    """Return the schema of a source: that of its first file, with the types that are declared."""
    file = files_of(source)[0]
    try:
        schema = _SCHEMAS[source.format](source, file)
    except (OSError, *_ARROW) as error:
        raise DataError(f"{str(file)!r} cannot be read: {_first_line(error)}") from None
    for name, kind in source.types.items():
        if name in schema.names:
            schema = schema.set(schema.get_field_index(name), pa.field(name, kind))
        elif source.format == "json":
            schema = schema.append(pa.field(name, kind))  # the first rows may have been without it
        else:
            raise DataError(f"{str(file)!r} has no column {name!r}, which [source.columns] names")
    return schema


def tables(
    source: Source, schema: Any, note: Callable[[BadRow], None]
) -> Iterator[tuple[Path, Any]]:
    """Yield the files of a source as tables of one schema; broken rows go to `note`.

    `note` raises, where a broken row is to fail the run.
    """
    for file in files_of(source):
        try:
            yield file, _READS[source.format](source, file, schema, note)
        except (OSError, *_ARROW) as error:
            raise DataError(f"{str(file)!r} cannot be read: {_first_line(error)}") from None


@dataclass(frozen=True)
class Parse:
    """Parses the bytes of one text file, wherever they were read: into rows and broken rows."""

    source: Source
    schema: Any

    def __call__(self, name: str, content: bytes) -> tuple[Any, list[BadRow]]:
        """Return the table of a file, and what is broken in it."""
        bad: list[BadRow] = []
        if name.endswith(".gz"):
            content = gzip.decompress(content)
        parse = _parse_csv if self.source.format == "csv" else _parse_json
        return parse(self.source, Path(name), content, self.schema, bad.append), bad


def _settled(field: Any) -> Any:
    """Return a field whose type was read off the first rows, as it is to be for all."""
    if field.type == pa.null():
        return field.with_type(pa.string())  # later rows may have a value
    if pa.types.is_timestamp(field.type) and field.type.unit == "s":
        return field.with_type(pa.timestamp("us", field.type.tz))  # later ones a part of a second
    return field


def _text(file: Path) -> bytes:
    with pa.input_stream(str(file)) as stream:  # unpacks what ends in .gz
        text: bytes = stream.read()
    return text


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# ---- Parquet ----------------------------------------------------------------------------------


def _parquet_schema(_source: Source, file: Path) -> Any:
    return pyarrow.parquet.read_schema(file).remove_metadata()


def _read_parquet(_source: Source, file: Path, schema: Any, _note: Any) -> Any:
    with pyarrow.parquet.ParquetFile(file) as opened:
        table = opened.read().replace_schema_metadata(None)
    if sorted(table.column_names) != sorted(schema.names):
        raise DataError(f"{str(file)!r} has other columns than the first file of its folder")
    return table.select(schema.names).cast(schema)


# ---- CSV --------------------------------------------------------------------------------------


def _csv_reads(source: Source, names: list[str] | None) -> dict[str, Any]:
    # Values may have line breaks in quotes: the reader is told, or it would cut there.
    return {
        "read_options": pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK),
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=source.delimiter, newlines_in_values=True
        ),
    }


def _csv_converts(source: Source, schema: Any = None) -> Any:
    return pyarrow.csv.ConvertOptions(
        column_types=schema,
        null_values=list(source.nulls),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        include_columns=None if schema is None else schema.names,
    )


def _csv_schema(source: Source, file: Path) -> Any:
    # Broken rows are for later: here they only stand in the way.
    reads = _csv_reads(source, list(source.names) or None)
    reads["parse_options"].invalid_row_handler = lambda _row: "skip"
    with (
        pa.input_stream(str(file)) as stream,
        pyarrow.csv.open_csv(stream, convert_options=_csv_converts(source), **reads) as opened,
    ):
        schema = opened.schema
    return pa.schema([_settled(each) for each in schema])


def _read_csv(source: Source, file: Path, schema: Any, note: Callable[[BadRow], None]) -> Any:
    return _parse_csv(source, file, _text(file), schema, note)


def _parse_csv(
    source: Source, file: Path, text: bytes, schema: Any, note: Callable[[BadRow], None]
) -> Any:
    delimiter = source.delimiter.encode()
    names = list(source.names) or _header(source, file, text)
    if sorted(names) != sorted(schema.names):
        raise DataError(f"{str(file)!r} has other columns than the first file of its folder")
    converts = _csv_converts(source, schema)

    def parse(text: bytes, names: list[str] | None = names) -> Any:
        reads = _csv_reads(source, names)
        return pyarrow.csv.read_csv(io.BytesIO(text), convert_options=converts, **reads)

    if not never_closed(text, delimiter):
        try:
            return parse(text, list(source.names) or None)
        except _ARROW:
            pass  # a row is broken: find out which
    found = records(text, delimiter)[0 if source.names else 1 :]
    return salvage(file, found, parse, schema, note, lambda each: never_closed(each, delimiter))


def _header(source: Source, file: Path, text: bytes) -> list[str]:
    first = records(text[:_BLOCK], source.delimiter.encode())[:1]
    if not first:
        raise DataError(f"{str(file)!r} is empty")
    options = pyarrow.csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True)
    table = pyarrow.csv.read_csv(io.BytesIO(first[0][1] + b"\n"), parse_options=options)
    return list(table.column_names)


# ---- JSON lines -------------------------------------------------------------------------------


def _json_schema(source: Source, file: Path) -> Any:
    # The reader infers types of a whole block, so it is given lines that are whole.
    with pa.input_stream(str(file)) as stream:
        lines = stream.read(_BLOCK).split(b"\n")
    if len(lines) > 1:
        lines.pop()
    whole = [line for line in lines if line.strip()]
    if not whole:
        raise DataError(f"{str(file)!r} is empty")
    options = pyarrow.json.ParseOptions(explicit_schema=pa.schema(source.types))
    merged = pa.schema([])

    def parse(text: bytes) -> Any:
        nonlocal merged
        found = pyarrow.json.read_json(io.BytesIO(text), _json_block(text), options).schema
        merged = _merge(merged, found)
        return found.empty_table()

    salvage(file, list(enumerate(whole)), parse, pa.schema([]), lambda _bad: None)
    if not merged.names:
        raise DataError(f"{str(file)!r} has no line that is a JSON object")
    return pa.schema([_settled(each) for each in merged])


def _merge(older: Any, newer: Any) -> Any:
    """Merge two schemas; of two types that do not go together the older one stays."""
    for each in newer:
        known = older.get_field_index(each.name)
        if known < 0:
            older = older.append(each)
            continue
        try:
            pair = [pa.schema([older.field(known)]), pa.schema([each])]
            both = pa.unify_schemas(pair, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            continue
        older = older.set(known, both.field(0))
    return older


def _json_block(text: bytes) -> Any:
    # In one block: an object may be longer than the default, and threads have nothing to share.
    return pyarrow.json.ReadOptions(use_threads=False, block_size=max(len(text), 1) + 1)


def _read_json(source: Source, file: Path, schema: Any, note: Callable[[BadRow], None]) -> Any:
    return _parse_json(source, file, _text(file), schema, note)


def _parse_json(
    _source: Source, file: Path, text: bytes, schema: Any, note: Callable[[BadRow], None]
) -> Any:
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")

    def parse(text: bytes) -> Any:
        return pyarrow.json.read_json(io.BytesIO(text), _json_block(text), options)

    try:
        reads = pyarrow.json.ReadOptions(block_size=16 * _BLOCK)
        return pyarrow.json.read_json(io.BytesIO(text), reads, options).select(schema.names)
    except _ARROW:
        pass  # a line is broken: find out which
    lines = [(n, line) for n, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    return salvage(file, lines, parse, schema, note)


_SCHEMAS: dict[str, Callable[[Source, Path], Any]] = {
    "parquet": _parquet_schema,
    "csv": _csv_schema,
    "json": _json_schema,
}
_READS: dict[str, Callable[[Source, Path, Any, Callable[[BadRow], None]], Any]] = {
    "parquet": _read_parquet,
    "csv": _read_csv,
    "json": _read_json,
}
