"""HTML for notebooks: tables whose cells may hold bars on a time line.

Colours come from the page: text and lines have its text colour, and the blue of bars is readable on
white and on black. Nothing is loaded, and no script runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import inf

WIDE, TALL = 240.0, 18.0  # of a bar's picture, in pixels
BLUE = "#3b82f6"


@dataclass(frozen=True)
class Extent:
    """Where a window lies: from `start` before the current row to `end` before it.

    `start` is infinite if the window has no beginning. Windows on the same axis are drawn to the
    same scale. A window on no axis has a note only.
    """

    axis: str = ""  # "time", "number", "rows"
    start: float = 0.0
    end: float = 0.0  # negative if the window holds rows after the current one
    keeps_start: bool = False
    keeps_end: bool = True
    note: str = ""


class Explanation(str):
    """The text of a plan, which notebooks show as a table."""

    html: str

    def __new__(cls, text: str, html: str) -> Explanation:
        """Return the text, with its HTML."""
        made = super().__new__(cls, text)
        made.html = html
        return made

    def _repr_html_(self) -> str:
        return self.html


def scales(extents: Sequence[Extent]) -> dict[str, tuple[float, float]]:
    """Return the longest way back and ahead on each axis."""
    longest: dict[str, tuple[float, float]] = {}
    for extent in extents:
        back, ahead = longest.get(extent.axis, (0.0, 0.0))
        ends = [edge for edge in (extent.start, extent.end) if edge != inf]
        longest[extent.axis] = (max(back, *ends), max(ahead, *(-edge for edge in ends)))
    return longest


def bar(extent: Extent, scale: tuple[float, float]) -> str:
    """Draw a window: a line is the axis, a tick the current row, a filled end is included."""
    if not extent.axis:
        return f"<span style='opacity:.7'>{escape(extent.note)}</span>"
    back, ahead = scale
    room = WIDE - 24
    whole = back + ahead or 1.0

    def at(before: float) -> float:
        return 12 + room * (back - min(before, back)) / whole

    left = 0.0 if extent.start == inf else at(extent.start)
    right = at(extent.end)
    middle = TALL / 2
    shapes = [
        f"<line x1='4' y1='{middle}' x2='{WIDE - 4}' y2='{middle}' stroke='currentColor' "
        "stroke-opacity='.25'/>",
        f"<rect x='{left:.1f}' y='{middle - 4}' width='{max(right - left, 2):.1f}' height='8' "
        f"rx='2' fill='{BLUE}' fill-opacity='.55'/>",
        f"<line x1='{at(0):.1f}' y1='1' x2='{at(0):.1f}' y2='{TALL - 1}' stroke='currentColor' "
        "stroke-opacity='.6'/>",
    ]
    ends = [(right, extent.keeps_end)]
    if extent.start != inf:
        ends.append((left, extent.keeps_start))
    for x, included in ends:
        fill = BLUE if included else "none"
        shapes.append(
            f"<circle cx='{x:.1f}' cy='{middle}' r='3.5' fill='{fill}' stroke='{BLUE}' "
            "stroke-width='1.5'/>"
        )
    label = escape(extent.note, quote=True)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDE:g}' height='{TALL:g}' role='img' "
        f"aria-label='{label}' style='vertical-align:middle'><title>{label}</title>"
        f"{''.join(shapes)}</svg>"
    )


def code(text: str) -> str:
    """Return text as code in HTML."""
    return f"<code>{escape(text)}</code>"


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """Return a table whose cells are HTML; it scrolls by itself if the page is narrow."""
    cell = "text-align:left;padding:.25em .8em .25em 0;vertical-align:top"
    # A long text would shrink to the width of a word, and its row would fill a narrow page.
    wide = [max((len(row[i]) for row in rows), default=0) > 24 for i in range(len(heads))]
    styles = [cell + ";min-width:12em" if broad else cell for broad in wide]
    head = "".join(f"<th style='{cell}'>{escape(word)}</th>" for word in heads)
    body = "".join(
        f"<tr>{''.join(f'<td style={s!r}>{v}</td>' for s, v in zip(styles, row, strict=True))}</tr>"
        for row in rows
    )
    below = f"<div style='opacity:.7;font-size:.9em'>{escape(note)}</div>" if note else ""
    return (
        "<div style='overflow-x:auto;font-family:sans-serif'>"
        f"<div style='font-weight:600'>{title}</div>"
        "<table style='border-collapse:collapse;background:none'>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"
    )
