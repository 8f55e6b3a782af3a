"""Convert docstrings and module headers to Markdown."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

SECTION = re.compile(r"^(Layout|Invariants|Cost|Paper)\b([^:]*):[ \t]*", re.MULTILINE)
LINE = 76  # characters of a signature that fit next to the navigation
INVARIANT = re.compile(r"^\s+I(\d+)\s+(.*)$")


def header(module: Any) -> dict[str, str]:
    """Return the parts of a module header unchanged: Layout, Invariants, Cost, Paper."""
    text = inspect.getdoc(module) or ""
    sections = list(SECTION.finditer(text))
    ends = [match.start() for match in sections[1:]] + [len(text)]
    parts = {}
    for match, end in zip(sections, ends, strict=True):
        note = match[2].strip()
        body = text[match.end() : end].rstrip("\n")
        parts[match[1]] = f"{note}: {body}" if note else body
    return parts


def invariants(module: Any) -> str:
    """Return the numbered invariants as a table, after the remark in parentheses."""
    rows: list[list[str]] = []
    remark = ""
    for line in header(module)["Invariants"].splitlines():
        numbered = INVARIANT.match(line)
        if numbered:
            rows.append([numbered[1], numbered[2]])
        elif rows and line.startswith("  "):
            rows[-1][1] += " " + line.strip()
        elif not rows:
            remark += " " + line.strip()
        else:
            break  # a paragraph after the list is not part of it
    table = ["| | |", "|---|---|"]
    table += [f"| I{number} | {escaped(text)} |" for number, text in rows]
    before = sentence(remark.strip("(): ")) + "\n\n" if remark.strip() else ""
    return before + "\n".join(table)


def sentence(text: str) -> str:
    """Add a full stop, and capitalize the first letter unless it is a name."""
    named = text[1:2] == " " and text[0] != "a"
    first = text[:1] if named else text[:1].upper()
    return first + text[1:].rstrip(".;") + "."


def escaped(text: str) -> str:
    """Escape the text of a table cell."""
    return text.replace("|", "\\|").replace(" * ", " \\* ").replace("<", "&lt;")


def paragraph(text: str) -> str:
    """Wrap paragraphs, and escape what Markdown would misread."""
    pieces = (sentence(" ".join(piece.split())) for piece in text.split("\n\n"))
    return "\n\n".join(
        wrapped(piece.replace(" * ", " \\* ").replace("<", "&lt;")) for piece in pieces
    )


def wrapped(text: str) -> str:
    """Wrap text to lines of at most 100 characters."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def markdown(doc: str) -> str:
    """Convert a docstring to Markdown: its examples become code blocks."""
    lines: list[str] = []
    inside = False
    # The arguments are shown as a table.
    prose = re.sub(r"^Args:\n(?:    .*\n?)+\n?", "", inspect.cleandoc(doc), flags=re.MULTILINE)
    for line in prose.splitlines():
        if line.startswith(">>>") and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    if inside:
        lines.append("```")
    return "\n".join(lines)


def signature(function: Any, name: str) -> str:
    """Return the signature of a function without types."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return f"{name}(...)"
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
        if parameter.name != "self"
    ]
    text = f"{name}{found.replace(parameters=plain, return_annotation=inspect.Signature.empty)}"
    if len(text) <= LINE:
        return text
    inner = text[len(name) + 1 : -1]
    return f"{name}(\n{textwrap.indent(_broken(inner), '    ')}\n)"


def _broken(parameters: str) -> str:
    """Break a list of parameters into lines, between parameters only."""
    lines, line, depth = [], "", 0
    for piece in parameters.split(", "):
        joined = f"{line}, {piece}" if line else piece
        if depth == 0 and line and len(joined) > LINE - 6:
            lines.append(line + ",")
            joined = piece
        line = joined
        depth += sum(piece.count(mark) for mark in "([{") - sum(piece.count(m) for m in ")]}")
    return "\n".join([*lines, line])
