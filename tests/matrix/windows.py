"""The windows of the matrix, and which rows each holds, from their documentation alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import slidefold as sf

Row = dict[str, Any]
Length = Callable[[int], Any]  # steps of the times as a window takes them


@dataclass(frozen=True)
class Window:
    """A window: its kind, its length in steps, which ends are closed, and `min_count`."""

    kind: str  # rows, time, ahead, session, delta, punctuated or lifetime
    size: int = 0
    closed: str | None = None
    least: int | None = None
    on: str = "km"
    delay: int = 0

    def over(self, operator: Any, length: Length) -> Any:
        """Return a column of a definition."""
        said = {} if self.least is None else {"min_count": self.least}
        return operator.over(self.window(length), **said)

    def window(self, length: Length) -> Any:
        """Return the window as slidefold has it."""
        closed: Any = {} if self.closed is None else {"closed": self.closed}
        if self.kind == "rows":
            return sf.rows(self.size, **closed)
        if self.kind == "time":
            late: Any = {"delay": length(self.delay)} if self.delay else {}
            return sf.time(length(self.size), **closed, **late)
        if self.kind == "ahead":
            return sf.time(length(self.size), **closed, ahead=True)
        if self.kind == "lifetime":
            return sf.lifetime(**closed)
        if self.kind == "session":
            return sf.session(length(self.size))
        if self.kind == "delta":
            return sf.delta(self.size, on=self.on, **closed)
        return sf.punctuated("mark")

    def end(self, time: int) -> int:
        """Return where it ends, asked for at a time."""
        return time + self.size if self.kind == "ahead" else time - self.delay

    def __str__(self) -> str:
        words = [self.kind, str(self.size or ""), self.closed or ""]
        words += [f"delay {self.delay}"] if self.delay else []
        return " ".join(filter(None, [*words, f"least {self.least}" if self.least else ""]))


PER_ROW: tuple[Window, ...] = (
    Window("rows", 1),
    Window("rows", 2),
    Window("rows", 5),
    Window("rows", 2, "left"),
    *(Window("time", 4, closed) for closed in ("right", "left", "both", "neither")),
    Window("time", 10**3),
    Window("session", 2),
    Window("delta", 6),
    Window("delta", 6, "left", on="metres"),
    Window("punctuated"),
    Window("rows", 5, None, 2),
    Window("time", 4, None, 3),
)


# Windows that end before or after the row's time, or that have no start.
FAR: tuple[Window, ...] = (
    Window("time", 4, delay=2),
    Window("time", 4, "left", delay=1),
    Window("time", 4, "both", 2, delay=3),
    Window("lifetime"),
    Window("lifetime", closed="left"),
    Window("lifetime", least=3),
    Window("ahead", 4),
    Window("ahead", 4, "right", 2),
)


@dataclass(frozen=True)
class Slide:
    """`every=`: one result a slide, and the windows that such a definition takes."""

    kind: str  # time, rows or window
    size: int
    windows: tuple[Window, ...]
    offset: int | None = None

    def said(self, length: Length) -> dict[str, Any]:
        """Return what a definition is told."""
        if self.kind == "time":
            numbers = isinstance(length(1), int)
            said = {"every": sf.time(length(self.size)) if numbers else length(self.size)}
            return said if self.offset is None else {**said, "offset": length(self.offset)}
        return {"every": self.size if self.kind == "rows" else "window"}

    def __str__(self) -> str:
        shift = "" if self.offset is None else f" offset {self.offset}"
        return f"every {self.kind} {self.size}{shift} {self.windows[0]}"


def _times(*sizes: int, closed: str | None = None) -> tuple[Window, ...]:
    return tuple(Window("time", size, closed) for size in sizes)


SLIDES: tuple[Slide, ...] = (
    Slide("time", 3, (*_times(6, 3), Window("rows", 2))),
    Slide("time", 4, (*_times(6, 9), Window("time", 6, None, 2)), offset=1),
    *(Slide("time", 3, _times(5, closed=closed)) for closed in ("right", "both", "neither")),
    Slide("time", 3, (Window("time", 6, "left"), Window("time", 3, "right"))),
    Slide("time", 7, _times(2)),
    Slide("rows", 2, (Window("rows", 3), *_times(4), Window("session", 2), Window("delta", 6))),
    Slide("rows", 3, (Window("punctuated"), Window("rows", 2, "left"), Window("rows", 5, None, 2))),
    Slide("window", 0, (Window("session", 2),)),
    Slide("window", 0, (Window("punctuated"),)),
)


FAR_SLIDES: tuple[Slide, ...] = (
    Slide("time", 3, (Window("time", 6), Window("time", 6, delay=2), Window("lifetime"))),
    Slide("time", 3, (Window("time", 4, "right", delay=1), Window("lifetime", closed="right"))),
    Slide("rows", 2, (Window("lifetime"), Window("time", 4, delay=2), Window("rows", 2))),
)


# ---- which rows ---------------------------------------------------------------------------------


def _sort_key(value: Any) -> tuple[int, Any]:
    """Order values: nulls first, NaN last."""
    if value is None:
        return (0, 0)
    return (2, 0) if isinstance(value, float) and math.isnan(value) else (1, value)


def ordered(rows: Sequence[Row], by: Sequence[str], ties: Sequence[str]) -> list[list[Row]]:
    """Return the rows of each key in time order, peers in order of the columns `ties`."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(_sort_key(row[name]) for name in by)].append(row)
    return [
        sorted(group, key=lambda row: (row["t"], [_sort_key(row[name]) for name in ties]))
        for group in groups.values()
    ]


