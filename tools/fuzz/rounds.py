"""The report of a round."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    """What went wrong, and how to reproduce it."""

    message: str
    shown: str


@dataclass(frozen=True)
class Round:
    """The number of cases, what they tested, and the failure if there is one."""

    count: int
    about: dict[str, str] = field(default_factory=dict)
    failure: Failure | None = None
