"""Read events and questions from requests: JSON, JSON lines or Arrow; write answers back."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa

from slidefold.errors import ColumnError, DataError, ValueTypeError, nearest

ARROW = "application/vnd.apache.arrow.stream"
_ROWS = 1_000  # JSON objects that become Arrow arrays at once: half a millisecond
_TEXT, _WHOLE = pa.string(), pa.int64()
LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")


class ContentTypeError(DataError):
    """The body of a request is of a kind that is not read here."""


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
        raise ContentTypeError(
            f"the content type must be application/json, {LINES[0]} or {ARROW}, got {_short(kind)}"
        )
    found = _json(body, None)
    return found, "list" if isinstance(found, list) else "one"


def _json(text: bytes, line: int | None) -> Any:
    where = "the body" if line is None else f"line {line + 1}"
    try:
        return _DECODER.decode(text.decode(json.detect_encoding(text), "surrogatepass"))
    except _TwiceError as error:
        raise DataError(
            f"{where} has an object with the field {_short(error.args[0])} twice"
        ) from None
    except (ValueError, RecursionError):
        raise DataError(f"{where} is not JSON") from None


class _TwiceError(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raise if it has a field twice, since readers differ in which one counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)  # to make one takes longer than to use it


def table_of(rows: Any, schema: Any, needed: frozenset[str]) -> Any:
    """Return rows as a table of a schema; an error names the row and the field.

    Fields that are not in `needed` may be left out.
    """
    if isinstance(rows, pa.Table):
        return _fitting(rows, schema, needed)
    given = rows if isinstance(rows, list) else [rows]
    known = set(schema.names)
    wanted = [name for name in schema.names if name in needed]
    for number, row in enumerate(given):
        if not isinstance(row, dict):
            raise DataError("a row must be a JSON object").at(number)
        more = next((name for name in row if name not in known), None)
        if more is not None:
            hint = nearest(more, schema.names)
            raise ColumnError(f"there is no field {more!r}{hint}").at(number)
        missing = next((name for name in wanted if name not in row), None)
        if missing is not None:
            raise ColumnError(f"the field {missing!r} is missing").at(number)
    # Arrow keeps the interpreter while it reads a list, and questions wait for that.
    parts = []
    for first in range(0, max(len(given), 1), _ROWS):
        part = given[first : first + _ROWS]
        columns = [_column([row.get(field.name) for row in part], field, first) for field in schema]
        parts.append(pa.table(columns, schema=schema))
    return pa.concat_tables(parts)


def _column(values: list[Any], field: Any, first: int) -> Any:
    kind = field.type
    try:
        if _are_plain(values, kind):
            if pa.types.is_temporal(kind) and any(isinstance(value, str) for value in values):
                return pa.array(values, pa.string()).cast(kind)
            return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    for number, value in enumerate(values, first):
        _require(value, field, number)
    raise ValueTypeError(
        f"the field {field.name!r} must be {kind}, but its values are of two types"
    )


def _are_plain(values: list[Any], kind: Any) -> bool:
    """Tell whether Arrow reads values as they are: it would cut 1.5 to 1, and take true for 1."""
    types = {*map(type, values)} - {type(None)}
    if pa.types.is_boolean(kind):
        return types <= {bool}
    if bool in types:
        return not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind))
    if pa.types.is_temporal(kind):
        return types == {str} or str not in types
    if float not in types or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return True
    # JSON has neither NaN nor infinity, and one of them would spoil sums for good.
    floats = [value for value in values if type(value) is float]
    if pa.types.is_integer(kind):
        return all(value.is_integer() for value in floats)
    return all(map(math.isfinite, floats))


def _require(value: Any, field: Any, row: int) -> None:
    """Raise if a value is not of the type of a field."""
    kind = field.type
    try:
        fits = _are_plain([value], kind)
        if fits and isinstance(value, str) and pa.types.is_temporal(kind):
            pa.array([value], pa.string()).cast(kind)
        elif fits:
            pa.array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        word = f"a finite {kind}" if isinstance(value, float) and not math.isfinite(value) else kind
        if pa.types.is_timestamp(kind):
            word = f"{kind} such as '2026-01-31T12:00:00{'' if kind.tz is None else 'Z'}'"
        raise ValueTypeError(f"the field {field.name!r} must be {word}, got {_short(value)}").at(
            row
        ) from None


def require_value(value: Any, field: Any) -> Any:
    """Return a JSON value of the type of a field; raise if it is of another type."""
    # Most questions have these, and to ask Arrow takes ten times as long.
    if type(value) is str and value.isascii() and field.type == _TEXT:
        return value
    if type(value) is int and -(2**63) <= value < 2**63 and field.type == _WHOLE:
        return value
    _require(value, field, 0)
    return int(value) if type(value) is float and pa.types.is_integer(field.type) else value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _fitting(table: Any, schema: Any, needed: frozenset[str]) -> Any:
    names = table.column_names
    if len({*names}) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ColumnError(f"the column {twice!r} is there twice")
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
    if isinstance(value, list):  # row by row, because the encoder keeps other threads waiting
        return b"[" + b",".join([as_json(item) for item in value]) + b"]"
    try:
        return _ENCODER.encode(value).encode()
    except (TypeError, ValueError):  # a number that is not finite, or another key
        return _ENCODER.encode(_plain(value)).encode()


def _plain(value: Any) -> Any:
    """Return a value with what JSON has instead of what it lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _other(value: Any) -> Any:
    """Return a value of a type that JSON does not have as one that it has."""
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "total_seconds"):
        return value.total_seconds()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_other)
