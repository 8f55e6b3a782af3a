"""The shapes of drawings and plots, as SVG text that is the same on every run."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
INK, FAINT = "#1f2937", "#6b7280"


def number(value: float) -> str:
    """Format a coordinate with at most one digit after the point."""
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """Shapes on a card, which is white unless it is made for a dark page."""

    def __init__(self, title: str, card: str = "#ffffff") -> None:
        self.title, self.card = title, card
        self._shapes: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 12,
        anchor: str = "start",
        fill: str = INK,
        bold: bool = False,
    ) -> None:
        """Add text with its baseline at y."""
        weight = ' font-weight="600"' if bold else ""
        self._shapes.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" fill="{fill}" '
            f'text-anchor="{anchor}"{weight}>{escape(words)}</text>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str,
        stroke: str = "#94a3b8",
        dashed: bool = False,
    ) -> None:
        """Add a rectangle with slightly round corners."""
        dash = ' stroke-dasharray="3 3"' if dashed else ""
        self._shapes.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
            f'height="{number(height)}" rx="3" fill="{fill}" stroke="{stroke}"{dash}/>'
        )

    def line(
        self, points: Sequence[tuple[float, float]], *, stroke: str = FAINT, width: float = 1
    ) -> None:
        """Add a line through points."""
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self._shapes.append(
            f'<polyline points="{path}" fill="none" stroke="{stroke}" '
            f'stroke-width="{number(width)}" stroke-linejoin="round"/>'
        )

    def dot(self, x: float, y: float, *, fill: str, radius: float = 2.5) -> None:
        """Add a filled circle."""
        self._shapes.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{fill}"/>'
        )

    def done(self, width: float, height: float) -> str:
        """Return the whole file."""
        size = f'width="{number(width)}" height="{number(height)}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {number(width)} {number(height)}" role="img" '
            f"aria-label={quoteattr(self.title)} font-family={quoteattr(FONT)}>"
        )
        card = f'<rect {size} rx="6" fill="{self.card}"/>'
        return "\n".join(
            [head, f"<title>{escape(self.title)}</title>", card, *self._shapes, "</svg>", ""]
        )
