"""Rows windows: the last n rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import index
from typing import Any

import numpy as np

from slidefold import _native
from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.calls import call, closing, written
from slidefold.definition.windows.clock import Clock
from slidefold.definition.windows.closed import UNSAID
from slidefold.definition.windows.sorted_rows import Asked, Frames, SortedRows
from slidefold.errors import WindowError
from slidefold.pictures import Extent


@dataclass(frozen=True, repr=False)
class Rows(WindowKind):
    """The last `n` rows; with `closed="left"`, the n rows before the current one."""

    n: int
    closed: str = "right"
    # False if the user has not set `closed`: with `every` in time it then becomes "left".
    settled: bool = field(default=True, compare=False)

    live = True
    over_spark = "rows windows need an order of rows with equal time, which Spark does not keep"

    def __post_init__(self) -> None:
        try:
            n = index(self.n)
        except TypeError:
            raise WindowError(f"rows needs an integer n >= 1, got {self.n!r}") from None
        if isinstance(self.n, bool) or n < 1:
            raise WindowError(f"rows needs n >= 1, got {self.n!r}")
        if n >= 2**62:
            raise WindowError("rows needs n < 2**62, got a larger number")
        object.__setattr__(self, "n", n)
        if self.closed not in ("right", "left"):
            raise WindowError(
                f"closed of a rows window must be 'right' or 'left', got {self.closed!r}"
            )

    def rule(self) -> dict[str, Any]:
        """Return the window as the plain values that the native core takes."""
        return {"timed": False, "rows": self.n, "keeps_end": self.closed == "right"}

    def engine_rule(self, clock: Clock, schema: Any) -> dict[str, Any]:
        """Return the window as plain values for the engine of arrival order."""
        return {"kind": "rows", "most": self.n, "with_row": self.closed == "right"}

    def extent(self) -> Extent:
        """Return where the window lies, for its picture: from its first row to its last."""
        last = int(self.closed == "left")
        return Extent("rows", last + self.n - 1, last, keeps_start=True, note=self.text("right"))

    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window: the last n rows, or the n rows before the current one."""
        return _native.rows_frames(rows.starts, rows.times, self.n, self.closed == "right")

    def asked_frames(self, rows: SortedRows, asked: Asked) -> Frames:
        """Return the last n rows up to the time of each question, or before it."""
        hi = asked.until(rows, before=self.closed == "left")
        return np.maximum(hi - self.n, asked.starts(rows)), hi

    @property
    def last_rows(self) -> int:  # type: ignore[override]
        """The number of rows."""
        return self.n

    @property
    def rows_before(self) -> int:
        """How many rows before the current row it starts."""
        return self.n - (self.closed == "right")

    def closing(self, closed: str) -> Rows:
        """Return the window with this `closed`."""
        return replace(self, closed=closed, settled=True)

    def retention(self) -> str:
        """Describe the rows that the window keeps."""
        return f"at most {self.n} rows"

    @property
    def unbounded(self) -> str:
        """Why the state of a stream may grow without bound."""
        return "keeps the last rows of each key forever, so state grows with the number of keys"

    def argument(self, default: str | None) -> tuple[str, dict[str, str]]:
        """Return the source code inside `over(...)`."""
        return written(self.n), closing(self.closed, default)

    def in_file(self, default: str) -> tuple[Any, str | None]:
        """Return the short form for a file, and `closed` if needed."""
        return self.n, None if self.closed == default else self.closed

    @property
    def suffix(self) -> str:
        """The suffix of a column's name in a list of windows."""
        return str(self.n)

    def __repr__(self) -> str:
        return self.text(None if self.settled else "right")

    def text(self, default: str | None) -> str:
        """Return the window as source code, without `closed` if it equals the default."""
        return call("sf.rows", self.n, **closing(self.closed, default))


@dataclass(frozen=True, repr=False)
class RowsBefore(Rows):
    """The n rows before the current one; a question is not a row, so all of them are before it."""

    def asked_frames(self, rows: SortedRows, asked: Asked) -> Frames:
        """Return the last n rows up to the time of each question."""
        return Rows(self.n, "right").asked_frames(rows, asked)

    def engine_rule(self, clock: Clock, schema: Any) -> dict[str, Any]:
        """Return the window as plain values for the engine of arrival order."""
        return {**super().engine_rule(clock, schema), "asks_with": True}


def rows(n: int, *, closed: str = UNSAID) -> Rows:
    """Select the last `n` rows, including the current one; `closed="left"` excludes it.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.sum(), sf.rows(2, closed="left"))
    >>> [w.push(x) for x in (1.0, 2.0, 4.0, 8.0)]
    [None, 1.0, 3.0, 6.0]
    """
    given = closed is not UNSAID
    return Rows(n, closed if given else "right", settled=given)
