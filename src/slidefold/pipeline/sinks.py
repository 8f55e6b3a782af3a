"""Write results to files: under a temporary name until they are complete."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from slidefold.errors import DataError


class Writer(Protocol):
    """Writes tables of one schema, one after another."""

    def write_table(self, table: Any) -> None:
        """Write the rows of a table."""

    def close(self) -> None:
        """Write buffered rows and close the file."""


class FileSink(AbstractContextManager["FileSink"]):
    """A file that appears when it is complete.

    Rows go to a hidden file in the same folder. At the end it is renamed; after an error, or if the
    process is stopped, it is removed. A file that a killed process left is never read as a result.
    """

    def __init__(self, path: Path, open_: Callable[[Path, Any], Writer], replace: bool) -> None:
        self.path, self.replace, self._open = path, replace, open_
        self.partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        self.rows = 0
        self._writer: Writer | None = None

    def write(self, table: Any) -> None:
        """Write the rows of a table; all tables must have the schema of the first."""
        try:
            if self._writer is None:
                self._writer = self._open(self.partial, table.schema)
            self._writer.write_table(table)
        except OSError as error:
            raise self._failed(error) from None
        self.rows += len(table)

    def _failed(self, error: OSError) -> DataError:
        return DataError(f"{str(self.path)!r} cannot be written: {error.strerror or error}")

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if self._writer is not None:
                writer, self._writer = self._writer, None
                writer.close()
                if kind is None:
                    self._appear()
        except OSError as error:
            raise self._failed(error) from None
        finally:
            self.partial.unlink(missing_ok=True)

    def _appear(self) -> None:
        with open(self.partial, "rb+") as written:
            os.fsync(written.fileno())
        if self.replace:
            os.replace(self.partial, self.path)
            return
        # A link, unlike a rename, fails if another process created the file during the run.
        try:
            os.link(self.partial, self.path)
        except FileExistsError:
            raise DataError(f"another process created {str(self.path)!r} during the run") from None
        except OSError:  # a file system without links
            os.replace(self.partial, self.path)


class _JsonLines:
    """Writes one object per line; values that JSON cannot express become strings, as in Spark."""

    def __init__(self, path: Path, _schema: Any) -> None:
        self.file = open(path, "w", encoding="utf-8", newline="\n")  # noqa: SIM115

    def write_table(self, table: Any) -> None:
        """Write the rows of a table."""
        for batch in table.to_batches(max_chunksize=10_000):
            self.file.writelines(f"{json_line(row)}\n" for row in batch.to_pylist())

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class _Lines(_JsonLines):
    """Writes the strings of a table's only column as lines."""

    def write_table(self, table: Any) -> None:
        """Write the rows of a table."""
        self.file.writelines(f"{line}\n" for line in table.column(0).to_pylist())


def json_line(row: Any) -> str:
    """Format a row as one line of JSON.

    >>> json_line({"t": datetime(2020, 1, 2), "x": float("nan"), "b": b"a", "y": [1.5, None]})
    '{"t": "2020-01-02T00:00:00", "x": "NaN", "b": "YQ==", "y": [1.5, null]}'
    """
    return json.dumps(_jsonable(row), ensure_ascii=False, allow_nan=False)


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _open_csv(path: Path, schema: Any) -> Writer:
    return pyarrow.csv.CSVWriter(str(path), schema)  # type: ignore[no-any-return]


def _open_parquet(path: Path, schema: Any) -> Writer:
    return pyarrow.parquet.ParquetWriter(str(path), schema)  # type: ignore[no-any-return]


OPENS: dict[str, Callable[[Path, Any], Writer]] = {
    "parquet": _open_parquet,
    "csv": _open_csv,
    "json": _JsonLines,
    "lines": _Lines,
}


def file_sink(path: Path, format: str, replace: bool) -> FileSink:
    """Return a sink that writes a format of `OPENS`."""
    return FileSink(path, OPENS[format], replace)


BAD_ROWS = pa.schema(
    [("file", pa.string()), ("line", pa.int64()), ("reason", pa.string()), ("text", pa.string())]
)
