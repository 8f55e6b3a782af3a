"""Which ends of a window are closed, and how a default is told from what was said."""

from __future__ import annotations

CLOSED = ("right", "left", "both", "neither")


class _Unsaid(str):
    """A string that is known to be a default."""

    __slots__ = ()


# "right" where nobody said so: with `every` in time it means "left".
UNSAID: str = _Unsaid("right")
