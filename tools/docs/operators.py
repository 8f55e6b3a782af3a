"""Generate the reference page of the operators: docstrings, algebra, sizes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import slidefold as sf
from slidefold.definition.operators import NAMED, RECORDS
from slidefold.definition.operators.travel import known_types
from tools.docs.words import escaped, markdown, signature

DTYPES = ("bool", "int64", "float64", "str", "object")
HEAD = """# Operators

This page is generated from the registry and the docstrings: `python -m tools.docs` writes it.

An operator folds values.

- *Commutative*: the order of values does not matter.
- *Invertible*: the oldest value can be removed again, exactly (`SubtractOnEvict`).
- *Selective*: combining two values gives one of them (`SlickDeque`).
- *Keeps values*: the operator has no associative combine, so it is not folded. A window keeps its
  values sorted, or counts them.
- *Computed from others*: the operator is an expression of other operators. It has no state of its
  own, and only definitions use it, not `sf.Window`.
- *State*: the size of one entry of a window in bytes. If a state owns more memory, the section of
  the operator says how much. An operator that keeps values needs so much per value.
- *Live types*: the `dtype=` of `sf.Window` and the algorithms, the default first. If an operator
  accepts other types, its section lists them after "also". Over tables the type of the column
  decides, see [types and nulls](../rolling.md#types-and-nulls).
"""
KEEPS = "keeps values"
COMPUTED = "computed from others"


def everything() -> dict[str, Callable[..., Any]]:
    """Return all operators by name, also those of the datasketches package."""
    return dict(NAMED)


def computed_from(name: str) -> list[str]:
    """Return the operators from which this one is computed; empty if it has its own state."""
    record = RECORDS[name]
    if record.events or record.expands is None:
        return []
    column = everything()[name]("x", **dict(record.example))
    column = column if record.own_window else column.over(sf.time(1))
    folded = sf.rolling(on="x", column=column).overs
    return [over.operator.name for over in folded.values()]


def variants(name: str) -> dict[str, Any]:
    """Return the operator for each type that live windows accept, the default first."""
    if computed_from(name):
        return {}
    function = everything()[name]
    needed = dict(RECORDS[name].example)
    default = function(**needed)
    operators = {default.dtype: default}
    if "dtype" in inspect.signature(function).parameters:
        for dtype in DTYPES:
            try:
                operator = function(**needed, dtype=dtype)
            except sf.errors.ValueTypeError:
                continue
            if not operator.codings:  # others travel as another type
                operators.setdefault(dtype, operator)
    return operators


def algebra(name: str) -> dict[str, str]:
    """Return each algebraic property as yes, no, or the types that have it."""
    operators = variants(name)
    if not operators or not all(operator.monoid for operator in operators.values()):
        return {}
    properties = {}
    for word in ("commutative", "invertible", "selective"):
        yes = [dtype for dtype, operator in operators.items() if getattr(operator.traits, word)]
        properties[word] = "yes" if len(yes) == len(operators) else ", ".join(yes) or "no"
    return properties


def sizes(name: str) -> str:
    """Return the bytes of a state: one number, one per group of types, or one per value."""
    doc = " ".join((inspect.getdoc(everything()[name]) or "").split())
    if not algebra(name) and (kept := re.search(r"State: about (\d+) bytes per ([\w ]+);", doc)):
        return f"{kept[1]} per {kept[2]}"
    by_size: dict[int, list[str]] = {}
    for dtype, operator in variants(name).items():
        by_size.setdefault(operator.traits.state_bytes, []).append(dtype)
    if not by_size:
        return "none"
    if len(by_size) == 1:
        return str(next(iter(by_size)))
    return ", ".join(f"{size} ({', '.join(dtypes)})" for size, dtypes in by_size.items())


def types(name: str) -> str:
    """Return the types that live windows fold directly."""
    return ", ".join("any value" if dtype == "any" else dtype for dtype in variants(name))


def more_types(name: str) -> str:
    """Return the types that live windows convert to one of those."""
    own = variants(name)
    record = RECORDS[name]
    more = [dtype for dtype in known_types(record.travel, text=record.text) if dtype not in own]
    return ", ".join(more).replace("decimal(18, 2)", "decimal(p, s)")


def summary(name: str) -> str:
    """Return the first sentence of the docstring."""
    doc = inspect.getdoc(everything()[name]) or ""
    return " ".join(doc.split("\n\n")[0].split()).split(". ")[0].rstrip(".")


def families() -> dict[str, list[str]]:
    """Return the operators by the headline of their module."""
    names_by_headline: dict[str, list[str]] = {}
    for name, function in everything().items():
        module = inspect.getmodule(function)
        headline = (inspect.getdoc(module) or "").split("\n")[0].rstrip(".")
        names_by_headline.setdefault(headline, []).append(name)
    return names_by_headline


def in_short(name: str) -> str:
    """Return the algebra in a few words."""
    properties = algebra(name)
    if not properties:
        return COMPUTED if computed_from(name) else KEEPS
    words = [
        word if which == "yes" else f"{word} ({which})"
        for word, which in properties.items()
        if which != "no"
    ]
    return ", ".join(words)


def table() -> str:
    """Return a table with one row per operator."""
    lines = ["| operator | description | algebra | state |", "|---|---|---|---|"]
    for name in everything():
        cells = (f"[`{name}`](#{name})", escaped(summary(name)), in_short(name), sizes(name))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def registry(name: str) -> str:
    """Return what the registry knows about an operator, as one sentence."""
    others = computed_from(name)
    if others:
        return f"Registry: computed from {', '.join(f'`{other}`' for other in others)}."
    facts = "; ".join(f"{word}: {which}" for word, which in algebra(name).items()) or KEEPS
    size, _, unit = sizes(name).partition(" per ")
    known = f"Registry: {facts}; state: {size} bytes{f' per {unit}' if unit else ''}"
    if not RECORDS[name].events:
        return f"{known}; not for `sf.Window`."
    more = more_types(name)
    return f"{known}; live types: {types(name)}{f'; also {more}' if more else ''}."


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, table(), ""]
    for headline, names in families().items():
        parts += [f"## {headline}", ""]
        for name in names:
            function = everything()[name]
            parts += [
                f"### {name}",
                "",
                f"```text\n{signature(function, f'sf.{name}')}\n```",
                "",
                markdown(function.__doc__ or ""),
                "",
                registry(name),
                "",
            ]
    parts += ["## Structs", "", "### struct", "", "```text\nsf.struct(**parts)\n```", ""]
    parts += [markdown(inspect.getdoc(sf.struct) or ""), ""]
    return "\n".join(parts)
