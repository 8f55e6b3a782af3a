"""How a run tells what it does: nothing by default; the command line shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class Progress:
    """A bar that moves; this one is not shown."""

    def advance(self, by: int = 1) -> None:
        """Move on."""

    def tell(self, text: str) -> None:
        """Change what is said beside the bar."""


class Reporter:
    """Takes what a run says, and says nothing."""

    def step(self, event: str, text: str, **facts: Any) -> None:
        """Say what is going on."""

    def say(self, event: str, text: str, style: str = "", **facts: Any) -> None:
        """Say a result."""

    def rows(self, names: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
        """Show a table of results."""

    @contextmanager
    def working(self, text: str, total: int | None = None) -> Iterator[Progress]:
        """Show that something is being done."""
        yield Progress()
