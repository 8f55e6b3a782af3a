"""The values of `closed`, and a default that differs from an explicit "right"."""

from __future__ import annotations

CLOSED = ("right", "left", "both", "neither")


class _Unsaid(str):
    """A string that marks a default."""

    __slots__ = ()


# "right" as the default: with `every` in time, and for windows ahead, it means "left".
UNSAID: str = _Unsaid("right")
