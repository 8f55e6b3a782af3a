"""Progress reports of a run: silent by default; the command line prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class Progress:
    """A progress bar that is not shown."""

    def advance(self, by: int = 1) -> None:
        """Advance the bar."""

    def tell(self, text: str) -> None:
        """Change the text beside the bar."""


class Reporter:
    """Receives the reports of a run and prints nothing."""

    def step(self, event: str, text: str, **facts: Any) -> None:
        """Report a step of the run."""

    def say(self, event: str, text: str, style: str = "", **facts: Any) -> None:
        """Report a result."""

    def rows(self, names: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
        """Report a table of results."""

    @contextmanager
    def working(self, text: str, total: int | None = None) -> Iterator[Progress]:
        """Report the progress of a task."""
        yield Progress()
