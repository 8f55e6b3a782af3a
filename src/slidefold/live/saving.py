"""The state of a live run as bytes: who the definition is, and the rows as an Arrow stream."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from slidefold.definition.rolling import Rolling
from slidefold.errors import StateError
from slidefold.state import Known, field, operator_header


def identity(definition: Rolling) -> dict[str, Any]:
    """Describe a definition: what it says, and who its operators are, with their versions."""
    operators = {name: operator_header(over.operator) for name, over in definition.items}
    # As text, since a header sorts its names and columns have an order.
    return {"definition": json.dumps(definition.to_dict()), "operators": _plain(operators)}


def same_definition(header: dict[str, Any], given: Rolling | None, known: Known) -> Rolling:
    """Return the definition of a header; one that is given must be the same.

    Operators of users are among those that are `known`.
    """
    saved = _parsed(field(header, "definition", str))
    if given is None:
        try:
            given = Rolling.from_dict(_with_operators(saved, known))
        except StateError:
            raise
        except Exception as error:
            raise StateError(f"the definition in the bytes cannot be made: {error}") from None
    now = identity(given)
    differs = _differences(saved, json.loads(now["definition"]))
    if not differs:
        versions = field(header, "operators", dict)
        differs = [
            f"the operator of {name!r} was {_version(versions.get(name))} and is {_version(own)}"
            for name, own in now["operators"].items()
            if versions.get(name) != own
        ]
    if differs:
        raise StateError(f"the bytes are of another definition: {'; '.join(differs[:3])}")
    return given


def _with_operators(saved: Any, known: Known) -> Any:
    """Put the operators of users in the place of their names, "module:name"."""
    if not isinstance(saved, dict):
        return saved
    found = {
        key: _operators_in(value, known) if key in ("columns", "parts") else value
        for key, value in saved.items()
    }
    name = saved.get("operator")
    if isinstance(name, str) and ":" in name:
        module, _, path = name.partition(":")
        found["operator"] = known.find(module, path)
    return found


def _operators_in(columns: Any, known: Known) -> Any:
    if not isinstance(columns, dict):
        return columns
    return {name: _with_operators(column, known) for name, column in columns.items()}


def _differences(saved: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Say what two definitions differ in, column by column."""
    found = [
        f"{name} was {saved.get(name)!r} and is {now.get(name)!r}"
        for name in sorted({*saved, *now} - {"columns"})
        if saved.get(name) != now.get(name)
    ]
    before, after = saved.get("columns"), now["columns"]
    if not isinstance(before, dict):
        return [*found, "it had no columns"]
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            found.append(f"the column {name!r} is gone")
        elif name not in before:
            found.append(f"the column {name!r} is new")
        elif before[name] != after[name]:
            found.append(f"the column {name!r} was {before[name]} and is {after[name]}")
    if not found and json.dumps(before) != json.dumps(after):
        found.append("its columns come in another order")
    return found


def _plain(value: Any) -> Any:
    """Return a value as JSON gives it back."""
    return json.loads(json.dumps(value))


def _parsed(text: str) -> dict[str, Any]:
    try:
        saved = json.loads(text)
    except (ValueError, RecursionError):
        saved = None
    if not isinstance(saved, dict):
        raise StateError("the definition in the bytes cannot be read")
    return saved


def _version(header: Any) -> str:
    if not isinstance(header, dict):
        return "unknown"
    return f"version {header.get('version')} of {header.get('module')}.{header.get('name')}"


def write_rows(schema: Any, rows: Any) -> tuple[int, bytes]:
    """Return a schema and rows as bytes, and how many of them are the schema's."""
    head = schema.serialize().to_pybytes()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return len(head), head + sink.getvalue().to_pybytes()


def read_rows(size: int, payload: bytes) -> tuple[Any, Any]:
    """Return the schema and the rows that `write_rows` wrote."""
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(payload[:size]))
        with pa.ipc.open_stream(payload[size:]) as reader:
            rows = reader.read_all()
        rows.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError):
        raise StateError("the rows in the bytes cannot be read") from None
    return schema, rows
