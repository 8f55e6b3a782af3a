"""How far a run is: a bar with rich on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
from time import perf_counter
from types import TracebackType
from typing import Any, Self


def remaining(elapsed: float, done: float) -> str:
    """Return the time that is left, from the share that is done.

    >>> remaining(60.0, 0.5), remaining(10.0, 0.0), remaining(3600.0, 0.4)
    ('60 s left', 'time left unknown', '90 min left')
    """
    if done <= 0:
        return "time left unknown"
    seconds = elapsed * (1 - done) / done
    return f"{seconds:.0f} s left" if seconds < 120 else f"{seconds / 60:.0f} min left"


class Progress:
    """Shows which figure runs, the share of cells that are done, and the time that is left."""

    def __init__(self, figures: int) -> None:
        self.figures = figures
        self._start = perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import BarColumn, Progress, TextColumn
            except ImportError:
                return self
            words = TextColumn("{task.description}")
            self._bar = Progress(
                words, BarColumn(), TextColumn("{task.percentage:.0f}% {task.fields[left]}"),
                console=Console(stderr=True),
            )  # fmt: skip
            self._bar.start()
            self._task = self._bar.add_task("starting", total=1.0, left="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, figure: str, number: int, cells: tuple[int, int]) -> None:
        """Show that `cells[0]` of `cells[1]` cells of a figure are done; `number` is its place."""
        share = (number + cells[0] / max(cells[1], 1)) / max(self.figures, 1)
        left = remaining(perf_counter() - self._start, share)
        if self._bar is not None:
            self._bar.update(self._task, completed=share, description=figure, left=left)
        elif cells[0] in (0, cells[1]):
            print(f"{figure}: {cells[0]} of {cells[1]} cells, {share:.0%}, {left}", flush=True)
