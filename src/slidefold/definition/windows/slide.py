"""What every slide answers: where its results are, and the rows of their windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.clock import Clock
from slidefold.definition.windows.sorted_rows import Frames, Ints, SortedRows
from slidefold.errors import WindowError

# Window ends after the first time, up to and including the second: a move of the watermark.
Within = tuple[int, int]


@dataclass(frozen=True)
class Slide:
    """The results of a slide: the group, window start, window end and frames of each."""

    group: Ints
    start: Ints
    end: Ints
    frames: dict[WindowKind, Frames]
    started: npt.NDArray[np.bool_] | None = None  # False if no window holds a row


class Every(Protocol):
    """When results are computed; engines use this interface and never check the class."""

    @property
    def in_time(self) -> bool:
        """Whether there is one result at each multiple of a duration."""

    @property
    def whole(self) -> bool:
        """Whether there is one result per closed window."""

    @property
    def counted(self) -> int:
        """The n of "one result per n rows of a key"; 0 for other slides."""

    @property
    def default_closed(self) -> str:
        """The value of `closed` for windows that do not set it."""

    def check(self, windows: Sequence[WindowKind]) -> None:
        """Raise if this slide does not support one of the windows."""

    def slide(
        self, rows: SortedRows, windows: Sequence[WindowKind], within: Within | None = None
    ) -> Slide:
        """Find the results over these rows; with `within`, only those that end in it.

        A result is complete when all rows up to its end have arrived, for any `closed`.
        """

    def engine_rule(self, windows: Sequence[WindowKind], clock: Clock) -> dict[str, Any]:
        """Return the slide as plain values for the engine of arrival order."""

    def window_rule(self, window: WindowKind, rule: dict[str, Any], clock: Clock) -> dict[str, Any]:
        """Return the rule of a window for that engine, which the slide may change."""


def refuse_ahead(windows: Sequence[WindowKind]) -> None:
    """Raise if a window looks ahead."""
    ahead = next((window for window in windows if window.ahead), None)
    if ahead is not None:
        raise WindowError(f"{ahead} looks ahead from a row, and with every= there is none")
