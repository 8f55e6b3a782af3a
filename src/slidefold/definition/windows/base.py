"""The interface of all windows; engines use it and never check the class of a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from slidefold.definition.windows.clock import Clock
from slidefold.definition.windows.sorted_rows import Asked, Frames, SortedRows
from slidefold.errors import WindowError
from slidefold.pictures import Extent


class WindowKind(ABC):
    """A window over sorted rows. A new kind must implement the abstract methods."""

    columns: tuple[str, ...] = ()  # the input columns that the window reads
    closed: str = "right"
    settled: bool = True  # False if `closed` is a default that `every` may change
    delay: Any = None  # how long before the row's time it ends; None if it ends there
    forever = False  # whether it holds all rows so far
    ahead = False  # whether it holds rows after the row's time
    one_pass = (
        True  # whether the native pass over all windows supports it, if it is of time or rows
    )
    live = False  # whether sf.Window supports it, event by event
    in_time = False  # whether it is a range of time and has a reach
    orders_peers = True  # whether the order among rows of equal time can change a result
    walks: tuple[str, ...] = ()  # columns that must not decrease in time order
    ends = False  # whether it ends after a period without rows
    last_rows = 0  # n for the last n rows; 0 for other windows
    over_spark = ""  # why Spark's OVER does not support the window; "" if it does

    @abstractmethod
    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window: its first row, and one past its last."""

    @abstractmethod
    def asked_frames(self, rows: SortedRows, asked: Asked) -> Frames:
        """Return the window of each question, which is not a row itself."""

    @abstractmethod
    def retention(self) -> str:
        """Describe the rows that the window keeps."""

    @property
    @abstractmethod
    def unbounded(self) -> str:
        """Why the state of a stream may grow without bound; "" if it cannot."""

    @abstractmethod
    def text(self, default: str | None) -> str:
        """Return the window as source code, without `closed` if it equals the default."""

    @abstractmethod
    def engine_rule(self, clock: Clock, schema: Any) -> dict[str, Any]:
        """Return the window as plain values for the engine of arrival order.

        The time column has this clock, the rows have this Arrow schema. `walks` names the column
        that decides, if it is not the time column.
        """

    def reach(self, clock: Clock) -> tuple[int, int] | None:
        """Return the reach in clock steps: at t the window is `t - reach[0]` to `t - reach[1]`.

        None if the window is not a range of time.
        """
        return None

    def silence(self, clock: Clock) -> int | None:
        """Return the number of steps without a row after which the window ends; None if never.

        Time can be split at such a gap: no window holds rows from both sides of it.
        """
        return None

    @property
    def rows_before(self) -> int | None:
        """How many rows before the current row it starts; None if it is not a rows window."""
        return None

    def extent(self) -> Extent:
        """Return where the window lies, for its picture."""
        return Extent(note=self.retention())

    def closing(self, closed: str) -> Self:
        """Return the window with this `closed`; raise if this kind of window has no `closed`."""
        raise WindowError(f"{self} does not take closed=: it always includes the current row")

    def settle(self, closed: str) -> Self:
        """Return the window with this `closed`, unless the user has set another."""
        # If the default is the same, the window stays unsettled: the user has not set it.
        return self if self.settled or self.closed == closed else self.closing(closed)

    def argument(self, default: str | None) -> tuple[str, dict[str, str]]:
        """Return the source code inside `over(...)`: the argument, and `closed=` if needed."""
        return self.text(default), {}

    def in_file(self, default: str) -> tuple[Any, str | None]:
        """Return the short form for a file, None if there is none, and `closed` if needed."""
        return None, None

    @property
    def suffix(self) -> str:
        """The suffix of a column's name in a list of windows; "" if lists do not take it."""
        return ""
