"""The cases of tests/golden/semantics.json, as tables and definitions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

PATH = Path(__file__).parents[1] / "golden" / "semantics.json"


@dataclass(frozen=True)
class Case:
    """Input columns, a definition, and the columns that it must give."""

    name: str
    data: Any
    definition: dict[str, Any]
    expect: Any
    engines: tuple[str, ...] | None  # None: all of them

    def __str__(self) -> str:
        return self.name


def arrow_type(name: str) -> Any:
    """Return the Arrow type that is printed so."""
    inner = re.fullmatch(r"list<(.*)>", name)
    if inner:
        return pa.list_(arrow_type(inner[1]))
    decimal = re.fullmatch(r"decimal128\((\d+), (\d+)\)", name)
    if decimal:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    zoned = re.fullmatch(r"timestamp\[(\w+), tz=(.*)\]", name)
    if zoned:
        return pa.timestamp(zoned[1], zoned[2])
    return pa.type_for_alias(name)


def column(spelled: tuple[str, list[Any]]) -> Any:
    """Return a column from its type and values; strings are read as values of the type."""
    name, values = spelled
    kind = arrow_type(name)
    if any(isinstance(value, str) for value in values):
        texts = [None if value is None else str(value) for value in values]
        return pa.array(texts, pa.string()).cast(kind)
    return pa.array(values, kind)


def table(columns: dict[str, Any]) -> Any:
    """Return a table from columns as the file spells them."""
    return pa.table({name: column(spelled) for name, spelled in columns.items()})


def cases() -> list[Case]:
    """Return all cases of the file."""
    return [
        Case(
            case["name"],
            table(case["data"]),
            case["definition"],
            table(case["expect"]),
            tuple(case["engines"]) if "engines" in case else None,
        )
        for case in json.loads(PATH.read_text(encoding="utf-8"))
    ]


def equal(left: Any, right: Any) -> bool:
    """Tell whether two columns are equal: types, nulls, values, NaN being NaN; floats nearly."""
    if left.type != right.type or len(left) != len(right):
        return False
    return all(_same(a, b) for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-12 * max(abs(a), abs(b))
    return bool(a == b)
