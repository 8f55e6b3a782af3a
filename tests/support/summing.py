"""A class with declared fields that sums, for tests that break one of its functions."""

from __future__ import annotations

from typing import Any

import slidefold as sf


def summing(**changes: Any) -> type:
    """A class that sums, with other functions in place of its own."""
    functions = {
        "lift": lambda x: (1, x),
        "combine": lambda older, newer: (older.n + newer.n, older.sum + newer.sum),
        "lower": lambda state: state.sum,
        **changes,
    }
    return type("Summing", (), {name: staticmethod(f) for name, f in functions.items()})


STATE = {"n": "i8", "sum": "f8"}


def made(cls: type | None = None, **options: Any) -> Any:
    return sf.operator(**{"state": STATE, "returns": "f8", **options})(cls or summing())()
