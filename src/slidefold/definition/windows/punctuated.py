"""Punctuated windows: a marked row ends each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.calls import call
from slidefold.definition.windows.clock import Clock
from slidefold.definition.windows.sorted_rows import (
    Asked,
    Frames,
    Ints,
    SortedRows,
    run_ends,
    run_starts,
)
from slidefold.errors import ValueTypeError, WindowError


@dataclass(frozen=True, repr=False)
class Punctuated(WindowKind):
    """The rows after the last marked row; a marked row is the last row of its window."""

    column: str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise WindowError(f"punctuated expects the name of a column, got {self.column!r}")

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The input columns that the window reads."""
        return (self.column,)

    def engine_rule(self, clock: Clock, schema: Any) -> dict[str, Any]:
        """Return the window as plain values for the engine of arrival order."""
        return {"kind": "mark", "walks": self.column}

    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window so far, including its peers up to a marked one."""
        fresh = self._fresh(rows)
        return run_starts(fresh), np.minimum(rows.peers_end, run_ends(fresh))

    def asked_frames(self, rows: SortedRows, asked: Asked) -> Frames:
        """Return the rows since the last mark, at the time of each question."""
        hi = asked.until(rows)
        if len(rows) == 0:
            return hi, hi
        last = np.maximum(hi - 1, 0)
        open_ = (hi > asked.starts(rows)) & ~self._marked(rows)[last]
        return np.where(open_, run_starts(self._fresh(rows))[last], hi), hi

    def wholes(self, rows: SortedRows) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the closed windows: first row, one past the last row, start and end time."""
        first = np.flatnonzero(self._fresh(rows))
        past = np.append(first[1:], len(rows)) if len(first) else first
        done = self._marked(rows)[past - 1]
        first, past = first[done], past[done]
        return first, past, rows.times[first], rows.times[past - 1]

    def _marked(self, rows: SortedRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        marks = rows.column(self.column)
        if not pa.types.is_boolean(marks.type):
            raise ValueTypeError(
                f"the column {self.column!r} of a punctuated window must hold bools, got "
                f"{marks.type}"
            )
        return marks.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]

    def _fresh(self, rows: SortedRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        fresh = rows.opens.copy()
        fresh[1:] |= self._marked(rows)[:-1]
        return fresh

    @property
    def over_spark(self) -> str:  # type: ignore[override]
        """Why Spark's OVER does not support the window."""
        return f"Spark does not support {self}"

    @property
    def unbounded(self) -> str:
        """Why the state of a stream may grow without bound."""
        return "keeps the rows of each key since its last mark, and the next mark may never come"

    def retention(self) -> str:
        """Describe the rows that the window keeps."""
        return f"the rows since {self.column} was last true"

    def __repr__(self) -> str:
        return self.text(None)

    def text(self, default: str | None) -> str:
        """Return the window as source code."""
        return call("sf.punctuated", self.column)


def punctuated(column: str) -> Punctuated:
    """Select the rows since the last row where `column` is true, up to the current row.

    `column` holds bools; null counts as false. A marked row is the last row of its window. Rows of
    equal time are in the window too, up to the first marked one. With `every="window"` there is one
    result per marked row. For `sf.rolling`.

    >>> import slidefold as sf
    >>> print(sf.punctuated("landed"))
    sf.punctuated('landed')
    """
    return Punctuated(column)
