"""Lifetime windows: all rows of a key so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
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

_LONGEST = 2**63 - 1


@dataclass(frozen=True, repr=False)
class Lifetime(WindowKind):
    """All rows up to the current time; with `closed="left"`, those before it."""

    closed: str = "right"
    # False if the user has not set `closed`: with `every` in time it then becomes "left".
    settled: bool = field(default=True, compare=False)

    forever = True
    orders_peers = False
    unbounded = "keeps one state per key forever, so state grows with the number of keys"
    over_spark = "lifetime windows keep states, which Spark does not"

    def __post_init__(self) -> None:
        if self.closed not in ("right", "left"):
            raise WindowError(
                f"closed of a lifetime window must be 'right' or 'left', got {self.closed!r}"
            )

    def extent(self) -> Extent:
        """Return where the window lies, for its picture."""
        return Extent("time", math.inf, 0, keeps_end=self.closed == "right", note=self.text(None))

    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window; rows of equal time see each other."""
        keeps_end = self.closed == "right"
        _, past = _native.time_frames(rows.starts, rows.times, _LONGEST, True, keeps_end)
        return rows.group_start, past  # no range of 64 bits reaches back to the first of all times

    def asked_frames(self, rows: SortedRows, asked: Asked) -> Frames:
        """Return all rows up to the time of each question."""
        hi = asked.until(rows, before=self.closed == "left")
        return np.minimum(asked.starts(rows), hi), hi

    def engine_rule(self, clock: Clock, schema: Any) -> dict[str, Any]:
        """Return the window as plain values for the engine of arrival order."""
        return {"kind": "lifetime", "newest": int(self.closed != "right")}

    def closing(self, closed: str) -> Lifetime:
        """Return the window with this `closed`."""
        return replace(self, closed=closed, settled=True)

    def settle(self, closed: str) -> Lifetime:
        """Return the window with this `closed`, which has no start, unless the user has set it."""
        ends = {"both": "right", "neither": "left"}
        return super().settle(ends.get(closed, closed))

    def retention(self) -> str:
        """Describe the rows that the window keeps."""
        return "one state per key"

    def argument(self, default: str | None) -> tuple[str, dict[str, str]]:
        """Return the source code inside `over(...)`."""
        return written("lifetime"), closing(self.closed, default)

    def in_file(self, default: str) -> tuple[Any, str | None]:
        """Return the short form for a file, and `closed` if needed."""
        return "lifetime", None if self.closed == default else self.closed

    @property
    def suffix(self) -> str:
        """The suffix of a column's name in a list of windows."""
        return "lifetime"

    def __repr__(self) -> str:
        return self.text(None if self.settled else "right")

    def text(self, default: str | None) -> str:
        """Return the window as source code, without `closed` if it equals the default."""
        return call("sf.lifetime", **closing(self.closed, default))


def lifetime(*, closed: str = UNSAID) -> Lifetime:
    """Select all rows of a key so far; `.over("lifetime")` is a short form.

    In order of arrival it needs one state per key, so operators whose state grows with the window
    (median, distinct, collect, ...) are refused. `closed="left"` leaves out the current time.

    >>> import pyarrow as pa, slidefold as sf
    >>> table = pa.table({"t": [1, 2, 3], "x": [1.0, 2.0, 4.0]})
    >>> sf.rolling(on="t", total=sf.sum("x").over("lifetime")).run(table)["total"].to_pylist()
    [1.0, 3.0, 7.0]
    """
    given = closed is not UNSAID
    return Lifetime(closed if given else "right", settled=given)
