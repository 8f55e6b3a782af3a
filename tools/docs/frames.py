"""Draw the trace of an algorithm: one frame per step, with the cells of its structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tools.docs.svg import FAINT, Drawing

FILLS = {
    "value": "#f8fafc",
    "front": "#dbeafe",
    "left": "#fde2e4",
    "right": "#ede9fe",
    "done": "#dcfce7",
    "back": "#fef3c7",
    "total": "#f3e8ff",
    "gone": "#ffffff",
}
COLUMN, LINE, GAP = 58.0, 21.0, 5.0
EDGE = 12.0


@dataclass(frozen=True)
class Cell:
    """A box at column `at`, `wide` columns wide, on a line of its frame."""

    at: float
    text: str
    kind: str
    line: int = 0
    wide: float = 1


@dataclass
class Frame:
    """One step: what was done, what it cost, and the structure after it."""

    done: str
    cost: str
    cells: list[Cell]
    marks: dict[float, str] = field(default_factory=dict)  # column -> the pointers there
    note: str = ""

    @property
    def lines(self) -> int:
        """The number of lines of cells."""
        return max((cell.line for cell in self.cells), default=0) + 1


def draw(title: str, frames: Sequence[Frame], legend: Sequence[tuple[str, str]]) -> str:
    """Draw all frames from top to bottom, with a legend of (kind, meaning) on top."""
    picture = Drawing(title)
    columns = max(cell.at + cell.wide for frame in frames for cell in frame.cells)
    left = EDGE + 18 + max(max(len(f.done) * 7.1, len(f.cost) * 5.8) for f in frames)
    notes = max(len(frame.note) for frame in frames) * 6.7
    width = left + columns * COLUMN + (notes + 14 if notes else 0) + EDGE
    width = max(width, EDGE + sum(len(words) * 6.7 + 34 for _, words in legend))
    x = EDGE
    for kind, words in legend:
        picture.box(x, 12, 14, 14, fill=FILLS[kind])
        picture.text(x + 19, 23, words, size=11)
        x += len(words) * 6.7 + 34
    y = 44.0 if legend else 14.0
    for frame in frames:
        y = _frame(picture, frame, y, left, left + columns * COLUMN + 12)
    return picture.done(width, y + 4)


def _frame(picture: Drawing, frame: Frame, top: float, left: float, notes_at: float) -> float:
    marked = bool(frame.marks)
    cells_top = top + (14 if marked else 0)
    bottom = cells_top + frame.lines * LINE
    for cell in frame.cells:
        x, y = left + cell.at * COLUMN, cells_top + cell.line * LINE
        wide = cell.wide * COLUMN - 3
        picture.box(
            x, y, wide, LINE - 3, fill=FILLS[cell.kind], dashed=cell.kind in ("gone", "value")
        )
        size = min(11.0, (wide - 4) / max(len(cell.text), 1) / 0.6)
        fill = FAINT if cell.kind == "gone" else "#111827"
        picture.text(x + wide / 2, y + 13, cell.text, size=size, anchor="middle", fill=fill)
    for column, names in frame.marks.items():
        x = left + column * COLUMN - 1.5
        picture.line([(x, cells_top - 2), (x, bottom - 1)], stroke="#111827", width=1.5)
        picture.text(x, cells_top - 4, names, size=9.5, anchor="middle", bold=True)
    picture.text(EDGE, cells_top + 12, frame.done, size=11.5, bold=True)
    if frame.cost:
        picture.text(EDGE, cells_top + 24, frame.cost, size=9.5, fill=FAINT)
    if frame.note:
        picture.text(notes_at, cells_top + 13, frame.note, size=11, fill="#4b5563")
    return max(bottom, cells_top + 28) + GAP + 4
