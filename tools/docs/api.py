"""The API reference, generated from docstrings while the site is built."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import slidefold as sf
from slidefold.definition.operators import BUILT_IN
from tools.docs.words import markdown, signature

HEAD = """# API

Everything in `import slidefold as sf`, from its docstrings. The operators have
[their own page](operators.md).
"""
SECTIONS: dict[str, tuple[str, ...]] = {
    "Definitions over tables": ("rolling", "Rolling", "Over", "Live"),
    "Windows": ("time", "rows", "delta", "session", "punctuated"),
    "One live window": ("Window", "plan", "Plan"),
    "Your own operators": ("operator", "Fold", "check", "Report"),
    "Results of sketches": ("BloomFilter", "CountMinSketch", "Moments", "NaiveBayesModel"),
}
SHOWN_ELSEWHERE = {
    *BUILT_IN,
    *("approx_quantile", "theta", "frequent_items", "struct", "Operator"),
    *("algorithms", "errors"),
    *("Time", "Rows", "Delta", "Session", "Punctuated"),  # results of the functions of these names
}


def leftovers() -> list[str]:
    """Return the public names that are in no section."""
    placed = {name for names in SECTIONS.values() for name in names}
    return [name for name in sf.__all__ if name not in placed | SHOWN_ELSEWHERE]


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    sections = dict(SECTIONS)
    if leftovers():
        sections["More"] = tuple(leftovers())
    for title, names in sections.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += item(getattr(sf, name), f"sf.{name}")
    parts.append("## Algorithms\n\nFrom `slidefold.algorithms`; each has [its page]"
                 "(../algorithms/index.md).\n")  # fmt: skip
    for name in sf.algorithms.__all__:
        value = getattr(sf.algorithms, name)
        if callable(value):
            parts += item(value, name)
    parts.append("## Errors\n\nFrom `slidefold.errors`. Each is a `SlidefoldError`.\n")
    for name, value in vars(sf.errors).items():
        if isinstance(value, type):
            bases = ", ".join(f"`{base.__name__}`" for base in value.__bases__)
            parts.append(f"### {name}\n\nA {bases}. {inspect.getdoc(value)}\n")
    return "\n".join(parts)


def item(value: Any, name: str) -> Iterator[str]:
    """Yield the text of a function, or of a class with its methods."""
    yield f"### {name.removeprefix('sf.')}\n"
    yield f"```text\n{signature(value, name)}\n```\n"
    yield markdown(value.__doc__ or "") + "\n"
    if inspect.isclass(value):
        for method, doc, call in methods(value):
            yield f"#### {value.__name__}.{method}\n"
            if call:
                yield f"```text\n{call}\n```\n"
            yield markdown(doc) + "\n"


def methods(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the name, docstring and signature of each documented public method or property."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("slidefold"):
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            function = value.__func__ if isinstance(value, classmethod) else value
            doc = getattr(function, "__doc__", None)
            if not doc or not (callable(function) or inspect.isdatadescriptor(function)):
                continue
            call = signature(function, name) if callable(function) else ""
            yield name, doc, call.replace("(cls, ", "(").replace("(cls)", "()")
