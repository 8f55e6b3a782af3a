"""Punctuated windows: rows up to one that is marked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.calls import call
from slidefold.definition.windows.sorted_rows import Frames, Ints, SortedRows, run_ends, run_starts
from slidefold.errors import ValueTypeError, WindowError


@dataclass(frozen=True, repr=False)
class Punctuated(WindowKind):
    """The rows after the last marked one; a marked row is the last of its window."""

    column: str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise WindowError(f"punctuated needs the name of a column, got {self.column!r}")

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The input columns that the window looks at."""
        return (self.column,)

    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window so far, with the peers that are in it."""
        fresh = self._fresh(rows)
        return run_starts(fresh), np.minimum(rows.peers_end, run_ends(fresh))

    def wholes(self, rows: SortedRows) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the windows that were closed: first row, one past the last, start and end."""
        first = np.flatnonzero(self._fresh(rows))
        past = np.append(first[1:], len(rows)) if len(first) else first
        done = self._marked(rows)[past - 1]
        first, past = first[done], past[done]
        return first, past, rows.times[first], rows.times[past - 1]

    def _marked(self, rows: SortedRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        marks = rows.column(self.column)
        if not pa.types.is_boolean(marks.type):
            raise ValueTypeError(
                f"the column {self.column!r} of a punctuated window must be bool, got {marks.type}"
            )
        return marks.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]

    def _fresh(self, rows: SortedRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        fresh = rows.opens.copy()
        fresh[1:] |= self._marked(rows)[:-1]
        return fresh

    @property
    def over_spark(self) -> str:  # type: ignore[override]
        """Why Spark's OVER has no such window."""
        return f"Spark has no {self}"

    @property
    def unbounded(self) -> str:
        """Why the state of a stream may grow without a bound."""
        return "keeps the rows of each key since its last mark, and there may never be another"

    def retention(self) -> str:
        """Say what a window keeps."""
        return f"the rows since {self.column} was last true"

    def __repr__(self) -> str:
        return self.text(None)

    def text(self, default: str | None) -> str:
        """Return the window as it is typed."""
        return call("sf.punctuated", self.column)


def punctuated(column: str) -> Punctuated:
    """The rows up to this one since the last that `column`, of bools, marks.

    A marked row is the last of its window; null marks nothing. Rows of equal time are in the window
    too, up to one of them that is marked. With `every="window"` there is one
    result a marked row. For `sf.rolling`.

    >>> import slidefold as sf
    >>> print(sf.punctuated("landed"))
    sf.punctuated('landed')
    """
    return Punctuated(column)
