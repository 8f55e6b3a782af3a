"""Shorten a failing history by halving."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")


def shrunk(
    history: list[Any], fails: Callable[[list[Any]], bool], seconds: float = 30
) -> list[Any]:
    """Return a shorter history that still fails, found by halving.

    The same history is returned if it does not fail again. The lists in `bulk_insert` are shortened
    in the same way.
    """
    if not fails(history):
        return history
    deadline = time.monotonic() + seconds
    history = _halved(history, fails, deadline)
    for at, operation in enumerate(history):
        if operation[0] == "bulk_insert":
            rows = list(zip(*operation[1:], strict=True))
            put = partial(_with_bulk, history, at)
            history = put(_halved(rows, partial(_fails_with, fails, put), deadline))
    return history


def _with_bulk(history: list[Any], at: int, rows: list[Any]) -> list[Any]:
    """Return the history with these rows in the `bulk_insert` at an index."""
    bulk = ("bulk_insert", [row[0] for row in rows], [row[1] for row in rows])
    return [*history[:at], bulk, *history[at + 1 :]]


def _fails_with(fails: Callable[[T], bool], put: Callable[[U], T], rows: U) -> bool:
    return fails(put(rows))


def _halved(items: list[T], fails: Callable[[list[T]], bool], deadline: float) -> list[T]:
    """Remove halves, quarters, ... while the rest still fails."""
    size = len(items) // 2
    while size and time.monotonic() < deadline:
        at = 0
        while at < len(items) and time.monotonic() < deadline:
            fewer = items[:at] + items[at + size :]
            if fails(fewer):
                items = fewer
            else:
                at += size
        size //= 2
    return items
