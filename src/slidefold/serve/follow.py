"""Follow the files of a source: take their rows, and those of files that come later.

Text files may grow all the time: whole lines at their end are taken at each look. Other files are
taken when their size no longer changes.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from slidefold.errors import SlidefoldError
from slidefold.pipeline.broken import BadRow, never_closed
from slidefold.pipeline.file import Pipeline
from slidefold.pipeline.sources import Parse, files_of, read_file
from slidefold.serve.service import BusyServiceError, DiskError, Service
from slidefold.serve.state import Reading

_SECONDS = 1.0  # between two looks at the folder
_ROWS = 50_000  # rows that are handed over at once
_BLOCK = 32 << 20  # bytes of a text file that are read at once
_FINISHED = 60.0  # seconds without a change, after which a line without a line break is whole


def follow(pipeline: Pipeline, service: Service, stop: threading.Event) -> threading.Thread:
    """Take the rows that are there now; then go on in a thread until `stop` is set."""
    follower = _Follower(pipeline, service, stop)
    follower.look(settled=True)
    thread = threading.Thread(target=follower.run, name="slidefold-follower", daemon=True)
    thread.start()
    return thread


class _Follower:
    """Remembers which files were read, and how large they were at the last look."""

    def __init__(self, pipeline: Pipeline, service: Service, stop: threading.Event) -> None:
        self.pipeline, self.service, self.stop = pipeline, service, stop
        self.sizes: dict[str, int] = {}
        self.broken: dict[str, int] = {}  # the size of files that could not be read
        self.reason = ""  # why the last look failed
        path = Path(str(pipeline.source.path))
        self.base = path if path.is_dir() else path.parent

    def run(self) -> None:
        while not self.stop.wait(_SECONDS):
            try:
                self.look()
                self.reason = ""
            except (SlidefoldError, OSError) as error:
                if str(error) != self.reason:  # once, not at every look
                    self.reason = str(error)
                    self._refuse(str(error))

    def look(self, *, settled: bool = False) -> None:
        """Read new files and new rows of files that grew."""
        for file in files_of(self.pipeline.source):
            name, size = file.relative_to(self.base).as_posix(), file.stat().st_size
            if self.broken.get(name) == size:
                continue
            try:
                if self.pipeline.source.format in ("csv", "json") and file.suffix != ".gz":
                    self._read_text(file, name, size)
                elif settled or self.sizes.get(name) == size:
                    self._read_whole(file, name, size)
                self.sizes[name] = size
            except DiskError:
                raise  # the rows were not taken: look again later
            except SlidefoldError as error:
                self.broken[name] = size
                self._refuse(str(error))

    def _read_whole(self, file: Path, name: str, size: int) -> None:
        rows, read = self.service.state.files.get(name, (0, -1))
        if read != size:
            table = read_file(self.pipeline.source, file, self.pipeline.schema, self._broken)
            end = Reading(name, len(table), size)
            self._take(table.slice(rows), Reading(name, rows, -1), end)

    def _read_text(self, file: Path, name: str, size: int) -> None:
        """Take the lines that are whole; the bytes before them were taken."""
        parse = Parse(self.pipeline.source, self.pipeline.schema)
        while True:
            rows, start = self.service.state.files.get(name, (0, 0))
            if start > size:
                self.broken[name] = size
                self._refuse(f"the file {name!r} became shorter, so it is not followed any more")
                return
            text = self._lines(file, start)
            if not text:
                return
            header = b"" if start == 0 else self._header(file)
            table, bad = parse(str(file), header + text)
            if bad:
                before = _count_lines(file, start) - header.count(b"\n")
                for row in bad:
                    line = None if row.line is None else row.line + before
                    self._broken(replace(row, line=line))
            end = Reading(name, 0, start + len(text))
            self._take(table.slice(rows), Reading(name, rows, start), end)

    def _lines(self, file: Path, start: int) -> bytes:
        """Return the next whole lines of a file."""
        finished = time.time() - file.stat().st_mtime > _FINISHED
        with file.open("rb") as opened:
            opened.seek(start)
            text = opened.read(_BLOCK)
            while (end := self._end(text)) == 0 and (more := opened.read(_BLOCK)):
                text += more  # a line that is longer than a block
            if finished and not opened.read(1):
                return text
        return text[:end]

    def _end(self, text: bytes) -> int:
        """Return where the last whole line ends; a line break in quotes does not end a line."""
        end = text.rfind(b"\n") + 1
        if self.pipeline.source.format == "csv":
            delimiter = self.pipeline.source.delimiter.encode()
            for _ in range(20):  # a quoted value has no more lines than this: it is a broken one
                if end == 0 or not never_closed(text[:end], delimiter):
                    break
                end = text.rfind(b"\n", 0, end - 1) + 1
        return end

    def _header(self, file: Path) -> bytes:
        """Return the names of the columns, which are the first line of a CSV file."""
        if self.pipeline.source.format != "csv" or self.pipeline.source.names:
            return b""
        with file.open("rb") as opened:
            return opened.readline()

    def _take(self, table: Any, start: Reading, end: Reading) -> None:
        for first in range(0, max(len(table), 1), _ROWS):
            part = table.slice(first, _ROWS)
            until = first + len(part)
            at = Reading(start.file, start.rows + first, start.size)
            then = Reading(start.file, start.rows + until, start.size)
            while True:
                try:
                    done = self.service.follow(part, at, end if until == len(table) else then)
                    break
                except BusyServiceError:
                    if self.stop.wait(0.05):  # the service takes no more, now or later
                        raise
            error = done.exception()
            if isinstance(error, DiskError):
                raise error
            # What the engine refused is counted there.

    def _broken(self, row: BadRow) -> None:
        self._refuse(str(row))

    def _refuse(self, reason: str) -> None:
        self.service.counts["broken"] += 1
        self.service.latest.appendleft({"reason": reason, "rows": []})


def _count_lines(file: Path, end: int) -> int:
    """Return the number of lines in the first bytes of a file."""
    count = 0
    with file.open("rb") as opened:
        while end > 0 and (text := opened.read(min(end, _BLOCK))):
            count += text.count(b"\n")
            end -= len(text)
    return count
