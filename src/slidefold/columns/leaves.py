"""A definition's columns one operator at a time: structs taken apart, and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slidefold.columns.compute import Definition
from slidefold.operators import Operator
from slidefold.windows import WindowKind

Path = tuple[str, ...]


@dataclass(frozen=True)
class Leaf:
    """One operator over one window: a column, or a field of one."""

    path: Path
    operator: Operator
    window: WindowKind
    min_count: int | None
    algorithm: str | None


def leaves_of(definition: Definition) -> list[Leaf]:
    """Return the operators of a definition, those in structs one by one."""
    return [
        Leaf(path, operator, over.window, over.min_count, over.algorithm)
        for name, over in definition.columns.items()
        for path, operator in _parts((name,), over.operator)
    ]


def _parts(path: Path, operator: Operator) -> Iterator[tuple[Path, Operator]]:
    parts = getattr(operator, "parts", None)
    if parts is None:
        yield path, operator
        return
    for name, part in parts:
        yield from _parts((*path, name), part)


def columns_from(definition: Definition, found: Mapping[Path, Any]) -> dict[str, Any]:
    """Return the columns of a definition from those of its leaves."""
    return {
        name: whole_column(name, over.operator, found) for name, over in definition.columns.items()
    }


def whole_column(name: str, operator: Operator, found: Mapping[Path, Any]) -> Any:
    """Return one column of a definition from those of its leaves."""
    return _whole((name,), operator, found)


def _whole(path: Path, operator: Operator, found: Mapping[Path, Any]) -> Any:
    parts = getattr(operator, "parts", None)
    if parts is None:
        return found[path]
    arrays = [_whole((*path, name), part, found) for name, part in parts]
    return pa.StructArray.from_arrays(arrays, [name for name, _ in parts])
