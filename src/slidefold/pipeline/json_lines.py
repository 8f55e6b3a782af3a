"""Read JSON lines as Arrow tables: one object per line, its keys are the columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from slidefold.errors import DataError
from slidefold.pipeline.broken import BadRow, Salvage, lacking
from slidefold.pipeline.settings import Source

_BLOCK = 1 << 20  # types are inferred from this many bytes
_DEEP = 100  # levels of nesting; the reader is recursive, and thousands of levels crash the process
_TIMES = [pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]


def json_schema(source: Source, file: Path) -> Any:
    """Infer the schema of a file from its first megabyte, in the order of its keys."""
    # The reader infers types from a whole block, so pass it complete lines only.
    with pa.input_stream(str(file)) as stream:
        lines = stream.read(_BLOCK).split(b"\n")
    if len(lines) > 1:
        lines.pop()
    whole = [line for line in lines if line.strip()]
    if not whole:
        raise DataError(f"{str(file)!r} is empty")
    merged = pa.schema([])

    def parse(text: bytes) -> Any:
        nonlocal merged
        schema = _inferred(source, text)
        merged = _merge(merged, schema)
        return schema.empty_table()

    Salvage(file, parse, lambda _bad: None).table([*enumerate(whole)], pa.schema([]))
    if not merged.names:
        raise DataError(f"{str(file)!r} has no line that is a JSON object")
    # The reader puts columns with declared types first: restore the order of the keys.
    order = _keys(whole) if source.types else {}
    names = sorted(merged.names, key=lambda name: order.get(name, len(order)))
    return pa.schema([settled(merged.field(name)) for name in names])


@dataclass(frozen=True)
class ParseValues:
    """Parses values that are one JSON object each, such as those of Kafka, in a Spark worker."""

    source: Source
    schema: Any

    def __call__(
        self, values: Sequence[bytes | None], places: Sequence[tuple[str, int | None]]
    ) -> tuple[Any, list[BadRow]]:
        """Return the table of the valid values, and the broken ones with their places."""
        bad: list[BadRow] = []
        options = _parse_options(self.schema)

        def parse(text: bytes) -> Any:
            table = _converted(_read(text, _one_block(text), options), self.schema)
            if len(table) != text.count(b"\n"):
                raise pa.ArrowInvalid("expected one JSON object")
            return table

        def note(row: BadRow) -> None:
            assert row.line is not None
            name, number = places[row.line]
            text = (values[row.line] or b"").decode("utf-8", "replace")
            bad.append(BadRow(name, number, row.reason, text))

        entries = []
        for i, value in enumerate(values):
            # A line break in an object is white space: it cannot be part of a string.
            line = (value or b"").replace(b"\r", b" ").replace(b"\n", b" ")
            if line.strip():
                entries.append((i, line))
            else:
                note(
                    BadRow(
                        "", i, "the value is null" if value is None else "the value is empty", ""
                    )
                )
        table = Salvage(Path(), parse, note, self.source.required).table(entries, self.schema)
        return table, bad


def _parse_options(schema: Any) -> Any:
    return pyarrow.json.ParseOptions(
        explicit_schema=_as_text(schema), unexpected_field_behavior="ignore"
    )


def parse_json(
    source: Source, file: Path, text: bytes, schema: Any, note: Callable[[BadRow], None]
) -> Any:
    """Parse the text of a file; broken lines go to `note`."""
    options = _parse_options(schema)

    def parse(text: bytes, reads: Any = None) -> Any:
        return _converted(_read(text, reads or _one_block(text), options), schema)

    with suppress(
        pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError, pa.ArrowNotImplementedError
    ):
        table = parse(text, pyarrow.json.ReadOptions(block_size=16 * _BLOCK))
        if not lacking(table, source.required):
            return table
    # At least one line is broken: find it.
    lines = [(n, line) for n, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    return Salvage(file, parse, note, source.required).table(lines, schema)


def settled(field: Any) -> Any:
    """Widen a type that was inferred from the first rows, so that it suits later rows too."""
    if field.type == pa.null():
        return field.with_type(pa.string())  # later rows may have a value
    if pa.types.is_timestamp(field.type) and field.type.unit == "s":
        return field.with_type(pa.timestamp("us", field.type.tz))  # or fractions of a second
    return field


def native_stream(text: bytes) -> Any:
    """Return a stream over a copy of the text that Arrow owns.

    A reader that fails leaves its read-ahead thread behind. If that thread needed a Python object
    while Python exits, it would abort the process.
    """
    sink = pa.BufferOutputStream()
    sink.write(text)
    return pa.BufferReader(sink.getvalue())


def _read(text: bytes, reads: Any, options: Any) -> Any:
    if depth(text) > _DEEP:
        raise pa.ArrowInvalid(f"values are nested more than {_DEEP} levels deep")
    return pyarrow.json.read_json(native_stream(text), reads, options)


def depth(text: bytes) -> int:
    r"""Return the maximum nesting depth in JSON text, which may have broken lines.

    >>> depth(b'{"a": [1, {"b": "[[[\\"[["}]}\n{"c": 2}\n')
    3
    """
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Keep brackets and quotes only: most strings become "" and are removed at once.
    marks = text.translate(None, _UNMARKED).replace(b'""', b"")
    marks = re.sub(rb'"[^"]*+"?', b"", marks)
    codes = np.frombuffer(marks, np.uint8)
    steps = np.where((codes == ord("{")) | (codes == ord("[")), 1, -1)
    level = np.concatenate([[0], np.cumsum(steps)])
    return int((level - np.minimum.accumulate(level)).max())


_UNMARKED = bytes(code for code in range(256) if code not in b'[]{}"')


def _as_text(schema: Any) -> Any:
    """Return a schema with times as strings: Arrow's JSON reader would lose their zones."""
    return pa.schema(
        [field.with_type(pa.string()) if _is_time(field) else field for field in schema]
    )


