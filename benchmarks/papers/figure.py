"""What a figure consists of: cells to measure, claims about the numbers, charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks.harness import Row

Size = Literal["smoke", "quick", "default", "full"]


@dataclass(frozen=True)
class Context:
    """How much to measure, and where the user's data is."""

    size: Size
    data: Path | None = None
    named: bool = False  # the figures were named one by one


@dataclass(frozen=True)
class Cell:
    """One step of a run: its sides take turns, so that its rows can be compared."""

    key: Row
    measure: Callable[[], list[Row]]

    @property
    def name(self) -> str:
        """Return the key as text; a run that goes on finds its cells by it."""
        return " ".join(f"{name}={value}" for name, value in self.key.items())


@dataclass(frozen=True)
class Claim:
    """A finding of the paper, held against our numbers.

    `paper` and `measured` are clauses: a verdict says "it is not true that <paper> (<measured>)".
    """

    paper: str
    holds: bool
    measured: str
    about: str = ""  # the operator, where there is a claim for each
    # Theory promises it and combines are counted, so no noise can break it.
    promised: bool = False


@dataclass(frozen=True)
class Series:
    """A curve, or the distribution of one side."""

    name: str
    x: Sequence[Any]
    y: Sequence[float]
    grey: bool = False  # not in the paper's figure


@dataclass(frozen=True)
class Chart:
    """One chart: `kind` is lines, bars, or violins (y holds quantiles)."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    kind: Literal["lines", "bars", "violins"] = "lines"
    log_x: bool = True
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper."""

    name: str  # daba.fig10
    title: str
    found: str  # what the paper found, in one sentence
    cells: Callable[[Context], list[Cell]]
    claims: Callable[[list[Row]], list[Claim]]
    charts: Callable[[list[Row]], list[Chart]]
    # Why it cannot run here, or None.
    missing: Callable[[Context], str | None] = field(default=lambda _: None)
    remark: str = ""  # how our run differs from the paper's


def where(rows: Sequence[Row], **keys: Any) -> list[Row]:
    """Return the rows with these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in keys.items())]


def curves(
    rows: Sequence[Row], x: str, y: str, *, by: str = "side", grey: Sequence[str] = ()
) -> list[Series]:
    """Return one series per side: `y` against `x`."""
    named = [row for row in rows if y in row]
    return [
        Series(
            side,
            [row[x] for row in named if row[by] == side],
            [row[y] for row in named if row[by] == side],
            side in grey,
        )
        for side in dict.fromkeys(row[by] for row in named)
    ]