def _inside(x: Any, low: Any, high: Any, closed: str | None) -> bool:
    keeps_low, keeps_high = closed in ("left", "both"), closed in (None, "right", "both")
    return bool((x > low or (keeps_low and x == low)) and (x < high or (keeps_high and x == high)))


def _session_starts(group: list[Row], gap: int) -> list[int]:
    starts = [0]
    for i in range(1, len(group)):
        starts.append(i if group[i]["t"] - group[i - 1]["t"] > gap else starts[-1])
    return starts


def _mark_starts(group: list[Row]) -> list[int]:
    starts = [0]
    for i in range(1, len(group)):
        starts.append(i if group[i - 1]["mark"] else starts[-1])
    return starts


def frames(window: Window, group: list[Row]) -> list[list[Row]]:
    """Return the rows in the window of each row of a key."""
    found = []
    starts = (
        _session_starts(group, window.size) if window.kind == "session" else _mark_starts(group)
    )
    for i, row in enumerate(group):
        t = row["t"]
        if window.kind == "rows":
            end = i if window.closed == "left" else i + 1
            found.append(group[max(0, end - window.size) : end])
        elif window.kind == "time":
            end = window.end(t)
            found.append(
                [r for r in group if _inside(r["t"], end - window.size, end, window.closed)]
            )
        elif window.kind == "ahead":
            closed = window.closed or "left"
            found.append([r for r in group if _inside(r["t"], t, t + window.size, closed)])
        elif window.kind == "lifetime":
            found.append([r for r in group if r["t"] < t + (window.closed != "left")])
        elif window.kind == "delta":
            x = row[window.on]
            seen = [r for r in group if r["t"] <= t]
            found.append(
                [r for r in seen if _inside(r[window.on], x - window.size, x, window.closed)]
            )
        else:
            found.append([r for j, r in enumerate(group) if r["t"] <= t and starts[j] == starts[i]])
    return found


def slides(slide: Slide, group: list[Row]) -> list[tuple[Any, Any, list[list[Row]]]]:
    """Return the results of a key: where the window starts and ends, the rows of each window.

    The start is None where the documentation does not tell it.
    """
    if slide.kind == "rows":
        each = [frames(window, group) for window in slide.windows]
        chosen = range(slide.size - 1, len(group), slide.size)
        return [(None, group[i]["t"], [held[i] for held in each]) for i in chosen]
    if slide.kind == "window":
        return [(start, end, [held]) for start, end, held in _wholes(slide.windows[0], group)]
    largest = max(window.size for window in slide.windows if window.kind == "time")
    shift = slide.offset or 0
    first, last = group[0]["t"], group[-1]["t"]
    step = slide.size
    found = []
    past = last + largest + max(window.delay for window in slide.windows)
    for m in range((first - shift) // step - 1, (past - shift) // step + 2):
        end = m * step + shift
        held = [_ending(window, group, end) for window in slide.windows]
        wide = [
            h
            for w, h in zip(slide.windows, held, strict=True)
            if w.size == largest and w.kind == "time"
        ]
        if any(wide):
            found.append((end - largest, end, held))
    return found


def _ending(window: Window, group: list[Row], end: int) -> list[Row]:
    """Return the rows of a window that ends at a time; closed on the left by default."""
    closed = window.closed or "left"
    if window.kind == "rows":
        return [r for r in group if r["t"] < end or (closed == "right" and r["t"] == end)][
            -window.size :
        ]
    if window.kind == "lifetime":
        return [r for r in group if r["t"] < end or (closed == "right" and r["t"] == end)]
    end = window.end(end)
    return [r for r in group if _inside(r["t"], end - window.size, end, closed)]


def _wholes(window: Window, group: list[Row]) -> list[tuple[int, int, list[Row]]]:
    starts = (
        _session_starts(group, window.size) if window.kind == "session" else _mark_starts(group)
    )
    found = []
    for start in dict.fromkeys(starts):
        held = [row for row, own in zip(group, starts, strict=True) if own == start]
        if window.kind == "session":
            found.append((held[0]["t"], held[-1]["t"] + window.size, held))
        elif held[-1]["mark"]:
            found.append((held[0]["t"], held[-1]["t"], held))
    return found
