"""`slidefold check`."""

from __future__ import annotations

import json as json_module
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from slidefold.cli.guard import guarded
from slidefold.cli.options import AsJson
from slidefold.cli.output import Output
from slidefold.definition.operators import BUILT_IN, Operator, OperatorFactory
from slidefold.definition.wording import short
from slidefold.errors import OperatorError, UsageError, nearest
from slidefold.laws import check as check_laws


def check(
    operator: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:OPERATOR",
            help="Your operator, such as `my.module:Span`, or a built-in one, such as `max`.",
            show_default=False,
        ),
    ],
    samples: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="Values to try, as a JSON list: `[1, 2.5, -3]`; lists are tuples."
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="How many examples of each law.")] = 200,
    json: AsJson = False,
) -> None:
    """Test the laws that windows rely on, and show the smallest example that breaks one.

    `combine` must be associative: windows fold in pieces, so `combine(combine(a, b), c)` and
    `combine(a, combine(b, c))` must agree. `identity` must change nothing; operators that say they
    commute, can be undone or select must do so. Modules are looked for in the current folder too.

    Exit code 1: a law is broken.
    """
    out = Output(json)
    with guarded(out):
        found = _find(operator)
        try:
            report = check_laws(found, _samples(samples), examples=examples)
        except OperatorError as error:
            hint = "" if samples is not None else "; give --samples '[1, 2, 3]'"
            raise UsageError(f"{operator}: {error}{hint}") from None
        out.say("check", str(report), operator=report.operator, laws=report.laws, examples=examples)


def _find(name: str) -> Operator | OperatorFactory:
    if ":" not in name:
        made: Any = BUILT_IN.get(name)
        if made is None:
            hint = nearest(name, BUILT_IN) or "; an operator of your own is module:Name"
            raise UsageError(f"there is no operator {name!r}{hint}")
        try:
            return made()  # type: ignore[no-any-return]
        except TypeError as error:
            raise UsageError(f"{name} cannot be checked without its parameters: {error}") from None
    module, _, path = name.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever a module does while it is imported
        raise UsageError(f"{name!r} cannot be imported: {error}") from None
    if not isinstance(found, OperatorFactory | Operator):
        raise UsageError(f"{name!r} is no operator: decorate its class with @slidefold.operator")
    return found


def _samples(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    try:
        found = json_module.loads(text)
    except RecursionError:
        raise UsageError("--samples is nested too deep") from None
    except ValueError as error:
        raise UsageError(f"--samples is no JSON: {error}") from None
    if not isinstance(found, list) or not found:
        raise UsageError(f"--samples is a JSON list with at least one value, got {short(found)}")
    return [tuple(each) if isinstance(each, list) else each for each in found]
