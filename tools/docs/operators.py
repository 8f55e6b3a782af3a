"""The reference page of the operators, from their registry: docstrings, algebra, sizes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import slidefold as sf
from slidefold.definition.operators import NAMED, RECORDS
from slidefold.definition.operators.travel import known_types
from tools.docs.words import escaped, markdown, signature

DTYPES = ("bool", "int64", "float64", "str", "object")
HEAD = """# Operators

This page is generated from the registry and the docstrings: `python -m tools.docs` writes it.

An operator folds values. *Commutes*: the order of values does not matter. *Invertible*: the oldest
value can be taken out again, exactly (`SubtractOnEvict`). *Selective*: combining two values gives
one of them (`SlickDeque`). *State* is what one entry of a window takes in bytes; where a state owns
memory beside that, its section says how much. What is *no monoid* is not folded: its values are
kept in order. *Live types* are the `dtype=` of `sf.Window` and the algorithms, the default first;
where more types travel as one of these, the section of an operator names them. Over tables the type
of the column decides, see [types and nulls](../rolling.md#types-and-nulls).
"""


def everything() -> dict[str, Callable[..., Any]]:
    """All operators by name: the registry, and those of the datasketches package."""
    return dict(NAMED)


def variants(name: str) -> dict[str, Any]:
    """The operator for each type that it takes in live windows, its default first."""
    function = everything()[name]
    needed = dict(RECORDS[name].example)
    default = function(**needed)
    found = {default.dtype: default}
    if "dtype" in inspect.signature(function).parameters:
        for dtype in DTYPES:
            try:
                made = function(**needed, dtype=dtype)
            except sf.errors.ValueTypeError:
                continue
            if not made.codings:  # those travel as another type
                found.setdefault(dtype, made)
    return found


def algebra(name: str) -> dict[str, str]:
    """What algorithms may rely on: yes, no, or for which types."""
    made = variants(name)
    if not all(each.monoid for each in made.values()):
        return dict.fromkeys(("commutative", "invertible", "selective"), "no monoid")
    said = {}
    for word in ("commutative", "invertible", "selective"):
        yes = [dtype for dtype, each in made.items() if getattr(each.traits, word)]
        said[word] = "yes" if len(yes) == len(made) else ", ".join(yes) or "no"
    return said


def sizes(name: str) -> str:
    """The bytes of a state: one number, or one for each group of types where they differ."""
    by_size: dict[int, list[str]] = {}
    for dtype, each in variants(name).items():
        by_size.setdefault(each.traits.state_bytes, []).append(dtype)
    if len(by_size) == 1:
        return str(next(iter(by_size)))
    return ", ".join(f"{size} ({', '.join(dtypes)})" for size, dtypes in by_size.items())


def types(name: str) -> str:
    """The types of live windows."""
    return ", ".join("any value" if dtype == "any" else dtype for dtype in variants(name))


def more_types(name: str) -> str:
    """The types that travel as one of those."""
    own = variants(name)
    record = RECORDS[name]
    more = known_types(record.travel, text=record.text)
    found = [dtype for dtype in more if dtype not in own]
    return ", ".join(found).replace("decimal(18, 2)", "decimal(p, s)")


def summary(name: str) -> str:
    """The first sentence of the docstring."""
    doc = inspect.getdoc(everything()[name]) or ""
    return " ".join(doc.split("\n\n")[0].split()).split(". ")[0].rstrip(".")


def families() -> dict[str, list[str]]:
    """The operators by the headline of their module."""
    found: dict[str, list[str]] = {}
    for name, function in everything().items():
        module = inspect.getmodule(function)
        headline = (inspect.getdoc(module) or "").split("\n")[0].rstrip(".")
        found.setdefault(headline, []).append(name)
    return found


def in_short(name: str) -> str:
    """The algebra in a few words."""
    said = algebra(name)
    if "no monoid" in said.values():
        return "no monoid"
    words = {"commutative": "commutes", "invertible": "invertible", "selective": "selective"}
    found = [
        words[word] if which == "yes" else f"{words[word]} ({which})"
        for word, which in said.items()
        if which != "no"
    ]
    return ", ".join(found)


def table() -> str:
    """All operators, a row each."""
    lines = ["| operator | gives | algebra | state |", "|---|---|---|---|"]
    for name in everything():
        cells = (f"[`{name}`](#{name})", escaped(summary(name)), in_short(name), sizes(name))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    parts = [HEAD, table(), ""]
    for headline, names in families().items():
        parts += [f"## {headline}", ""]
        for name in names:
            function = everything()[name]
            said = algebra(name)
            facts = "; ".join(
                f"{word}: {said[word]}" for word in ("commutative", "invertible", "selective")
            )
            others = more_types(name)
            more = f"; also {others}" if others else ""
            parts += [
                f"### {name}",
                "",
                f"```text\n{signature(function, f'sf.{name}')}\n```",
                "",
                markdown(function.__doc__ or ""),
                "",
                f"Registry: {facts}; state: {sizes(name)} bytes; live types: {types(name)}{more}.",
                "",
            ]
    product = inspect.getdoc(sf.struct) or ""
    parts += ["## Products", "", "### struct", "", "```text\nsf.struct(**parts)\n```", ""]
    parts += [markdown(product), ""]
    return "\n".join(parts)
