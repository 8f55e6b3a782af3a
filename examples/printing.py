"""Aligned tables for the examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cell(value: object) -> str:
    """A number in a few digits; a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def show(header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table: text to the left, numbers to the right."""
    body = [list(row) for row in rows]
    lines = [list(header), *([cell(value) for value in row] for row in body)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numeric = [any(isinstance(row[i], (int, float)) for row in body) for i in range(len(header))]
    for line in lines:
        cells = (
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, numeric, strict=True)
        )
        print("  " + "  ".join(cells).rstrip())
    print()
