"""The reference page of the operators, generated from their registry and docstrings."""

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

`python -m tools.docs` generates this page from the registry and the docstrings.

An operator folds values. *Commutes*: the order of values does not matter. *Invertible*: the oldest
value can be removed again, exactly (`SubtractOnEvict`). *Selective*: combining two values gives one
of them (`SlickDeque`). *Not a monoid*: the operator has no associative combine, so its values are
kept sorted. *State* is the number of bytes per entry of a window; if a state owns more memory, the
section of the operator says how much. *Live types* are the `dtype=` of `sf.Window` and the
algorithms, the default first; the section of an operator lists more types that are converted to one
of these. Over tables the type of the column decides, see
[types and nulls](../rolling.md#types-and-nulls).
"""


def everything() -> dict[str, Callable[..., Any]]:
    """Return all operators by name, including those of the datasketches package."""
    return dict(NAMED)


def variants(name: str) -> dict[str, Any]:
    """Return the operator for each type of live windows that it supports, the default first."""
    function = everything()[name]
    needed = dict(RECORDS[name].example)
    default = function(**needed)
    variants = {default.dtype: default}
    if "dtype" in inspect.signature(function).parameters:
        for dtype in DTYPES:
            try:
                operator = function(**needed, dtype=dtype)
            except sf.errors.ValueTypeError:
                continue
            if not operator.codings:  # else its values are converted to another type
                variants.setdefault(dtype, operator)
    return variants


def algebra(name: str) -> dict[str, str]:
    """Return the algebraic properties: yes, no, or the types that have the property."""
    operators = variants(name)
    if not all(operator.monoid for operator in operators.values()):
        return dict.fromkeys(("commutative", "invertible", "selective"), "not a monoid")
    answers = {}
    for word in ("commutative", "invertible", "selective"):
        yes = [dtype for dtype, operator in operators.items() if getattr(operator.traits, word)]
        answers[word] = "yes" if len(yes) == len(operators) else ", ".join(yes) or "no"
    return answers


def sizes(name: str) -> str:
    """Return the bytes per state: one number, or one per group of types if they differ."""
    by_size: dict[int, list[str]] = {}
    for dtype, operator in variants(name).items():
        by_size.setdefault(operator.traits.state_bytes, []).append(dtype)
    if len(by_size) == 1:
        return str(next(iter(by_size)))
    return ", ".join(f"{size} ({', '.join(dtypes)})" for size, dtypes in by_size.items())


def types(name: str) -> str:
    """Return the types of live windows."""
    return ", ".join("any value" if dtype == "any" else dtype for dtype in variants(name))


def more_types(name: str) -> str:
    """Return the types that are converted to one of those."""
    own = variants(name)
    record = RECORDS[name]
    more = known_types(record.travel, text=record.text)
    others = [dtype for dtype in more if dtype not in own]
    return ", ".join(others).replace("decimal(18, 2)", "decimal(p, s)")


def summary(name: str) -> str:
    """Return the first sentence of the docstring."""
    doc = inspect.getdoc(everything()[name]) or ""
    return " ".join(doc.split("\n\n")[0].split()).split(". ")[0].rstrip(".")


def families() -> dict[str, list[str]]:
    """Return the operators by the headline of their module."""
    names: dict[str, list[str]] = {}
    for name, function in everything().items():
        module = inspect.getmodule(function)
        headline = (inspect.getdoc(module) or "").split("\n")[0].rstrip(".")
        names.setdefault(headline, []).append(name)
    return names


def in_short(name: str) -> str:
    """Return the algebraic properties in a few words."""
    answers = algebra(name)
    if "not a monoid" in answers.values():
        return "not a monoid"
    words = {"commutative": "commutes", "invertible": "invertible", "selective": "selective"}
    properties = [
        words[word] if which == "yes" else f"{words[word]} ({which})"
        for word, which in answers.items()
        if which != "no"
    ]
    return ", ".join(properties)


def table() -> str:
    """Return a table of all operators, one row per operator."""
    lines = ["| operator | gives | algebra | state |", "|---|---|---|---|"]
    for name in everything():
        cells = (f"[`{name}`](#{name})", escaped(summary(name)), in_short(name), sizes(name))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, table(), ""]
    for headline, names in families().items():
        parts += [f"## {headline}", ""]
        for name in names:
            function = everything()[name]
            answers = algebra(name)
            facts = "; ".join(
                f"{word}: {answers[word]}" for word in ("commutative", "invertible", "selective")
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
