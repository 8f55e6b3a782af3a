"""What every window answers: engines ask these questions and never look at a window's class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from slidefold.definition.windows.clock import Clock
from slidefold.definition.windows.sorted_rows import Frames, SortedRows
from slidefold.errors import WindowError


class WindowKind(ABC):
    """A window over rows in order. A new kind must answer what is abstract here."""

    columns: tuple[str, ...] = ()  # the input columns that it looks at
    closed: str = "right"
    settled: bool = True  # False where nobody said which ends are closed
    live = False  # sf.Window can slide it, event by event
    in_time = False  # a range of time: it has a reach
    orders_peers = True  # the order among rows of equal time can change a result
    walks: tuple[str, ...] = ()  # columns that must not decrease in time order
    ends = False  # it is over after a silence, though no row comes
    last_rows = 0  # the last n rows; 0 where it is not a number of rows
    over_spark = ""  # why Spark's OVER has no such window; "" if it has

    @abstractmethod
    def frames(self, rows: SortedRows) -> Frames:
        """Return each row's window: its first row, and one past its last."""

    @abstractmethod
    def retention(self) -> str:
        """Say what a window keeps."""

    @property
    @abstractmethod
    def unbounded(self) -> str:
        """Why the state of a stream may grow without a bound; "" if it may not."""

    @abstractmethod
    def text(self, default: str | None) -> str:
        """Return the window as it is typed where `closed` has this default."""

    def reach(self, clock: Clock) -> tuple[int, int] | None:
        """Return the window at t in steps, from `t - reach[0]` to `t - reach[1]`.

        None if the window is not a range of time.
        """
        return None

    def silence(self, clock: Clock) -> int | None:
        """Return after how many steps without a row the window is over; None if never.

        Time may be cut where nothing came for so long: no window holds rows of both sides.
        """
        return None

    @property
    def rows_before(self) -> int | None:
        """How many rows before its own row it starts; None if it is not a number of rows."""
        return None

    def closing(self, closed: str, *, settled: bool = True) -> Self:
        """Return the window with other ends closed; the kinds without ends refuse."""
        raise WindowError(f"{self} has no closed: it holds its rows")

    def settle(self, closed: str) -> Self:
        """Return the window with these ends closed, unless its own were given."""
        # A window whose ends are those of the default stays as it is: nothing was said of it.
        return self if self.settled or self.closed == closed else self.closing(closed)

    def argument(self, default: str | None) -> tuple[str, dict[str, str]]:
        """Return how the window is typed inside `over(...)`: the argument, and `closed=` if any."""
        return self.text(default), {}

    def in_file(self, default: str) -> tuple[Any, str | None]:
        """Return how a file has the window: its short form or None, and `closed` if it is said."""
        return None, None

    @property
    def suffix(self) -> str:
        """What tells a column over one of several windows from the others; "" if nothing does."""
        return ""
