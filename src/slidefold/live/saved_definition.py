"""The definition of a live run in its saved state, and how it differs from another one."""

from __future__ import annotations

import json
from typing import Any

from slidefold.definition.rolling import Rolling
from slidefold.errors import StateError
from slidefold.state import Known, field, operator_header


def definition_header(definition: Rolling) -> dict[str, Any]:
    """Describe a definition and its operators with their versions."""
    operators = {name: operator_header(over.operator) for name, over in definition.overs.items()}
    # The definition is text, because a header sorts its keys and columns have an order.
    return {"definition": json.dumps(definition.to_dict()), "operators": _plain(operators)}


def same_definition(header: dict[str, Any], given: Rolling | None, known: Known) -> Rolling:
    """Return the definition of a header; `given`, if any, must match it.

    User operators are looked up in `known`.
    """
    saved = _parsed(field(header, "definition", str))
    if given is None:
        try:
            given = Rolling.from_dict(_with_operators(saved, known))
        except StateError:
            raise
        except Exception as error:
            raise StateError(f"the definition in the bytes is invalid: {error}") from None
    now = definition_header(given)
    differs = _differences(saved, json.loads(now["definition"]))
    if not differs:
        versions = field(header, "operators", dict)
        differs = [
            f"the operator of {name!r} was {_version(versions.get(name))} and is now "
            f"{_version(own)}"
            for name, own in now["operators"].items()
            if versions.get(name) != own
        ]
    if differs:
        raise StateError(
            f"the bytes were saved with a different definition: {'; '.join(differs[:3])}"
        )
    return given


def _with_operators(saved: Any, known: Known) -> Any:
    """Replace the names of user operators, "module:name", by the operators."""
    if not isinstance(saved, dict):
        return saved
    described = {
        key: _operators_in(value, known) if key in ("columns", "parts", "windows") else value
        for key, value in saved.items()
    }
    name = saved.get("operator")
    if isinstance(name, str) and ":" in name:
        module, _, path = name.partition(":")
        described["operator"] = known.find(module, path)
    return described


def _operators_in(columns: Any, known: Known) -> Any:
    if not isinstance(columns, dict):
        return columns
    return {name: _with_operators(column, known) for name, column in columns.items()}


def _differences(saved: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Describe the differences of two definitions, column by column."""
    differences = [
        f"{name} was {saved.get(name)!r} and is now {now.get(name)!r}"
        for name in sorted({*saved, *now} - {"columns"})
        if saved.get(name) != now.get(name)
    ]
    before, after = saved.get("columns"), now["columns"]
    if not isinstance(before, dict):
        return [*differences, "it had no columns"]
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            differences.append(f"the column {name!r} is missing")
        elif name not in before:
            differences.append(f"the column {name!r} is new")
        elif before[name] != after[name]:
            differences.append(f"the column {name!r} was {before[name]} and is now {after[name]}")
    if not differences and json.dumps(before) != json.dumps(after):
        differences.append("its columns are in another order")
    return differences


def _plain(value: Any) -> Any:
    """Return a value as it looks after a round trip through JSON."""
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
