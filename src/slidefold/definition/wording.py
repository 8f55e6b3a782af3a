"""Helpers for error messages about definitions: short values, nesting depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEEP = 100  # levels of nesting, far more than any definition or pipeline file needs


def is_deep(value: Any) -> bool:
    """Tell whether a value is nested too deep for recursion, or contains itself."""
    level = [value]
    for _ in range(DEEP):
        contents = [item.values() if isinstance(item, Mapping) else item for item in level]
        below = {id(item): item for items in contents for item in items if _is_container(item)}
        level = list(below.values())
    return bool(level)


def _is_container(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple)


def short(value: Any) -> str:
    """Return a value's repr for a message, cut to 100 characters."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
