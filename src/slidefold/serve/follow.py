"""Follow the files of a source: take their rows, and those of files that come later."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from slidefold.errors import SlidefoldError
from slidefold.pipeline.file import Pipeline
from slidefold.pipeline.sources import files_of, read_file
from slidefold.serve.service import BusyServiceError, Service

_SECONDS = 1.0  # between two looks at the folder
_ROWS = 50_000  # rows that are handed over at once


def follow(pipeline: Pipeline, service: Service, stop: threading.Event) -> None:
    """Take the rows that are there now; then go on in a thread until `stop` is set."""
    follower = _Follower(pipeline, service)
    follower.look(settled=True)
    threading.Thread(
        target=follower.run, args=(stop,), name="slidefold-follower", daemon=True
    ).start()


class _Follower:
    """Remembers which files were read, and how large they were at the last look."""

    def __init__(self, pipeline: Pipeline, service: Service) -> None:
        self.pipeline, self.service = pipeline, service
        self.sizes: dict[str, int] = {}
        self.broken: dict[str, int] = {}  # the size of files that could not be read
        path = Path(str(pipeline.source.path))
        self.base = path if path.is_dir() else path.parent

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(_SECONDS):
            try:
                self.look()
            except (SlidefoldError, OSError) as error:
                self._refuse(str(error))

    def look(self, *, settled: bool = False) -> None:
        """Read new files and new rows of files that grew; skip those that still change."""
        for file in files_of(self.pipeline.source):
            name, size = file.relative_to(self.base).as_posix(), file.stat().st_size
            still = settled or self.sizes.get(name) == size
            self.sizes[name] = size
            rows, read = self.service.state.files.get(name, (0, -1))
            if not still or read == size or self.broken.get(name) == size:
                continue
            try:
                table = read_file(self.pipeline.source, file, self.pipeline.schema, self._broken)
            except SlidefoldError as error:
                self.broken[name] = size
                self._refuse(str(error))
                continue
            self._take(table.slice(rows), name, rows, size)

    def _take(self, table: Any, name: str, rows: int, size: int) -> None:
        for first in range(0, max(len(table), 1), _ROWS):
            part = table.slice(first, _ROWS)
            last = first + len(part) == len(table)
            while True:
                try:
                    done = self.service.follow(part, name, rows + first, size if last else -1)
                    break
                except BusyServiceError:
                    time.sleep(0.05)
            done.exception()  # wait; what the engine refused is counted there

    def _broken(self, row: Any) -> None:
        self._refuse(str(row))

    def _refuse(self, reason: str) -> None:
        self.service.counts["broken"] += 1
        self.service.latest.appendleft({"reason": reason, "rows": []})
