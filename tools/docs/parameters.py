"""Parameters as tables: names, types and defaults from signatures, meanings from docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.docs.words import escaped

SOURCE = Path(__file__).parents[2] / "src" / "slidefold"
Row = tuple[str, str, str]  # name, type, default; "" if there is none


def sentences(doc: str) -> list[str]:
    """Return the sentences of the prose of a docstring; examples and lists end a sentence."""
    prose = []
    for part in inspect.cleandoc(doc).split("\n\n"):
        if ">>>" not in part:
            prose += re.split(r"(?<=[.;])\s+(?=[A-Z`])|\n\s*- ", part)
    return [" ".join(text.split()).removeprefix("- ") for text in prose if text.strip()]


def meaning(name: str, doc: str) -> str:
    """Return what a docstring says about a parameter: the sentences that name it, at most two."""
    listed = re.search(rf"^\s+{re.escape(name)}: (.*?)(?=^\s+\w+: |\n\n|\Z)", doc, re.M | re.S)
    if listed:
        text = " ".join(listed[1].split())
        return text[:1].upper() + text[1:]
    mark = re.compile(rf"`{re.escape(name)}(`|=)")
    about = [text for text in sentences(doc) if mark.search(text)]
    first = [text for text in about if mark.search(text[:60])] or about
    return " ".join(first[:2])


def table(rows: Sequence[Row], doc: str) -> Iterator[str]:
    """Yield a table of parameters; nothing if the docstring describes none of them."""
    lines = [
        f"| `{name}` | {_code(kind)} | {_code(default)} | {escaped(meaning(name, doc))} |"
        for name, kind, default in rows
    ]
    if any(meaning(name, doc) for name, *_ in rows):
        head = ["| parameter | type | default | meaning |", "|---|---|---|---|"]
        yield "\n".join([*head, *lines, ""])


def _code(text: str) -> str:
    """Return text as code for a table cell; a bar in code does not end the cell."""
    return f"`{text}`" if text else ""


def of_function(function: Any) -> list[Row]:
    """Return the parameters of a function or class."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    rows = []
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        empty = inspect.Parameter.empty
        kind = "" if parameter.annotation is empty else _shown(parameter.annotation)
        default = "" if parameter.default is empty else repr(parameter.default)
        rows.append((parameter.name, kind, default))
    return rows


def _shown(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def of_options(names: Sequence[str]) -> list[Row]:
    """Return options that a function takes as keywords which its signature does not list."""
    return [(name, "", "") for name in names]


def of_source(module: str, name: str) -> tuple[list[Row], str]:
    """Return the keywords and the docstring of a function that is read and not imported."""
    tree = ast.parse((SOURCE / module).read_text(encoding="utf-8"))
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    rows = [
        (
            argument.arg,
            ast.unparse(argument.annotation) if argument.annotation else "",
            ast.unparse(default) if default else "",
        )
        for argument, default in zip(
            function.args.kwonlyargs, function.args.kw_defaults, strict=True
        )
    ]
    return rows, ast.get_docstring(function) or ""
