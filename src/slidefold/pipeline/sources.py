"""Read Parquet, CSV and JSON-lines files as Arrow tables: one file or a folder of files."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from slidefold.definition.period import Bounds
from slidefold.definition.windows import counted
from slidefold.errors import DataError, first_line
from slidefold.pipeline.broken import (
    BadRow,
    Salvage,
    lacking,
    never_closed,
    records,
    without,
)
from slidefold.pipeline.json_lines import json_schema, native_stream, parse_json, settled
from slidefold.pipeline.settings import ENDINGS, Source
from slidefold.pipeline.sinks import json_line

# A column, and the times that are needed of it; None if all are.
Needed = tuple[str, Bounds] | None
_BLOCK = 1 << 20  # types are inferred from this many bytes
_ARROW = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError, pa.ArrowNotImplementedError)


def files_of(source: Source) -> list[Path]:
    """Return the files of a source; those of a folder oldest first."""
    assert source.path is not None
    path = Path(source.path)
    if not path.is_dir():
        if path.exists() and not path.is_file():
            # A pipe waits for a writer and can be read only once, but its schema is read first.
            raise DataError(f"{str(path)!r} is a device or a pipe: name a file or a folder")
        return [path]
    if (path / "_spark_metadata").exists():
        raise DataError(f"{str(path)!r} was written by a Spark stream: read it with --engine spark")
    files = [
        file
        for file in path.rglob("*")
        if file.is_file()
        and file.name.lower().endswith(ENDINGS[source.format])
        # As in Spark: files and folders whose names begin with these are metadata.
        and not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
    ]
    if not files:
        ends = " or ".join(ENDINGS[source.format])
        raise DataError(f"the folder {str(path)!r} has no files that end in {ends}")
    return sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.as_posix()))


def schema_of(source: Source) -> Any:
    """Return the schema of a source: that of its first file, with the declared types."""
    file = files_of(source)[0]
    try:
        schema = _SCHEMAS[source.format](source, file)
    except (OSError, *_ARROW) as error:
        raise DataError(f"{str(file)!r} cannot be read: {first_line(error)}") from None
    for name, kind in source.types.items():
        if name in schema.names:
            schema = schema.set(schema.get_field_index(name), pa.field(name, kind))
        elif source.format == "json":
            schema = schema.append(pa.field(name, kind))  # the first rows may lack the key
        else:
            raise DataError(
                f"[source.columns] names {name!r}, but {str(file)!r} has no such column"
            )
    return schema


def tables(
    source: Source,
    schema: Any,
    note: Callable[[BadRow], None],
    period: Needed = None,
) -> Iterator[tuple[Path, Any]]:
    """Yield the files of a source as tables of one schema; broken rows go to `note`.

    `note` raises if a broken row must fail the run. `period` names a column and the times that are
    needed of it: row groups of Parquet without any of them are not read.
    """
    for file in files_of(source):
        yield file, read_file(source, file, schema, note, period)


def read_file(
    source: Source,
    file: Path,
    schema: Any,
    note: Callable[[BadRow], None],
    period: Needed = None,
) -> Any:
    """Return one file of a source as a table."""
    try:
        return _READS[source.format](source, file, schema, note, period)
    except (OSError, *_ARROW) as error:
        raise DataError(f"{str(file)!r} cannot be read: {first_line(error)}") from None


@dataclass(frozen=True)
class Parse:
    """Parses the bytes of one text file into rows and broken rows, here or in a Spark worker."""

    source: Source
    schema: Any

    def __call__(self, name: str, content: bytes) -> tuple[Any, list[BadRow]]:
        """Return the table of a file, and its broken rows."""
        bad: list[BadRow] = []
        if name.endswith(".gz"):
            content = gzip.decompress(content)
        parse = _parse_csv if self.source.format == "csv" else parse_json
        return parse(self.source, Path(name), content, self.schema, bad.append), bad


def _text(file: Path) -> bytes:
    with pa.input_stream(str(file)) as stream:  # decompresses .gz files
        text: bytes = stream.read()
    return text


# ---- Parquet ----------------------------------------------------------------------------------


def _parquet_schema(_source: Source, file: Path) -> Any:
    return pyarrow.parquet.read_schema(file).remove_metadata()


def _read_parquet(
    source: Source, file: Path, schema: Any, note: Callable[[BadRow], None], period: Needed
) -> Any:
    with pyarrow.parquet.ParquetFile(file) as opened:
        groups = row_groups(opened, schema, period)
        table = opened.read_row_groups(groups).replace_schema_metadata(None)
        counts = [opened.metadata.row_group(i).num_rows for i in range(opened.num_row_groups)]
    if sorted(table.column_names) != sorted(schema.names):
        raise DataError(f"{str(file)!r} and the first file of its folder have different columns")
    table = table.select(schema.names).cast(schema)
    lost = lacking(table, source.required)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(int)
    lines = [line for i in groups for line in range(starts[i], starts[i + 1])] if lost else []
    for row, reason in lost:
        note(
            BadRow(str(file), lines[row] + 1, reason, json_line(table.slice(row, 1).to_pylist()[0]))
        )
    return without(table, [row for row, _ in lost]) if lost else table


def row_groups(opened: Any, schema: Any, period: Needed) -> list[int]:
    """Return the row groups of a Parquet file that may have times inside bounds, or null ones."""
    every = list(range(opened.num_row_groups))
    if period is None or period[1] == (None, None) or period[0] not in opened.schema_arrow.names:
        return every
    name, (oldest, newest) = period
    paths = [opened.schema.column(i).path for i in range(len(opened.schema))]
    place, kind = paths.index(name), schema.field(name).type
    kept = []
    for i in every:
        known = opened.metadata.row_group(i).column(place).statistics
        if known is not None and known.has_min_max and known.null_count == 0:
            _, ends = counted(name, pa.array([known.min, known.max]).cast(kind))
            before = oldest is not None and ends[1] < oldest
            behind = newest is not None and ends[0] > newest
            if before or behind:
                continue
        kept.append(i)
    return kept


# ---- CSV --------------------------------------------------------------------------------------


def _csv_reads(source: Source, names: list[str] | None) -> dict[str, Any]:
    # Quoted values may contain line breaks; by default the reader would split there.
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
    # Pass the reader complete records of the first block only. It runs in this thread, because a
    # thread of Arrow that still holds the handler when Python exits would abort the process.
    delimiter = source.delimiter.encode()
    with pa.input_stream(str(file)) as stream:
        text = stream.read(_BLOCK)
        has_more = bool(stream.read(1))
    whole = records(text, delimiter)
    if has_more and len(whole) > 1:
        whole.pop()
    closed = [record for _, record in whole if not never_closed(record, delimiter)]
    reads = _csv_reads(source, list(source.names) or None)
    # Skip broken rows here; they are reported when the file is read.
    reads["parse_options"].invalid_row_handler = lambda _row: "skip"
    reads["read_options"].use_threads = False
    table = pyarrow.csv.read_csv(
        native_stream(b"".join(record + b"\n" for record in closed)),
        convert_options=_csv_converts(source),
        **reads,
    )
    return pa.schema([settled(field) for field in table.schema])


def _read_csv(
    source: Source, file: Path, schema: Any, note: Callable[[BadRow], None], _period: Needed
) -> Any:
    return _parse_csv(source, file, _text(file), schema, note)


def _parse_csv(
    source: Source, file: Path, text: bytes, schema: Any, note: Callable[[BadRow], None]
) -> Any:
    delimiter = source.delimiter.encode()
    names = list(source.names) or _header(source, file, text)
    if sorted(names) != sorted(schema.names):
        raise DataError(f"{str(file)!r} and the first file of its folder have different columns")
    converts = _csv_converts(source, schema)

    def parse(text: bytes, names: list[str] | None = names) -> Any:
        reads = _csv_reads(source, names)
        return pyarrow.csv.read_csv(native_stream(text), convert_options=converts, **reads)

    if not never_closed(text, delimiter):
        with suppress(*_ARROW):  # on an error, find the broken row below
            table = parse(text, list(source.names) or None)
            if not lacking(table, source.required):
                return table
    rows = records(text, delimiter)[0 if source.names else 1 :]
    unclosed = partial(never_closed, delimiter=delimiter)
    return Salvage(file, parse, note, source.required, unclosed).table(rows, schema)


def _header(source: Source, file: Path, text: bytes) -> list[str]:
    first = records(text[:_BLOCK], source.delimiter.encode())[:1]
    if not first:
        raise DataError(f"{str(file)!r} is empty")
    options = pyarrow.csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True)
    table = pyarrow.csv.read_csv(native_stream(first[0][1] + b"\n"), parse_options=options)
    return list(table.column_names)


def _read_json(
    source: Source, file: Path, schema: Any, note: Callable[[BadRow], None], _period: Needed
) -> Any:
    return parse_json(source, file, _text(file), schema, note)


_SCHEMAS: dict[str, Callable[[Source, Path], Any]] = {
    "parquet": _parquet_schema,
    "csv": _csv_schema,
    "json": json_schema,
}
_READS: dict[str, Callable[[Source, Path, Any, Callable[[BadRow], None], Needed], Any]] = {
    "parquet": _read_parquet,
    "csv": _read_csv,
    "json": _read_json,
}
