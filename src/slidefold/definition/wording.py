"""What messages about definitions have in common: short values, nesting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEEP = 100  # levels of nesting, far more than any definition or pipeline file has


def is_deep(value: Any) -> bool:
    """Tell whether values are nested too deep to be looked at by recursion, or without end."""
    level = [value]
    for _ in range(DEEP):
        inner = [each.values() if isinstance(each, Mapping) else each for each in level]
        below = {id(each): each for held in inner for each in held if _holds(each)}
        level = list(below.values())
    return bool(level)


def _holds(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple)


def short(value: Any) -> str:
    """A value in a message: as Python writes it, but no more than a line of it."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
