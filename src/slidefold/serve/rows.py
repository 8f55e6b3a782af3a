"""Read events and questions from requests: JSON, JSON lines or Arrow; write answers back."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from slidefold.errors import ColumnError, DataError, ValueTypeError, nearest

ARROW = "application/vnd.apache.arrow.stream"
LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")


def parse(body: bytes, kind: str) -> tuple[Any, str]:
    """Return the content of a request, and whether it is one object, a list or a table."""
    kind = kind.partition(";")[0].strip().lower()
    if kind == ARROW:
        try:
            with pa.ipc.open_stream(body) as reader:
                table = reader.read_all()
            table.validate(full=True)
        except (pa.ArrowException, OSError, ValueError):
            raise DataError("the body is not an Arrow stream") from None
        return table, "table"
    if kind in LINES:
        rows = [
            _json(line, number) for number, line in enumerate(body.splitlines()) if line.strip()
        ]
        return rows, "list"
    if kind not in ("", "application/json", "text/json"):
        raise DataError(f"the content type must be application/json, {LINES[0]} or {ARROW}")
    found = _json(body, None)
    return found, "list" if isinstance(found, list) else "one"


def _json(text: bytes, line: int | None) -> Any:
    where = "the body" if line is None else f"line {line + 1}"
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(f"{where} is not JSON") from None


def table_of(rows: Any, schema: Any, needed: frozenset[str]) -> Any:
    """Return rows as a table of a schema; an error names the row and the field.

    Fields that are not in `needed` may be left out.
    """
    if isinstance(rows, pa.Table):
        return _fitting(rows, schema, needed)
    given = rows if isinstance(rows, list) else [rows]
    known = set(schema.names)
    for number, row in enumerate(given):
        if not isinstance(row, dict):
            raise DataError("a row must be a JSON object").at(number)
        more = next((name for name in row if name not in known), None)
        if more is not None:
            hint = nearest(more, schema.names)
            raise ColumnError(f"there is no field {more!r}{hint}").at(number)
        missing = next((name for name in needed if name not in row), None)
        if missing is not None:
            raise ColumnError(f"the field {missing!r} is missing").at(number)
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in given]
        columns.append(_column(values, field))
    return pa.table(columns, schema=schema)


def _column(values: list[Any], field: Any) -> Any:
    kind = field.type
    try:
        if pa.types.is_temporal(kind) and any(isinstance(value, str) for value in values):
            texts = [value if isinstance(value, str) or value is None else None for value in values]
            if any(v is not None and t is None for v, t in zip(values, texts, strict=True)):
                raise pa.ArrowInvalid("mixed")
            return pa.array(texts, pa.string()).cast(kind)
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        for number, value in enumerate(values):
            if not _fits(value, kind):
                raise ValueTypeError(
                    f"the field {field.name!r} must be {kind}, got {_short(value)}"
                ).at(number) from None
        raise ValueTypeError(f"the field {field.name!r} must be {kind}") from None


def _fits(value: Any, kind: Any) -> bool:
    try:
        if isinstance(value, str) and pa.types.is_temporal(kind):
            pa.array([value], pa.string()).cast(kind)
        else:
            pa.array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def require_value(value: Any, field: Any) -> None:
    """Raise if a JSON value is not of the type of a field."""
    if not _fits(value, field.type):
        raise ValueTypeError(
            f"the field {field.name!r} must be {field.type}, got {_short(value)}"
        ).at(0)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _fitting(table: Any, schema: Any, needed: frozenset[str]) -> Any:
    names = table.column_names
    more = next((name for name in names if name not in schema.names), None)
    if more is not None:
        raise ColumnError(f"there is no column {more!r}{nearest(more, schema.names)}")
    columns = []
    for field in schema:
        if field.name not in names:
            if field.name in needed:
                raise ColumnError(f"the column {field.name!r} is missing")
            columns.append(pa.nulls(len(table), field.type))
            continue
        try:
            columns.append(table[field.name].cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise ValueTypeError(
                f"the column {field.name!r} must be {field.type}, got {table[field.name].type}"
            ) from None
    return pa.table(columns, schema=schema)


def arrow_bytes(table: Any) -> bytes:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def as_json(value: Any) -> bytes:
    """Return answers as JSON: times as ISO text, durations in seconds, NaN as null."""
    return json.dumps(_plain(value), separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "total_seconds"):
        return value.total_seconds()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)