def _is_time(field: Any) -> bool:
    return bool(pa.types.is_timestamp(field.type) or pa.types.is_date(field.type))


def _converted(table: Any, schema: Any) -> Any:
    """Cast a table to the types and the column order of a schema."""
    columns = []
    for field in schema:
        try:
            columns.append(table[field.name].cast(field.type))
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"{field.name!r}: {error}") from None
    return pa.table(columns, schema=schema)


def _inferred(source: Source, text: bytes) -> Any:
    """Infer the schema of some lines; a string column of times only becomes a time column."""
    declared = pa.schema(source.types)

    def read(explicit: Any) -> Any:
        options = pyarrow.json.ParseOptions(explicit_schema=_as_text(explicit))
        return _read(text, _one_block(text), options)

    known = set(declared.names)
    table = read(declared)
    fields = [declared.field(one.name) if one.name in known else one for one in table.schema]
    times = [field for field in fields if pa.types.is_timestamp(field.type)]
    if times:
        table = read(pa.schema([*declared, *(one for one in times if one.name not in known)]))
    return pa.schema(
        [
            field
            if field.name in known or not pa.types.is_string(table[field.name].type)
            else field.with_type(_time_type(table[field.name]))
            for field in fields
        ]
    )


def _time_type(strings: Any) -> Any:
    """Return the timestamp type that all strings fit, with or without a zone; string if none does.

    >>> _time_type(pa.array(["2024-03-01T09:00:00Z", None]))
    TimestampType(timestamp[us, tz=UTC])
    """
    if strings.null_count < len(strings):
        for kind in _TIMES:
            with suppress(pa.ArrowInvalid):
                return strings.cast(kind).type
    return pa.string()


def _keys(lines: list[bytes]) -> dict[str, int]:
    """Return the keys of all objects, numbered in order of appearance."""
    keys: dict[str, int] = {}
    for line in lines:
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            for key in value if isinstance(value, dict) else ():
                keys.setdefault(key, len(keys))
    return keys


def _merge(older: Any, newer: Any) -> Any:
    """Merge two schemas; if two types are incompatible, keep the older one."""
    for field in newer:
        known = older.get_field_index(field.name)
        if known < 0:
            older = older.append(field)
            continue
        try:
            pair = [pa.schema([older.field(known)]), pa.schema([field])]
            both = pa.unify_schemas(pair, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            continue
        older = older.set(known, both.field(0))
    return older


def _one_block(text: bytes) -> Any:
    # One block, since an object may be longer than the default; then threads do not help.
    return pyarrow.json.ReadOptions(use_threads=False, block_size=max(len(text), 1) + 1)
