"""Read events and questions from requests: JSON, JSON lines or Arrow; write answers back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
        return in_schema(rows, schema, needed, _strictly)
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
            return _array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    for number, value in enumerate(values, first):
        _require(value, field, number)
    raise ValueTypeError(
        f"the field {field.name!r} must be {kind}, but its values are of two types"
    )


def _array(values: list[Any], kind: Any) -> Any:
    """Return plain values as an Arrow array; raise if one of them does not fit."""
    if pa.types.is_temporal(kind) and any(isinstance(value, str) for value in values):
        return pa.array(values, pa.string()).cast(kind)
    if pa.types.is_decimal(kind):  # by their digits: 1.1 is not the binary number next to it
        texts = [
            value if value is None or isinstance(value, str) else repr(value) for value in values
        ]
        return pa.array(texts, pa.string()).cast(kind)
    if not pa.types.is_floating(kind):
        return pa.array(values, kind)
    try:
        found = pa.array(values, kind)
    except pa.ArrowInvalid:  # whole numbers beyond 2**53, which JSON may have where a double is
        found = pa.array([float(each) if type(each) is int else each for each in values], kind)
    if not _are_finite(found):  # a double that is too large for 32 bits
        raise OverflowError
    return found


def _are_finite(values: Any) -> bool:
    return pc.all(pc.is_finite(values), min_count=0).as_py()  # type: ignore[no-any-return]


def _are_plain(values: list[Any], kind: Any) -> bool:
    """Tell whether Arrow reads values as they are: it would cut 1.5 to 1, and take true for 1."""
    types = {*map(type, values)} - {type(None)}
    if pa.types.is_boolean(kind):
        return types <= {bool}
    if bool in types:
        return not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind))
    if pa.types.is_temporal(kind) and str in types:
        return types == {str}
    if pa.types.is_temporal(kind):
        return all(value.is_integer() for value in values if type(value) is float)
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
        if fits:
            _array([value], kind)
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


def _cast(column: Any, field: Any) -> Any:
    try:  # whole numbers beyond 2**53 are doubles, as in JSON
        return column.cast(field.type, safe=not pa.types.is_floating(field.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _other_type(field, column.type) from None


def _other_type(field: Any, given: Any) -> ValueTypeError:
    return ValueTypeError(f"the column {field.name!r} must be {field.type}, got {given}")


def in_schema(
    table: Any,
    schema: Any,
    needed: frozenset[str],
    cast: Callable[[Any, Any], Any] = _cast,
) -> Any:
    """Return a table with the columns of a schema; those that are not `needed` may be missing."""
    names = table.column_names
    if len({*names}) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ColumnError(f"the column {twice!r} is there twice")
    more = next((name for name in names if name not in schema.names), None)
    if more is not None:
        raise ColumnError(f"there is no column {more!r}{nearest(more, schema.names)}")
    columns = []
    for field in schema:
        if field.name in names:
            columns.append(cast(table[field.name], field))
        elif field.name in needed:
            raise ColumnError(f"the column {field.name!r} is missing")
        else:
            columns.append(pa.nulls(len(table), field.type))
    return pa.table(columns, schema=schema)


def _strictly(column: Any, field: Any) -> Any:
    """Return a column in the type of a field; raise where JSON would be refused as well.

    Arrow alone reads the text '2' as 2, the number 2 as true, and cuts 1.234 to 1.23.
    """
    kind = field.type
    given = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    numbered = pa.types.is_temporal(kind) and pa.types.is_integer(given)
    if not (numbered or pa.types.is_null(given) or _family(given) == _family(kind)):
        raise _other_type(field, column.type)
    values = _cast(column, field)
    if pa.types.is_decimal(kind) and pa.types.is_floating(given):
        same = pc.equal(values.cast(given), column)
        if not pc.all(same, min_count=0).as_py():
            raise _not_fitting(field, column, same)
    if pa.types.is_floating(kind) and not _are_finite(values):
        raise _not_fitting(field, column, pc.is_finite(values))
    return values


def _not_fitting(field: Any, column: Any, fits: Any) -> ValueTypeError:
    """Return the error about the first value of a column that does not fit."""
    row = fits.to_pylist().index(False)
    word = f"a finite {field.type}" if pa.types.is_floating(field.type) else field.type
    given = _short(column[row].as_py())
    return ValueTypeError(f"the column {field.name!r} must be {word}, got {given}").at(row)


def _family(kind: Any) -> str:
    """Return the types that may stand for each other in a table."""
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_timestamp(kind):
        return "time" if kind.tz is None else "time with a zone"
    return "date" if types.is_date(kind) else str(kind)


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
