"""The output of commands: progress on a terminal, plain lines elsewhere, or JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from slidefold.pipeline import reporting
from slidefold.pipeline.reporting import Reporter
from slidefold.pipeline.sinks import json_line


class Output(Reporter):
    """Prints results to stdout, progress and errors to stderr; JSON all to stdout."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.results = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
        self.progress = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())

    def step(self, event: str, text: str, **facts: Any) -> None:
        """Print a step of the run."""
        if self.as_json:
            self._object(event, facts)
        else:
            self.progress.print(Text(text, "dim" if self.progress.is_terminal else ""))

    def say(self, event: str, text: str, style: str = "", **facts: Any) -> None:
        """Print a result."""
        if self.as_json:
            self._object(event, facts)
        else:
            self.results.print(Text(text, style))

    def error(self, text: str, **facts: Any) -> None:
        """Print an error."""
        if self.as_json:
            self._object("error", {"message": text, **facts})
        else:
            self.progress.print(Text(text, "red" if self.progress.is_terminal else ""))

    def rows(self, names: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
        """Print a table of results; as JSON, one object per row."""
        if self.as_json:
            for row in rows:
                self._object("row", dict(zip(names, row, strict=True)))
            return
        numeric = [
            any(isinstance(row[i], int | float) and not isinstance(row[i], bool) for row in rows)
            for i in range(len(names))
        ]
        if self.results.is_terminal:
            table = Table(title=title or None, title_justify="left", box=None, header_style="bold")
            for name, number in zip(names, numeric, strict=True):
                table.add_column(name, justify="right" if number else "left", overflow="fold")
            for row in rows:
                table.add_row(*(Text(shown(value)) for value in row))
            self.results.print(table)
            return
        if title:
            self.results.print(Text(title))
        lines = [list(names), *([shown(value) for value in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = (
                text.rjust(width) if number else text.ljust(width)
                for text, width, number in zip(line, widths, numeric, strict=True)
            )
            self.results.print(Text("  ".join(cells).rstrip()))

    @contextmanager
    def working(self, text: str, total: int | None = None) -> Iterator[reporting.Progress]:
        """Show progress: a bar on a terminal, nothing elsewhere."""
        if self.as_json or not self.progress.is_terminal:
            yield reporting.Progress()
            return
        counted = (BarColumn(), MofNCompleteColumn()) if total is not None else ()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), *counted, TimeElapsedColumn())
        with Progress(*columns, console=self.progress, transient=True) as bar:
            yield _Bar(bar, bar.add_task(text, total=total))

    def _object(self, event: str, facts: dict[str, Any]) -> None:
        print(json_line({"event": event, **facts}), flush=True)


class _Bar(reporting.Progress):
    """A progress bar on a terminal."""

    def __init__(self, bar: Progress, task: Any) -> None:
        self.bar, self.task = bar, task

    def advance(self, by: int = 1) -> None:
        """Advance the bar."""
        self.bar.advance(self.task, by)

    def tell(self, text: str) -> None:
        """Change the text beside the bar."""
        self.bar.update(self.task, description=text)


def shown(value: Any) -> str:
    """Format the value of a cell: floats with six digits, null as an empty string.

    >>> shown(1234.5678), shown(1234567), shown(None), shown(["a", 1])
    ('1234.57', '1234567', '', '["a", 1]')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | dict):
        return json_line(value)
    return str(value)
