"""A definition as HTML for notebooks: its windows on a time line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidefold import pictures
from slidefold.definition.lowering import windows_in

if TYPE_CHECKING:
    from slidefold.definition.rolling import Rolling

NOTE = (
    "Windows of time are drawn to one scale, windows of rows to another. The tick is the current "
    "row; a filled end belongs to the window."
)


def drawn(definition: Rolling) -> str:
    """Return a table of the columns with their windows drawn to scale."""
    windows = {
        name: tuple(dict.fromkeys(over.window for over in windows_in(item)))
        for name, item in definition.items
    }
    extents = {window: window.extent() for group in windows.values() for window in group}
    scale = pictures.scales(tuple(extents.values()))
    rows = []
    for name, item in definition.items:
        places = [extents[window] for window in windows[name]]
        bars = "<br>".join(pictures.bar(place, scale[place.axis]) for place in places)
        text = item.text(definition.default_closed)
        rows.append((pictures.code(name), bars, pictures.code(text)))
    by = f" by {', '.join(map(pictures.code, definition.by))}" if definition.by else ""
    every = "" if definition.slide is None else f", every {pictures.code(str(definition.every))}"
    title = f"windows on {pictures.code(definition.on)}{by}{every}"
    return pictures.table(title, ("column", "window", "definition"), rows, NOTE)
