"""Bound the memory of a worker that gets more rows than were estimated, or a few large keys.

Rows come in one partition, whole keys but in any order. If they take more than a worker should
hold, they go to files by a hash of their keys, and each file is folded by itself. This module does
not depend on Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidefold.buffers import as_arrow
from slidefold.columns.grouping import group_numbers
from slidefold.spark.segments import key_tuples

# Twice what a partition should have. A fold takes about six times the bytes of its rows.
HELD_BYTES = 128 << 20
FILES = 16


def by_parts(batches: Iterator[Any], by: Sequence[str], limit: int = HELD_BYTES) -> Iterator[Any]:
    """Yield all rows as tables of whole keys; it is one table if it has at most `limit` bytes."""
    held = _gathered(batches, limit if by else None)
    more = next(batches, None) if by and held is not None else None
    if more is None:
        if held is not None:
            yield held
        return
    with TemporaryDirectory(prefix="slidefold-", dir=_folder()) as folder:
        files = [Path(folder) / str(number) for number in range(FILES)]
        with ExitStack() as opened:
            writers = [
                opened.enter_context(pa.ipc.new_stream(str(file), held.schema)) for file in files
            ]
            _write(held, by, writers)
            _write(pa.Table.from_batches([more]), by, writers)
            while (held := _gathered(batches, limit)) is not None:
                _write(held, by, writers)
        pa.default_memory_pool().release_unused()  # a fold needs the room
        for file in files:
            with pa.OSFile(str(file)) as source:
                table = pa.ipc.open_stream(source).read_all()
            if len(table):
                yield table
            del table  # before the next one is read


def _gathered(batches: Iterator[Any], limit: int | None) -> Any:
    """Return the next batches as a table, up to a number of bytes; None if there are none."""
    found: list[Any] = []
    size = 0
    for batch in batches:
        found.append(batch)
        size += batch.nbytes
        if limit is not None and size > limit:
            break
    return pa.Table.from_batches(found) if found else None


def _write(table: Any, by: Sequence[str], writers: Sequence[Any]) -> None:
    """Append each row to the file of its key."""
    if not len(table):
        return
    numbers = _file_numbers(table, by)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(writers))).tolist()
    ordered, start = table.take(as_arrow(order)), 0
    for writer, end in zip(writers, ends, strict=True):
        if end > start:
            writer.write_table(ordered.slice(start, end - start))
        start = end


def _file_numbers(table: Any, by: Sequence[str]) -> npt.NDArray[np.int64]:
    codes, _ = group_numbers(table, by)
    assert codes is not None
    _, first = np.unique(codes, return_index=True)
    hashes = [hash(key) % FILES for key in key_tuples(table, by, first)]
    numbers: npt.NDArray[np.int64] = np.array(hashes, np.int64)[codes]
    return numbers


def _folder() -> str | None:
    """Return the folder that Spark gives to workers for such files; None for the system's."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return next((folder for folder in folders if folder and Path(folder).is_dir()), None)
