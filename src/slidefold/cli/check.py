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
            metavar="JSON",
            help="Values to try, as a JSON list such as `[1, 2.5, -3]`; inner lists become tuples.",
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="How many examples to try per law.")] = 200,
    json: AsJson = False,
) -> None:
    """Test the laws that windows rely on, and show the smallest example that breaks one.

    `combine` must be associative: windows are folded in pieces, so `combine(combine(a, b), c)` and
    `combine(a, combine(b, c))` must agree. Combining with `identity` must change nothing. An
    operator that declares itself commutative, invertible or selective must be so. Modules in the
    current folder can be imported too.

    Exit code 1: a law is broken.
    """
    out = Output(json)
    with guarded(out):
        try:
            report = check_laws(_find(operator), _samples(samples), examples=examples)
        except OperatorError as error:
            hint = "" if samples is not None else "; pass --samples '[1, 2, 3]'"
            raise UsageError(f"{operator}: {error}{hint}") from None
        out.say("check", str(report), operator=report.operator, laws=report.laws, examples=examples)


def _find(name: str) -> Operator | OperatorFactory:
    if ":" not in name:
        factory: Any = BUILT_IN.get(name)
        if factory is None:
            hint = nearest(name, BUILT_IN) or "; write your own operator as module:Name"
            raise UsageError(f"there is no operator {name!r}{hint}")
        try:
            return factory()  # type: ignore[no-any-return]
        except TypeError as error:
            raise UsageError(f"{name} cannot be checked without its parameters: {error}") from None
    module, _, path = name.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        operator: Any = import_module(module)
        for part in path.split("."):
            operator = getattr(operator, part)
    except Exception as error:  # importing a module can raise anything
        raise UsageError(f"{name!r} cannot be imported: {error}") from None
    if not isinstance(operator, OperatorFactory | Operator):
        raise UsageError(
            f"{name!r} is not an operator: decorate its class with @slidefold.operator"
        )
    return operator


def _samples(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    try:
        values = json_module.loads(text)
    except RecursionError:
        raise UsageError("--samples is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"--samples is not valid JSON: {error}") from None
    if not isinstance(values, list) or not values:
        raise UsageError(
            f"--samples must be a JSON list of at least one value, got {short(values)}"
        )
    return [tuple(value) if isinstance(value, list) else value for value in values]
