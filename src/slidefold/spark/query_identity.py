"""The description of a query in its state, and how it differs from another one."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from slidefold.definition.operators import Operator, StructOperator, UserOperator
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted, reach_back
from slidefold.errors import SlidefoldError, StateError

_FORMAT = 1


def schema_text(schema: Any) -> str:
    """Encode an Arrow schema as text."""
    return b64encode(schema.serialize().to_pybytes()).decode("ascii")


def schema_from(text: str) -> Any:
    """Decode an Arrow schema from text."""
    return pa.ipc.read_schema(pa.py_buffer(b64decode(text)))


def describe(
    definition: Rolling, schema: Any, result: Any, buckets: int, emit: str, id: Sequence[str]
) -> str:
    """Return everything that the state depends on, as one line of JSON."""
    about = {
        "format": _FORMAT,
        "buckets": buckets,
        "emit": emit,
        "id": list(id),
        "input": {field.name: str(field.type) for field in schema},
        **definition.to_dict(),
        "versions": {
            name: version
            for name, over in definition.overs.items()
            if (version := _versions(over.operator)) is not None
        },
        # Needed to read the state, but not compared: a column may become nullable.
        "schema": schema_text(schema),
        "result": schema_text(result),
    }
    return json.dumps(about, separators=(",", ":"))


def _versions(operator: Operator) -> Any:
    """Return the versions of user operators; None if there are none."""
    if isinstance(operator, UserOperator):
        return operator.version
    parts = operator.parts if isinstance(operator, StructOperator) else ()
    versions = {name: version for name, part in parts if (version := _versions(part)) is not None}
    return versions or None


def digest(about: str) -> str:
    """Return a short hash of a description; the order of columns does not matter.

    >>> digest('{"a":1,"b":2}') == digest('{"b":2,"a":1}'), digest("{}") == digest("[]")
    (True, False)
    """
    canonical = json.dumps(_compared(about), sort_keys=True)
    return blake2b(canonical.encode(), digest_size=12).hexdigest()


def differences(before: str, now: str) -> str:
    """Describe the differences between two descriptions.

    >>> differences('{"emit":"final","columns":{"s":1}}', '{"emit":"final","columns":{"s":2}}')
    'columns.s was 1 and is 2'
    """
    sentences = list(_differ("", _compared(before), _compared(now)))
    shown = "; ".join(sentences[:3])
    return shown if len(sentences) <= 3 else f"{shown}; and {len(sentences) - 3} more"


def extends(before: str, now: str) -> bool:
    """Tell whether a query only adds columns that the rows in the state can answer.

    The state has the rows of the longest window, with the columns that the definition used.
    """
    old, new = _compared(before), _compared(now)
    added = [name for name in new["columns"] if name not in old["columns"]]
    for part in ("columns", "versions"):
        new[part] = {name: value for name, value in new[part].items() if name not in added}
    if not added or old != new or old["emit"] not in ("final", "arrival"):
        return False
    try:
        older, newer = definition_from(before), definition_from(now)
    except SlidefoldError:
        return False
    kind = schema_from(json.loads(before)["schema"]).field(older.on).type
    clock, _ = counted(older.on, pa.array([], kind))
    reaches = [reach_back(definition.windows, clock) for definition in (older, newer)]
    if reaches[0] is None or reaches[1] is None or reaches[1] > reaches[0]:
        return False
    return set(newer.used) <= set(older.used)


def require_same(before: str, now: str) -> None:
    """Refuse the state of another query, unless the new query only extends it (see `extends`)."""
    if digest(before) != digest(now) and not extends(before, now):
        raise StateError(
            "the checkpoint belongs to another definition, use a new one: "
            f"{differences(before, now)}"
        )


def definition_from(about: str) -> Rolling:
    """Return the definition of a description."""
    fields = json.loads(about)
    names = ("on", "by", "every", "offset", "order", "columns")
    return Rolling.from_dict({name: fields[name] for name in names if name in fields})


def _compared(about: str) -> Any:
    fields = json.loads(about)
    if isinstance(fields, dict):
        fields = {name: value for name, value in fields.items() if name not in ("schema", "result")}
    return fields


def _differ(path: str, before: Any, now: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict) and "operator" not in before:
        for name in dict.fromkeys((*before, *now)):
            inner = f"{path}.{name}" if path else name
            if name not in now:
                yield f"{inner} was {_shown(before[name])} and is removed"
            elif name not in before:
                yield f"{inner} is new: {_shown(now[name])}"
            else:
                yield from _differ(inner, before[name], now[name])
    elif before != now:
        yield f"{path} was {_shown(before)} and is {_shown(now)}"


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."
