"""How far a run is: a bar with rich on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from types import TracebackType
from typing import Any, Self


def remaining(elapsed: float, done: float, left: float) -> str:
    """Return the time that is left, from the work that this run has done and that is left.

    >>> remaining(60.0, 1.0, 1.0), remaining(10.0, 0.0, 3.0), remaining(3600.0, 2.0, 3.0)
    ('60 s left', 'time left unknown', '90 min left')
    """
    if done <= 0:
        return "time left unknown"
    seconds = elapsed * left / done
    return f"{seconds:.0f} s left" if seconds < 120 else f"{seconds / 60:.0f} min left"


class Progress:
    """Shows which figure runs, the share of the work that is done, and the time that is left.

    `work` says how long each figure takes, in any unit. Cells that an earlier run has measured are
    done, but say nothing about the speed of this one.
    """

    def __init__(self, work: Mapping[str, float]) -> None:
        self._work = dict(work)
        self._done = dict.fromkeys(work, 0.0)  # the share of each figure
        self._before: dict[str, float] = {}
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

    def show(self, figure: str, cells: tuple[int, int]) -> None:
        """Show that `cells[0]` of `cells[1]` cells of a figure are done."""
        self._done[figure] = cells[0] / max(cells[1], 1)
        self._before.setdefault(figure, self._done[figure])
        total = sum(self._work.values()) or 1.0
        done = sum(self._work[name] * part for name, part in self._done.items())
        before = sum(self._work[name] * part for name, part in self._before.items())
        left = remaining(perf_counter() - self._start, done - before, total - done)
        if self._bar is not None:
            self._bar.update(self._task, completed=done / total, description=figure, left=left)
        elif cells[0] in (0, cells[1]):
            words = f"{cells[0]} of {cells[1]} cells, {done / total:.0%}, {left}"
            print(f"{figure}: {words}", flush=True)
