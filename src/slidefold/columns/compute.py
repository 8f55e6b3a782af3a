"""What a run needs to know of a definition, and its columns over rows in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from slidefold.columns.folds import fold
from slidefold.columns.grouping import Sorted
from slidefold.operators import Over, UserOperator
from slidefold.windows import Every, EveryRows, Frames, SortedRows, WindowKind


class Definition(Protocol):
    """What a run needs to know of a definition."""

    @property
    def on(self) -> str:
        """The column of times."""

    @property
    def by(self) -> tuple[str, ...]:
        """The columns of keys."""

    @property
    def slide(self) -> Every | None:
        """When there is a result; None for one an input row."""

    @property
    def order(self) -> str | tuple[str, ...]:
        """The columns that the order among peers starts with, or "input"."""

    @property
    def ties(self) -> tuple[str, ...]:
        """The columns that order rows of equal time; none if that does not matter."""

    @property
    def columns(self) -> Mapping[str, Over]:
        """The new columns."""

    @property
    def used(self) -> tuple[str, ...]:
        """The input columns that are read."""


def windows_of(definition: Definition) -> list[WindowKind]:
    """Return the windows of a definition, each once: columns that share one share its frames."""
    return list(dict.fromkeys(over.window for over in definition.columns.values()))


def filled_columns(definition: Definition, given: frozenset[str]) -> frozenset[str]:
    """Return the columns of a result that are never null, if those `given` of the input are not."""
    filled = {
        name
        for name, over in definition.columns.items()
        if over.operator.name == "count"
        and not isinstance(over.operator, UserOperator)
        and over.min_count is None
    }
    if definition.slide is None:
        filled |= given
    else:
        filled |= {"window_end", *(given & {*definition.by})}
        # At every n-th row no window may hold a row, and so none has a start.
        if not isinstance(definition.slide, EveryRows):
            filled.add("window_start")
    return frozenset(filled)


class FramesOf(dict[WindowKind, Frames]):
    """The frames of each window over rows in order, found when they are asked for."""

    def __init__(self, rows: SortedRows) -> None:
        super().__init__()
        self.rows = rows

    def __missing__(self, window: WindowKind) -> Frames:
        self[window] = found = window.frames(self.rows)
        return found


def fold_columns(
    definition: Definition,
    ordered: Sorted,
    frames: Mapping[WindowKind, Frames],
    threads: int = 1,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Return the new columns, one result a frame; but those that are there already."""
    found = {}
    for name, over in definition.columns.items():
        if name in without:
            continue
        columns = tuple(ordered.rows.column(column) for column in over.operator.columns)
        found[name] = fold(
            over.operator,
            over.window,
            columns,
            frames[over.window],
            over.min_count,
            over.algorithm,
            threads,
        )
    return found
