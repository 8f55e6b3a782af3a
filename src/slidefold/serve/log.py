"""A write-ahead log: records with a number and a checksum, in files of a bounded size.

A record is its length, its checksum, its number and its bytes. A file is named by the number of its
first record. After a crash the last file may end in the middle of a record: it is cut there. Damage
anywhere else is an error, because records behind it were acknowledged.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from slidefold.errors import StateError

_HEAD = struct.Struct("<IIQ")  # the length of the bytes, the checksum, the number
_NAME = re.compile(r"events-(\d{20})\.log")
FILE_BYTES = 64 << 20
_LARGEST = 1 << 31


class Log:
    """Records on disk, in order."""

    def __init__(self, folder: Path) -> None:
        """Open the log in a folder; `recover` reads what is there before anything is appended."""
        self.folder = folder
        self.next = 1  # the number of the next record
        self._file: int | None = None
        self._size = 0

    # ---- reading

    def recover(self, after: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records with larger numbers than `after`, and cut what a crash left behind.

        Raise `StateError` if a record before the last one is damaged or missing.
        """
        files = self._files()
        expected = None
        for place, (first, path) in enumerate(files):
            last = place == len(files) - 1
            if expected is not None and first != expected:
                raise StateError(f"the log lacks the records {expected} to {first - 1}")
            if expected is None and first > after + 1:
                raise StateError(f"the log lacks the records {after + 1} to {first - 1}")
            whole = 0  # where the last whole record ends
            expected = first
            for number, data, end in self._records(path, first, cut=last):
                expected, whole = number + 1, end
                if number > after:
                    yield number, data
            if last:
                self._continue(path, whole)
        self.next = max(after + 1, expected or 1)

    def read(self, after: int, until: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records from behind `after` up to `until`, while others may be appended."""
        for place, (first, path) in enumerate(files := self._files()):
            if first > until or (place + 1 < len(files) and files[place + 1][0] <= after + 1):
                continue
            for number, data, _ in self._records(path, first, until=until):
                if number > after:
                    yield number, data

    @property
    def first(self) -> int | None:
        """The number of the oldest record that may still be there."""
        files = self._files()
        return files[0][0] if files else None

    def _records(
        self, path: Path, first: int, *, cut: bool = False, until: int = 2**64
    ) -> Iterator[tuple[int, bytes, int]]:
        """Yield the records of a file with the place behind each."""
        content = path.read_bytes()
        at, expected = 0, first
        while at < len(content) and expected <= until:
            found = _record(content, at)
            if found is None or found[0] != expected:
                rest = content[at:]
                if cut and _is_torn(rest, expected):
                    return
                raise StateError(
                    f"the log file {path.name!r} is damaged at byte {at}: restore it from a copy"
                )
            number, data, at = found
            expected += 1
            yield number, data, at

    def _continue(self, path: Path, end: int) -> None:
        """Go on behind the last whole record of a file."""
        self._file = os.open(path, os.O_RDWR)
        if os.fstat(self._file).st_size != end:
            os.ftruncate(self._file, end)
            os.fsync(self._file)
        os.lseek(self._file, end, os.SEEK_SET)
        self._size = end

    def _files(self) -> list[tuple[int, Path]]:
        found = []
        for path in self.folder.iterdir():
            match = _NAME.fullmatch(path.name)
            if match is not None:
                found.append((int(match[1]), path))
        return sorted(found)

    # ---- writing

    def append(self, records: list[bytes]) -> int:
        """Write records and wait until they are on disk; return the number of the last one.

        If this raises, none of them is in the log.
        """
        if self._file is None or self._size >= FILE_BYTES:
            self._start()
        assert self._file is not None
        parts = []
        for offset, data in enumerate(records):
            number = self.next + offset
            check = zlib.crc32(data, zlib.crc32(number.to_bytes(8, "little")))
            parts += [_HEAD.pack(len(data), check, number), data]
        written = b"".join(parts)
        try:
            view = memoryview(written)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        except OSError:
            # The part of them that was written must not be read later.
            os.ftruncate(self._file, self._size)
            os.lseek(self._file, self._size, os.SEEK_SET)
            raise
        self._size += len(written)
        self.next += len(records)
        return self.next - 1

    def _start(self) -> None:
        path = self.folder / f"events-{self.next:020d}.log"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        _sync_folder(self.folder)
        if self._file is not None:
            os.close(self._file)
        self._file, self._size = file, 0

    def drop(self, until: int) -> None:
        """Remove the files whose records all have numbers up to `until`."""
        files = self._files()
        for (_, path), (following, _) in pairwise(files):
            if following <= until + 1:
                path.unlink()

    @property
    def nbytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for _, path in self._files())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _record(content: bytes, at: int) -> tuple[int, bytes, int] | None:
    """Return the record at a place with the place behind it; None if it is not whole."""
    if at + _HEAD.size > len(content):
        return None
    length, check, number = _HEAD.unpack_from(content, at)
    end = at + _HEAD.size + length
    if length > _LARGEST or end > len(content):
        return None
    data = content[at + _HEAD.size : end]
    if zlib.crc32(data, zlib.crc32(number.to_bytes(8, "little"))) != check:
        return None
    return number, data, end


def _is_torn(rest: bytes, expected: int) -> bool:
    """Tell whether the end of a file is what a crash leaves: no whole record follows in it."""
    wanted = range(expected, expected + 1 + len(rest) // _HEAD.size)
    for at in range(1, len(rest) - _HEAD.size + 1):
        number = int.from_bytes(rest[at + 8 : at + 16], "little")
        if number in wanted and _record(rest, at) is not None:
            return False
    return True


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that after a crash it is there as a whole, or not at all."""
    partial = path.with_suffix(".partial")
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    finally:
        os.close(file)
    os.replace(partial, path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
