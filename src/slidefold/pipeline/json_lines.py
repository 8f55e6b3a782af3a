"""JSON lines as Arrow tables: one object a line, whose keys are the columns."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from slidefold.errors import DataError
from slidefold.pipeline.broken import BadRow, Salvage, lacking
from slidefold.pipeline.settings import Source

_BLOCK = 1 << 20  # bytes that types are read off
_DEEP = 100  # levels of nesting; the reader is recursive, and thousands of them end the process
_TIMES = [pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]


def json_schema(source: Source, file: Path) -> Any:
    """Return the schema of a file: the types of its first megabyte, in the order of its keys."""
    # The reader infers types of a whole block, so it is given lines that are whole.
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
        found = _inferred(source, text)
        merged = _merge(merged, found)
        return found.empty_table()

    Salvage(file, parse, lambda _bad: None).table([*enumerate(whole)], pa.schema([]))
    if not merged.names:
        raise DataError(f"{str(file)!r} has no line that is a JSON object")
    # The reader puts the columns first whose types it is told.
    order = _keys(whole) if source.types else {}
    names = sorted(merged.names, key=lambda name: order.get(name, len(order)))
    return pa.schema([settled(merged.field(name)) for name in names])


def parse_json(
    source: Source, file: Path, text: bytes, schema: Any, note: Callable[[BadRow], None]
) -> Any:
    """Parse the text of a file; broken lines go to `note`."""
    options = pyarrow.json.ParseOptions(
        explicit_schema=_as_text(schema), unexpected_field_behavior="ignore"
    )

    def parse(text: bytes, reads: Any = None) -> Any:
        return _converted(_read(text, reads or _one_block(text), options), schema)

    with suppress(
        pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError, pa.ArrowNotImplementedError
    ):
        table = parse(text, pyarrow.json.ReadOptions(block_size=16 * _BLOCK))
        if not lacking(table, source.required):
            return table
    # A line is broken: find out which.
    lines = [(n, line) for n, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    return Salvage(file, parse, note, source.required).table(lines, schema)


def settled(field: Any) -> Any:
    """Return a field whose type was read off the first rows, as it is to be for all."""
    if field.type == pa.null():
        return field.with_type(pa.string())  # later rows may have a value
    if pa.types.is_timestamp(field.type) and field.type.unit == "s":
        return field.with_type(pa.timestamp("us", field.type.tz))  # later ones a part of a second
    return field


def _read(text: bytes, reads: Any, options: Any) -> Any:
    if depth(text) > _DEEP:
        raise pa.ArrowInvalid(f"values are nested more than {_DEEP} levels deep")
    return pyarrow.json.read_json(io.BytesIO(text), reads, options)


def depth(text: bytes) -> int:
    r"""Return how deep the values in JSON text are nested, at most: its lines may be broken.

    >>> depth(b'{"a": [1, {"b": "[[[\\"[["}]}\n{"c": 2}\n')
    3
    """
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Without brackets nothing is left of a string but its quotes: most are gone at once.
    marks = text.translate(None, _UNMARKED).replace(b'""', b"")
    marks = re.sub(rb'"[^"]*+"?', b"", marks)
    found = np.frombuffer(marks, np.uint8)
    steps = np.where((found == ord("{")) | (found == ord("[")), 1, -1)
    level = np.concatenate([[0], np.cumsum(steps)])
    return int((level - np.minimum.accumulate(level)).max())


_UNMARKED = bytes(code for code in range(256) if code not in b'[]{}"')


def _as_text(schema: Any) -> Any:
    """Return a schema with times as strings, as JSON has them: read as times they lose zones."""
    return pa.schema(
        [field.with_type(pa.string()) if _is_time(field) else field for field in schema]
    )


def _is_time(field: Any) -> bool:
    return bool(pa.types.is_timestamp(field.type) or pa.types.is_date(field.type))


def _converted(table: Any, schema: Any) -> Any:
    """Return a table in the types and the order of a schema."""
    columns = []
    for field in schema:
        try:
            columns.append(table[field.name].cast(field.type))
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"{field.name!r}: {error}") from None
    return pa.table(columns, schema=schema)


def _inferred(source: Source, text: bytes) -> Any:
    """Return the schema of some lines; strings that are all times are times."""
    told = pa.schema(source.types)

    def read(explicit: Any) -> Any:
        options = pyarrow.json.ParseOptions(explicit_schema=_as_text(explicit))
        return _read(text, _one_block(text), options)

    table = read(told)
    fields = [told.field(each.name) if each.name in told.names else each for each in table.schema]
    times = [each for each in fields if pa.types.is_timestamp(each.type)]
    if times:
        table = read(pa.schema([*told, *(each for each in times if each.name not in told.names)]))
    return pa.schema(
        [
            each
            if each.name in told.names or not pa.types.is_string(table[each.name].type)
            else each.with_type(_time_type(table[each.name]))
            for each in fields
        ]
    )


def _time_type(strings: Any) -> Any:
    """Return the type of times that strings are, with or without a zone; that of strings if none.

    >>> _time_type(pa.array(["2024-03-01T09:00:00Z", None]))
    TimestampType(timestamp[us, tz=UTC])
    """
    if strings.null_count < len(strings):
        for kind in _TIMES:
            with suppress(pa.ArrowInvalid):
                return strings.cast(kind).type
    return pa.string()


def _keys(lines: list[bytes]) -> dict[str, int]:
    """Return the keys of objects, numbered in the order in which they appear."""
    keys: dict[str, int] = {}
    for line in lines:
        with suppress(ValueError, RecursionError):
            found = json.loads(line)
            for key in found if isinstance(found, dict) else ():
                keys.setdefault(key, len(keys))
    return keys


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


def _one_block(text: bytes) -> Any:
    # In one block: an object may be longer than the default, and threads have nothing to share.
    return pyarrow.json.ReadOptions(use_threads=False, block_size=max(len(text), 1) + 1)
