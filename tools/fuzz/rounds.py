"""What a round reports."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    """What went wrong, and how to see it again."""

    told: str
    shown: str


@dataclass(frozen=True)
class Round:
    """How much was done, of what, and whether it failed."""

    count: int
    about: dict[str, str] = field(default_factory=dict)
    failure: Failure | None = None
